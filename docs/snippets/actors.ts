import { openEngine } from "@detent/durable/promise"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })
await using engine = await openEngine({ database: "memory", machines: [BuiltOrder] })
const order = await engine.start(BuiltOrder, "order-7", { total: 42 })

// #region actors
await order.send(E.Cancel({ reason: "changed my mind" }), { by: { kind: "user", name: "ada" } })

for await (const { event, actor } of order.history()) console.log(event._tag, actor)
// #endregion actors
