import { openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

// #region child
const Hotel = workflow({ name: "hotel", input: { city: Schema.String } }, async ({ city }, durable) =>
  durable.step("book", async () => `room in ${city}`),
)

const Journey = workflow(
  { name: "journey", input: { cities: Schema.Array(Schema.String) } },
  async ({ cities }, durable): Promise<string> => {
    const rooms = await Promise.all(
      // The id is the same in every run, so the step that runs again after a crash finds the child that it started.
      cities.map((city) =>
        durable.step(`hotel in ${city}`, ({ engine }) => engine.workflows.run(Hotel, `${durable.id}/${city}`, { city })),
      ),
    )
    return rooms.join(", ")
  },
)
// #endregion child

// #region timeout
const Quote = workflow({ name: "quote", input: { url: Schema.String } }, async ({ url }, durable) =>
  durable.step(
    "ask",
    async ({ signal }) => {
      const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) })
      return response.text()
    },
    { retry: RetryPolicy.exponential({ initialDelay: "1 second", maxAttempts: 5 }) },
  ),
)
// #endregion timeout

await using engine = await openEngine({ database: "memory", nodeId: "travel-agency", workflows: [Hotel, Journey, Quote] })
console.log(await engine.workflows.run(Journey, "journey-1", { cities: ["Graz", "Linz"] }))
console.log(await engine.workflows.run(Quote, "quote-1", { url: "data:text/plain,42" }))
