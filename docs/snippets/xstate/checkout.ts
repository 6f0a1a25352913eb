import { openEngine } from "@detent/durable/promise"
import { Checkout } from "../../../examples/xstate/Checkout.ts"

await using engine = await openEngine({ database: "memory", machines: [Checkout] })
const checkout = await engine.start(Checkout, "o-1", { orderId: "o-1", amount: 42 })
await checkout.send({ type: "track", place: "Vienna" })
await checkout.waitFor(({ context }) => context.places.length === 1 && context.receipt !== "")
console.log((await checkout.state()).value)
await checkout.send({ type: "handOver" })
const { _tag, context } = await checkout.awaitFinal()
console.log(_tag, context.receipt, context.places)
