/** A report every night at half past two in Berlin, also when the clocks change. Each night starts exactly one. */
import { runWorkflow, schedule, workflow } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

/** A step runs again after a crash, until its result is stored. */
export const Report = workflow({ name: "report", input: { day: Schema.String } }, async ({ day }, durable) =>
  durable.step("write", async () => `the report of ${day}`),
)

export const nightly = schedule("nightly-report", {
  cron: "30 2 * * *",
  timezone: "Europe/Berlin",
  start: ({ id, day }) => runWorkflow(Report, id, { day }),
})
