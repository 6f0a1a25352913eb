/**
 * Takes an order as far as it goes, one event at a start: run it three times, or kill it in between. It goes on where it was.
 */
import { Engine } from "@detent/durable"
import { Workspace } from "@detent/workspace/Workspace"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import config from "../detent.config.ts"
import { E, Order } from "./Order.ts"

const program = Effect.gen(function* () {
  const engine = yield* Engine
  const order = yield* engine.ensure(Order, "order-1", { item: "lamp", total: 42 })
  const before = yield* order.state
  // The id makes it safe to send again: a second Pay under the same id is answered, not repeated.
  if (before._tag === "Placed") yield* order.send(E.Pay({ transactionId: "t-9" }), { id: "webhook-77" })
  if (before._tag === "Paid") yield* order.send(E.Ship({ trackingNumber: "NL-4711" }))
  const after = yield* order.state
  yield* Console.log(`order-1: ${before._tag} → ${after._tag}`)
})

await Effect.runPromise(Effect.provide(program, Workspace.open({ role: "work", config })))
