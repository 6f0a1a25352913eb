import { openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

const Trip = workflow(
  {
    name: "trip",
    input: { traveller: Schema.String },
    events: { confirmed: Schema.Struct({ by: Schema.String }) },
  },
  async ({ traveller }, durable) => {
    const flight = await durable.step(
      "book the flight",
      async ({ key }) => {
        console.log(`booking for ${traveller} under the key ${key}`)
        return { seat: "12A" }
      },
      { retry: RetryPolicy.exponential({ maxAttempts: 5 }) },
    )
    await durable.sleep("cooling off", "20 millis")
    const confirmed = await durable.waitForEvent("confirmed", { timeout: "3 days" })
    return confirmed === undefined ? "not confirmed in time" : `seat ${flight.seat}, confirmed by ${confirmed.by}`
  },
)

await using engine = await openEngine({ database: "memory", nodeId: "travel-agency", workflows: [Trip] })
await engine.workflows.start(Trip, "trip-1", { traveller: "Ada" })
await engine.workflows.sendEvent(Trip, "trip-1", "confirmed", { by: "Grace" })
console.log(await engine.workflows.run(Trip, "trip-1", { traveller: "Ada" }))
