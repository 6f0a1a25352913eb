import { type DatabaseAddress, openEngine } from "@detent/durable/promise"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })
const database = (process.env["DATABASE_URL"] ?? "memory") as DatabaseAddress

// #region sender
await using engine = await openEngine({ database, machines: [BuiltOrder], work: false, worker: false })
await engine.ensure(BuiltOrder, "order-7", { total: 42 })
await engine.send(BuiltOrder, "order-7", E.Cancel({ reason: "out of stock" }), { id: "cancel-order-7" })
// #endregion sender
