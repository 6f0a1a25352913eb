import { setTimeout } from "node:timers/promises"
import { DurableWorkflow } from "@detent/durable"
import { openEngine, workflow } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const definition = { name: "trip", input: { traveller: Schema.String }, events: { confirmed: Schema.String } }
const database = "sqlite:trips.db"
const call = async (name: string) => {
  console.log(`runs ${name}`)
  return name
}

// #region before
const Before = workflow(definition, async (_, durable) => {
  await durable.step("book the flight", () => call("book the flight"))
  await durable.step("book a taxi", () => call("book a taxi"))
  await durable.waitForEvent("confirmed")
  return durable.step("send the tickets", () => call("send the tickets"))
})
// #endregion before

// #region after
const After = workflow(definition, async (_, durable) => {
  await durable.step("book the flight", () => call("book the flight")) // unchanged: its stored result is used
  await durable.step("book the train", () => call("book the train")) // "book a taxi" renamed: runs as a new step
  await durable.waitForEvent("confirmed")
  await durable.step("insure", () => call("insure")) // inserted: runs
  return durable.step("send the tickets", () => call("send the tickets"))
})
// #endregion after

{
  await using engine = await openEngine({ database, nodeId: "travel-agency", workflows: [Before] })
  await engine.workflows.start(Before, "trip-1", { traveller: "Ada" })
  const phases = () => engine.runEffect(DurableWorkflow.count(Before.definition))
  while ((await phases()).get("Suspended") !== 1) await setTimeout(10)
}
{
  await using engine = await openEngine({ database, nodeId: "travel-agency", workflows: [After] })
  console.log("after the deploy:")
  await engine.workflows.sendEvent(After, "trip-1", "confirmed", "Grace")
  await engine.workflows.run(After, "trip-1", { traveller: "Ada" })
}
