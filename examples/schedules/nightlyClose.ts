/**
 * Closes what is due, every night at half past two in Berlin. The backfill makes up for the three nights around the spring change of
 * the clocks: on 29 March there was no half past two, so that night's run was at the jump.
 */
import { openEngine, runWorkflow, schedule, workflow } from "@detent/durable/promise"
import * as Schema from "effect/Schema"

const Closing = workflow({ name: "closing", input: { day: Schema.String } }, async ({ day }, durable) =>
  durable.step("close", async () => `closed what was due on ${day}`),
)

const nightlyClose = schedule("nightly-close", {
  cron: "30 2 * * *",
  timezone: "Europe/Berlin",
  start: ({ id, day }) => runWorkflow(Closing, id, { day }), // the id is made of the name and the time
})

await using engine = await openEngine({
  database: `sqlite:${process.argv[2] ?? ":memory:"}`,
  workflows: [Closing],
  schedules: [nightlyClose],
})
await engine.schedules.backfill("nightly-close", {
  from: Date.parse("2026-03-28T00:00:00Z"),
  through: Date.parse("2026-03-30T12:00:00Z"),
})

let info = await engine.schedules.get("nightly-close")
while (info.started < 3 || info.runs[0]?.status?._tag !== "Ended") {
  await new Promise((resolve) => setTimeout(resolve, 50))
  info = await engine.schedules.get("nightly-close")
}
for (const { target } of info.runs.toReversed()) {
  if (target !== undefined) console.log(target.id, await engine.workflows.result(Closing, target.id))
}
