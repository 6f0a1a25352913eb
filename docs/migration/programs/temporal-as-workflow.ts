import { openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

const retry = RetryPolicy.exponential({ maxAttempts: 5 })

const Order = workflow(
  { name: "order", input: { total: Schema.Finite }, events: { approved: Schema.Struct({ by: Schema.String }) } },
  async ({ total }, durable) => {
    const approved = await durable.waitForEvent("approved", { timeout: "3 days" })
    if (approved === undefined) return "not approved in time"
    const receipt = await durable.step("charge", async ({ key }) => `receipt for ${total} (${key})`, { retry })
    await durable.step("ship", async () => console.log(`shipping ${durable.id}`), { retry })
    return `${receipt}, approved by ${approved.by}`
  },
)

// The process that opens the engine is the worker. There is no server.
await using engine = await openEngine({ database: "memory", nodeId: "orders", workflows: [Order] })
await engine.workflows.start(Order, "order-7", { total: 42 })
await engine.workflows.sendEvent(Order, "order-7", "approved", { by: "Grace" })
console.log(await engine.workflows.run(Order, "order-7", { total: 42 }))
