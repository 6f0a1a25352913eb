import { openEngine } from "@detent/durable/promise"
import { InvalidEvent } from "@detent/machine"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })

await using engine = await openEngine({ database: "memory", machines: [BuiltOrder], limits: { eventSize: 200 } })
const order = await engine.start(BuiltOrder, "order-7", { total: 42 })
try {
  await order.send(E.Cancel({ reason: "x".repeat(1000) }))
} catch (error) {
  if (!(error instanceof InvalidEvent)) throw error
  console.log(`${error.event} has ${error.size} characters, the limit is ${error.limit}`)
}
console.log((await order.state())._tag)
