import { type DatabaseAddress, openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

const Trip = workflow(
  { name: "trip", input: { traveller: Schema.String }, events: { confirmed: Schema.String } },
  async ({ traveller }, durable) => {
    const seat = await durable.step("book the flight", async () => `12A for ${traveller}`, {
      retry: RetryPolicy.exponential({ maxAttempts: 5 }),
    })
    await durable.sleep("cooling off", "20 millis")
    const by = await durable.waitForEvent("confirmed", { timeout: "3 days" })
    return by === undefined ? "not confirmed in time" : `seat ${seat}, confirmed by ${by}`
  },
)

// The same PostgreSQL serves: `postgres://…`. Detent has tables of its own.
const database = (process.env["DATABASE_URL"] ?? "memory") as DatabaseAddress
await using engine = await openEngine({ database, nodeId: "travel", workflows: [Trip] })
await engine.workflows.start(Trip, "trip-1", { traveller: "Ada" })
await engine.workflows.sendEvent(Trip, "trip-1", "confirmed", "Grace")
console.log(await engine.workflows.run(Trip, "trip-1", { traveller: "Ada" }))
