import { openEngine, runWorkflow, schedule, scheduleTarget, workflow } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const Report = workflow(
  { name: "report", input: { customer: Schema.String, day: Schema.String } },
  async ({ customer, day }) => `report for ${customer} of ${day}`,
)

const weekly = schedule("weekly", {
  cron: "0 8 * * 1",
  timezone: "Europe/Berlin",
  start: ({ id, day }) => runWorkflow(Report, id, { customer: "all", day }),
})

// #region target
const report = scheduleTarget("report", {
  input: { customer: Schema.String },
  start: ({ id, day, input }) => runWorkflow(Report, id, { customer: input.customer, day }),
})

await using engine = await openEngine({ database: "memory", workflows: [Report], schedules: [weekly], scheduleTargets: [report] })
await engine.schedules.define("report for Ada", { cron: "0 8 * * 1", target: "report", input: { customer: "Ada" } })
// #endregion target

const range = { from: Date.parse("2026-03-01"), through: Date.parse("2026-04-01") }

// #region operate
console.log((await engine.schedules.list()).schedules.map(({ name }) => name))
console.log((await engine.schedules.get("weekly")).next.length) // also its latest 20 runs, with their results
await engine.schedules.pause("weekly") // times in between are not made up for
await engine.schedules.resume("weekly")
await engine.schedules.trigger("weekly") // one run now
console.log(await engine.schedules.backfill("weekly", range)) // at most 1,000 times, one after another
await engine.schedules.remove("weekly")
// #endregion operate
