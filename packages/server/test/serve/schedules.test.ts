/** Schedules over HTTP, from a configuration: what is declared, created, triggered, paused, made up for and removed. */

import { CommandQueue } from "@detent/durable"
import { enqueue, runWorkflow, schedule, scheduleTarget, workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { json, request, useServed } from "../support/served.ts"

const Report = workflow({ name: "report", input: { customer: Schema.String, day: Schema.String } }, async ({ customer, day }, durable) =>
  durable.step("write", async () => `report of ${day} for ${customer}`),
)
const Mails = CommandQueue.make("mails", { payload: Schema.Struct({ to: Schema.String }) })

const config = defineConfig({
  workflows: [Report],
  schedules: [
    schedule("nightly", {
      cron: "30 2 * * *",
      timezone: "Europe/Berlin",
      start: ({ id, day }) => runWorkflow(Report, id, { customer: "all", day }),
    }),
    schedule("mailing", { cron: "0 0 1 1 *", start: ({ day }) => enqueue(Mails, { to: day }) }),
  ],
  scheduleTargets: [
    scheduleTarget("report", {
      input: { customer: Schema.String },
      start: ({ id, day, input }) => runWorkflow(Report, id, { customer: input.customer, day }),
    }),
  ],
})

describe("schedules over HTTP", () => {
  const shared = useServed({ config })

  it.live("those of the configuration are listed with their next times, and start when they are triggered", () =>
    Effect.gen(function* () {
      const { client } = yield* shared
      const { schedules, targets } = yield* client.schedules.list({ query: {} })
      assert.deepStrictEqual(targets, ["report"])
      assert.includeMembers(
        schedules.map(({ name }) => name),
        ["mailing", "nightly"],
      )
      const params = { name: "nightly" }
      const first = yield* client.schedules.get({ params })
      assert.deepInclude(first, { status: "active", cron: "30 2 * * *", timezone: "Europe/Berlin", overlap: "skip", declared: true })
      assert.lengthOf(first.next, 5)
      yield* client.schedules.trigger({ params })
      const ended = Effect.map(client.schedules.get({ params }), ({ runs: [run] }) => run?.status?.running === false)
      while (!(yield* ended)) yield* Effect.sleep("20 millis")
      const { runs } = yield* client.schedules.get({ params })
      assert.deepInclude(runs[0], { reason: "trigger", outcome: "started", status: { running: false, text: "Completed" } })
      const execution = yield* client.executions.get({ params: { workflow: "report", id: runs[0]?.target?.id ?? "" } })
      assert.match(JSON.stringify(execution.result), /report of \d{4}-\d{2}-\d{2} for all/)
    }),
  )

  it.live("paused, it has no next time; a repeated request with one key is made once", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const params = { name: "mailing" }
      assert.deepInclude(yield* client.schedules.pause({ params }), { status: "paused", next: [] })
      const trigger = () => request(`${url}/api/v1/schedules/mailing/trigger`, { method: "POST", headers: { "idempotency-key": "once" } })
      assert.strictEqual((yield* trigger()).text, (yield* trigger()).text)
      const started = Effect.map(client.schedules.get({ params }), (found) => found.started === 1)
      while (!(yield* started)) yield* Effect.sleep("20 millis")
      const { runs, waiting } = yield* client.schedules.get({ params })
      assert.deepStrictEqual([runs.length, waiting, runs[0]?.target?.kind], [1, 0, "command"])
      assert.strictEqual((yield* client.schedules.resume({ params })).next.length, 5)
    }),
  )

  it.live("one is created for a declared target, made up for, changed and removed", () =>
    Effect.gen(function* () {
      const { client } = yield* shared
      const params = { name: "for ada" }
      const payload = { target: "report", input: { customer: "Ada" }, cron: "0 8 * * *" }
      const made = yield* client.schedules.define({ params, payload })
      assert.deepInclude(made, { cron: "0 8 * * *", timezone: "UTC", target: { name: "report", input: { customer: "Ada" } } })
      const range = { from: Date.parse("2026-11-01T00:00:00Z"), to: Date.parse("2026-11-03T23:00:00Z") }
      assert.deepStrictEqual(yield* client.schedules.backfill({ params, payload: range }), { count: 3 })
      const done = Effect.map(client.schedules.get({ params }), ({ started }) => started === 3)
      while (!(yield* done)) yield* Effect.sleep("20 millis")
      const changed = yield* client.schedules.define({ params, payload: { target: "report", input: { customer: "Ada" }, every: "1 hour" } })
      assert.deepInclude(changed, { everyMillis: 3_600_000, started: 3 })
      yield* client.schedules.remove({ params })
      const gone = yield* Effect.flip(client.schedules.get({ params }))
      assert.deepInclude(gone, { _tag: "NotFound", detail: "there is no schedule for ada; GET /api/v1/schedules lists them" })
    }),
  )

  it.live.each([
    [{ target: "report", input: { customer: "Ada" }, cron: "0 2 * *" }, /"0 2 \* \*" is no cron expression: .*; write five fields/],
    [
      { target: "report", input: { customer: "Ada" }, cron: "0 2 * * *", timezone: "Berlin" },
      /"Berlin" is no known time zone; write a name/,
    ],
    [{ target: "report", input: { customer: "Ada" } }, /has no times; give it either cron/],
    [{ target: "report", input: {}, every: "1 hour" }, /its input does not fit: .*customer.*; correct the input/],
    [{ target: "delete", every: "1 hour" }, /there is no target delete; declare it with scheduleTarget; the declared targets are: report/],
    [{ target: "report", input: { customer: "Ada" }, every: "1 milli" }, /its interval is .*; write a time between 1 second and a year/],
  ] as const)("%j is refused with the next step", ([body, problem]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const { status, text } = yield* request(`${url}/api/v1/schedules/wrong`, json(body))
      assert.strictEqual(status, 422, text)
      assert.match(JSON.parse(text).detail, problem)
      assert.strictEqual((yield* request(`${url}/api/v1/schedules/wrong`)).status, 404)
    }),
  )

  it.live("a schedule of the code is not changed over HTTP, and no unknown field is ignored", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const declared = yield* request(
        `${url}/api/v1/schedules/nightly`,
        json({ target: "report", input: { customer: "x" }, every: "1 hour" }),
      )
      assert.match(declared.text, /the code declares it; change the code, or choose another name/)
      const misspelt = yield* request(`${url}/api/v1/schedules/x`, json({ target: "report", input: { customer: "x" }, evry: "1 hour" }))
      assert.strictEqual(misspelt.status, 400)
      const future = { from: Date.now(), to: Date.now() + 86_400_000 }
      const ahead = yield* request(`${url}/api/v1/schedules/nightly/backfill`, json(future))
      assert.match(ahead.text, /ends in the future; end it at a time that has passed/)
    }),
  )
})
