/** Serves a workspace in the given folder. In the role `work` it starts one instance; as an observer it starts none. */

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
const config = defineConfig({ machines: [Order], knowledge: {}, uploads: ["items"] })
const workspace = Workspace.open({ data, role: role === "work" ? "work" : "observe", config })
// Ends with its parent process, after it has printed its peak memory.
process.stdin.on("end", () =>
  process.stdout.write(`${JSON.stringify({ peakRssMb: process.resourceUsage().maxRSS / 1024 })}\n`, () => process.exit()),
)
process.stdin.resume()
await Effect.runPromise(Effect.provide(program, serve({ port: 0 }).pipe(Layer.provideMerge(workspace))))
