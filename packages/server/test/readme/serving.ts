import { Event, Machine, State } from "@detent/machine"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import * as Layer from "effect/Layer"

const S = State({ Placed: {}, Paid: {}, Shipped: {} })
const E = Event({ Pay: {}, Ship: {} })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Placed() })
  .on(S.Placed, E.Pay, S.Paid)
  .on(S.Paid, E.Ship, S.Shipped)
  .final(S.Shipped)

const workspace = Workspace.open({ data: ".detent", role: "work", config: defineConfig({ machines: [Order] }) })

runServer(serve({ port: Number(process.env["PORT"] ?? 4400) }).pipe(Layer.provide(workspace)))
