/**
 * Takes five orders from placed to shipped. Kill it whenever you like, also with `kill -9`, and start it again: each order continues
 * where it was, and none is paid or shipped twice.
 */
import { setTimeout } from "node:timers/promises"
import { openEngine } from "@detent/durable/promise"
import { database } from "./database.ts"
import { E, Order } from "./Order.ts"

await using engine = await openEngine({ database, machines: [Order] })

for (const id of ["order-1", "order-2", "order-3", "order-4", "order-5"]) {
  const order = await engine.ensure(Order, id, { item: "lamp", total: 42 })
  const found = await order.state()
  console.log(`${id}: ${found._tag}`)
  if (found._tag === "Placed") {
    await setTimeout(300) // the bank takes its time
    // The id makes it safe to send again: a second Pay under the same id is answered, not repeated.
    await order.send(E.Pay({ transactionId: `t-${id}` }), { id: `payment-of-${id}` })
    console.log(`${id}: Placed → Paid`)
  }
  if ((await order.state())._tag === "Paid") {
    await setTimeout(300) // and so does the warehouse
    await order.send(E.Ship({ trackingNumber: `NL-${id}` }), { id: `shipment-of-${id}` })
    console.log(`${id}: Paid → Shipped`)
  }
}
await engine.executeDue() // the last mail
