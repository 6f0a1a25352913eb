import { openEngine } from "@detent/durable/promise"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({
  charge: async ({ total }, { key }) => {
    console.log(`charging ${total} under the key ${key}`)
    return "receipt-1"
  },
})

await using engine = await openEngine({ database: "sqlite:orders.db", machines: [BuiltOrder] })
const order = await engine.ensure(BuiltOrder, "order-7", { total: 42 })
if ((await order.state())._tag === "Open") await order.send(E.Pay(), { id: "webhook-77" })
console.log(await order.awaitFinal())
for await (const { sequence, event, from, state } of order.history()) console.log(sequence, event._tag, from._tag, "->", state._tag)
