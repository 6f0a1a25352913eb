/** A home in the folder it is given, served; with one instance in it where it works, and none of its own where it only observes. */

import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig, Server, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S = State({ Placed: { orderId: Schema.String, total: Schema.Number }, Paid: { orderId: Schema.String, total: Schema.Number } })
const E = Event({ Pay: {} })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Placed({ orderId: "order-1", total: 42 }) }).on(
  S.Placed,
  E.Pay,
  S.Paid,
)

const [, , data = "", role = "work"] = process.argv
const order = Effect.gen(function* () {
  const started = yield* (yield* Engine).ensure(Order, "order-1")
  yield* Effect.ignore(started.send(E.Pay()))
})
const program = Effect.gen(function* () {
  if (role === "work") yield* order
  const { port } = yield* Server
  console.log(JSON.stringify({ port }))
  return yield* Effect.never
})
const config = defineConfig({ machines: [Order], knowledge: {}, uploads: ["hacker-news"] })
const workspace = Workspace.open({ data, role: role === "work" ? "work" : "observe", config })
// Its parent's end is its end; before that it tells how much memory it had at most.
process.stdin.on("end", () =>
  process.stdout.write(`${JSON.stringify({ peakRssMb: process.resourceUsage().maxRSS / 1024 })}\n`, () => process.exit()),
)
process.stdin.resume()
await Effect.runPromise(Effect.provide(program, serve({ port: 0 }).pipe(Layer.provideMerge(workspace))))
