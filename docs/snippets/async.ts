import { openEngine } from "@detent/durable/promise"
import { InvalidTransition } from "@detent/machine"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({
  charge: async ({ total }, { signal }) => {
    signal.throwIfAborted() // aborted when the time of the command is over or the process stops: pass it to fetch
    return `receipt for ${total}`
  },
})

await using engine = await openEngine({ database: "memory", machines: [BuiltOrder] })
const order = await engine.start(BuiltOrder, "order-7", { total: 42 })
try {
  await order.send(E.Declined())
} catch (error) {
  if (error instanceof InvalidTransition) console.log(`${error.state} accepts ${error.accepted.join(", ")}`)
  else throw error
}

await order.send(E.Pay())
const paid = await order.waitFor((state) => state._tag === "Paid", { signal: AbortSignal.timeout(5000) })
console.log(paid.receipt)
