import { type DatabaseAddress, openEngine } from "@detent/durable/promise"
import { Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })

// #region open
const database = (process.env["DATABASE_URL"] ?? "sqlite:orders.db") as DatabaseAddress
await using engine = await openEngine({ database, machines: [BuiltOrder] })
// #endregion open
await engine.ensure(BuiltOrder, "order-7", { total: 42 })
