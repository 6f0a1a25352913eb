import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig, Workspace } from "@detent/workspace"
import * as Effect from "effect/Effect"

const S = State({ Placed: {}, Paid: {} })
const E = Event({ Pay: {} })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Placed() }).on(S.Placed, E.Pay, S.Paid).final(S.Paid)

const program = Effect.flatMap(Engine, (engine) => engine.ensure(Order, "order-1"))
const workspace = Workspace.open({ data: ".detent", role: "work", config: defineConfig({ machines: [Order] }) })

await Effect.runPromise(Effect.provide(program, workspace))
