/**
 * Takes five orders from placed to shipped. Kill it whenever you like, also with `kill -9`, and start it again: each order continues
 * where it was, and none is paid or shipped twice.
 */
import { Engine } from "@detent/durable"
import { Workspace } from "@detent/workspace/Workspace"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import config from "../detent.config.ts"
import { E, Order } from "./Order.ts"

const fulfil = (id: string) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const order = yield* engine.ensure(Order, id, { item: "lamp", total: 42 })
    const found = yield* order.state
    yield* Console.log(`${id}: ${found._tag}`)
    if (found._tag === "Placed") {
      yield* Effect.sleep("300 millis") // the bank takes its time
      // The id makes it safe to send again: a second Pay under the same id is answered, not repeated.
      yield* order.send(E.Pay({ transactionId: `t-${id}` }), { id: `payment-of-${id}` })
      yield* Console.log(`${id}: Placed → Paid`)
    }
    if ((yield* order.state)._tag === "Paid") {
      yield* Effect.sleep("300 millis") // and so does the warehouse
      yield* order.send(E.Ship({ trackingNumber: `NL-${id}` }), { id: `shipment-of-${id}` })
      yield* Console.log(`${id}: Paid → Shipped`)
    }
  })

const program = Effect.forEach(["order-1", "order-2", "order-3", "order-4", "order-5"], fulfil, { discard: true })

await Effect.runPromise(Effect.provide(program, Workspace.open({ role: "work", config })))
