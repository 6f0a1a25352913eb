import { openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

const call = async (what: string) => console.log(what)

// #region saga
const Trip = workflow({ name: "trip", input: { city: Schema.String } }, async ({ city }, durable) => {
  const undo: Array<() => Promise<unknown>> = []
  try {
    await durable.step("book the flight", () => call(`book a flight to ${city}`))
    undo.push(() => durable.step("cancel the flight", () => call("cancel the flight")))
    await durable.step("book the hotel", () => call(`book a hotel in ${city}`))
    undo.push(() => durable.step("cancel the hotel", () => call("cancel the hotel")))
    await durable.step(
      "book the car",
      async () => {
        throw new Error("no car is left")
      },
      { retry: RetryPolicy.none }, // a retry finds no car either
    )
    return "booked"
  } catch (error) {
    for (const compensate of undo.reverse()) await compensate()
    return `not booked: ${error instanceof Error ? error.message : error}`
  }
})
// #endregion saga

await using engine = await openEngine({ database: "memory", workflows: [Trip] })
console.log(await engine.workflows.run(Trip, "trip-1", { city: "Vienna" }))
