/** `detent schedule`, with a server and without one. */
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { until } from "../../store/test/support/patience.ts"
import { detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

const config = `
import { runWorkflow, schedule, scheduleTarget, workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const Closing = workflow({ name: "closing", input: { day: Schema.String } }, async ({ day }) => "closed " + day)

export default defineConfig({
  workflows: [Closing],
  schedules: [
    schedule("nightly-close", {
      cron: "30 2 * * *",
      timezone: "Europe/Berlin",
      start: ({ id, day }) => runWorkflow(Closing, id, { day }),
    }),
  ],
  scheduleTargets: [scheduleTarget("close", { start: ({ id, day }) => runWorkflow(Closing, id, { day }) })],
})
`

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
const read = async (name: string) => JSON.parse((await detent("schedule", "show", name, "--json")).out)

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "nights")
  await project(cwd, config)
})

describe("detent schedule", () => {
  it("lists, shows, triggers, pauses and makes up for what the configuration declares; a worker starts it", async () => {
    assert.include((await detent("schedule", "list")).err, "no workspace in the folder .detent")
    assert.strictEqual((await detent("worker", "--until-idle")).code, 0)
    const listed = await detent("schedule", "list")
    assert.match(listed.out, /SCHEDULE +TIMES +NEXT.*\nnightly-close +30 2 \* \* \* Europe\/Berlin +\d{4}-/)
    const triggered = await detent("schedule", "trigger", "nightly-close", "--key", "one")
    assert.strictEqual(triggered.code, 0, triggered.err)
    assert.include(triggered.err, "no server runs here; unless a worker does, start one: detent worker")
    assert.strictEqual((await detent("schedule", "trigger", "nightly-close", "--key", "one")).code, 0)
    const filled = await detent("schedule", "backfill", "nightly-close", "--from", "2026-03-28", "--to", "2026-03-30T12:00:00Z")
    assert.strictEqual(filled.out, "3 times of nightly-close are started one after another\n")
    await until("all runs are started", async () => {
      await detent("worker", "--until-idle")
      return (await read("nightly-close")).started === 4
    })
    const { runs } = await read("nightly-close")
    assert.sameMembers(
      runs.map(({ reason }: { readonly reason: string }) => reason),
      ["trigger", "backfill", "backfill", "backfill"],
    )
    assert.match((await detent("schedule", "show", "nightly-close")).out, /execution closing\/nightly-close@2026-03-29T01:00:00Z/)
    const paused = await detent("schedule", "pause", "nightly-close", "--json")
    assert.deepInclude(JSON.parse(paused.out), { status: "paused", next: [] })
    assert.match((await detent("schedule", "list")).out, /nightly-close +paused/)
    assert.deepInclude(JSON.parse((await detent("schedule", "resume", "nightly-close", "--json")).out), { status: "active" })
  })

  it("creates and removes a schedule of a declared target, and says what is wrong", async () => {
    const made = await detent("schedule", "create", "weekly", "--target", "close", "--cron", "0 8 * * 1", "--json")
    assert.deepInclude(JSON.parse(made.out), { cron: "0 8 * * 1", target: { name: "close", input: {} }, declared: true })
    const wrong = await detent("schedule", "create", "other", "--target", "close", "--cron", "0 25 * * *")
    assert.strictEqual(wrong.code, 2)
    assert.match(wrong.err, /"0 25 \* \* \*" is no cron expression/)
    const zone = await detent("schedule", "create", "other", "--target", "close", "--cron", "0 2 * * *", "--timezone", "Mars/Olympus")
    assert.match(zone.err, /"Mars\/Olympus" is no known time zone/)
    assert.strictEqual((await detent("schedule", "create", "other")).code, 2)
    assert.strictEqual((await detent("schedule", "backfill", "weekly")).code, 2)
    assert.strictEqual((await detent("schedule", "remove", "weekly", "--yes")).code, 0)
    const gone = await detent("schedule", "show", "weekly")
    assert.strictEqual(gone.code, 3)
    assert.include(gone.err, "there is no schedule weekly; see `detent schedule list`")
  })
})
