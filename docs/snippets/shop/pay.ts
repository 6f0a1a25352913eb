import { openEngine } from "@detent/durable/promise"
import { E, Order } from "./Order.ts"

const engine = await openEngine({ database: "sqlite:orders.db", machines: [Order] })
const order = await engine.ensure(Order, "order-8", { item: "lamp", total: 42 })
if ((await order.state())._tag === "Placed") {
  console.log("sending Pay")
  await order.send(E.Pay({ transactionId: "t-8" }), { id: "webhook-78" })
}
console.log(await order.state())
for await (const { sequence, event, from, state } of order.history()) console.log(sequence, event._tag, from._tag, "->", state._tag)
await engine.close()
