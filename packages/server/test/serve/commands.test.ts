import * as clients from "@detent/api/client"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { json, request, served } from "../support/served.ts"

const S = State({ Waiting: {}, Told: { text: Schema.String }, Left: {} })
const E = Event({ Tell: { text: Schema.String }, Leave: {} })

/** Whether telling works is for the test to say. */
const tellers = () => {
  const world = { isBroken: true, told: [] as Array<string> }
  const Teller = Machine.make({
    name: "teller",
    state: S,
    event: E,
    effects: Slot.Effects({ tell: { text: Schema.String } }),
    initial: S.Waiting(),
  })
    .on(S.Waiting, E.Tell, S.Told)
    .on(S.Told, E.Leave, S.Left)
    .final(S.Left)
    .enter(S.Told, ({ state, effects }) => effects.tell({ text: state.text }))
    .commands({ tell: { queue: "words", retry: RetryPolicy.exponential({ initialDelay: "5 millis", maxAttempts: 2 }) } })
    .build({
      tell: ({ text }) =>
        Effect.suspend(() => (world.isBroken ? Effect.die(new Error("nobody listens")) : Effect.sync(() => void world.told.push(text)))),
    })
  return { world, config: defineConfig({ machines: [Teller] }) }
}

describe("commands over HTTP", () => {
  it.live("that failed are listed, counted before they are retried, retried and skipped", () =>
    Effect.gen(function* () {
      const { world, config } = tellers()
      const { client, url } = yield* served({ config })
      const list = (status: "failed" | "completed" | "skipped") => client.commands.list({ query: { queue: "words", status } })
      const until = (status: "failed" | "completed", count: number) =>
        Effect.repeat(list(status), { until: ({ commands }) => commands.length === count, schedule: Schedule.spaced("20 millis") })
      for (const id of ["a", "b", "c"]) {
        yield* client.instances.start({ params: { machine: "teller" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "teller", id }, headers: {}, payload: { _tag: "Tell", text: `word ${id}` } })
      }
      const { commands } = yield* until("failed", 3)
      const [first] = commands
      assert.deepStrictEqual([first?.slot, first?.machine, first?.id, first?.attempts], ["tell", "teller", "a", 2])
      assert.include(first?.problem ?? "", "nobody listens")
      assert.deepStrictEqual(first?.parameters, { text: "word a" })

      const key = first?.key ?? ""
      const skipped = yield* client.commands.skip({ params: { key }, payload: { reason: "nobody needs it" } })
      assert.deepStrictEqual([skipped.status, skipped.problem], ["skipped", "nobody needs it"])
      const again = yield* Effect.flip(client.commands.retry({ params: { key } }))
      assert.strictEqual(again._tag, "Conflict")

      const failed = commands[1]?.key ?? ""
      const rpc = yield* clients.makeRpcClient({ url })
      const dryRun = yield* client.commands.checkRetry({ params: { key: failed } })
      assert.deepInclude(dryRun, { key: failed, status: "failed", attempts: 2 })
      assert.deepStrictEqual(yield* rpc.command_retry({ key: failed, dryRun: true }), dryRun)
      assert.strictEqual((yield* Effect.flip(client.commands.checkRetry({ params: { key } })))._tag, "Conflict")
      assert.strictEqual((yield* Effect.flip(rpc.command_retry({ key, dryRun: true })))._tag, "Conflict")
      assert.strictEqual((yield* Effect.flip(client.commands.checkRetry({ params: { key: "none" } })))._tag, "NotFound")

      const counted = yield* client.commands.retryAll({ payload: { machine: "teller", dryRun: true } })
      assert.deepStrictEqual(counted, { count: 2, dryRun: true })
      assert.strictEqual((yield* list("failed")).commands.length, 2)
      world.isBroken = false
      const retried = yield* client.commands.retryAll({ payload: { machine: "teller" } })
      assert.strictEqual(retried.count, 2)
      const { commands: completed } = yield* until("completed", 2)
      for (const { attempts, round } of completed) assert.deepStrictEqual([attempts, round], [1, 1])
      assert.notProperty(first, "round")
      assert.deepStrictEqual([...world.told].sort(), ["word b", "word c"])
      const { queues } = yield* client.commands.queues()
      assert.deepStrictEqual(queues.find(({ queue }) => queue === "words")?.counts, { completed: 2, skipped: 1 })
      const missing = yield* request(`${url}/api/v1/commands/none`)
      assert.strictEqual(missing.status, 404)
    }),
  )

  it.live("are listed, grouped, retried and skipped by the same conditions: a range of time, and numbers", () =>
    Effect.gen(function* () {
      const { world, config } = tellers()
      const { client, url } = yield* served({ config })
      const failed = (count: number) =>
        Effect.repeat(client.commands.list({ query: { status: "failed" } }), {
          until: ({ commands }) => commands.length === count,
          schedule: Schedule.spaced("20 millis"),
        })
      for (const id of ["a", "b", "c", "d"]) {
        yield* client.instances.start({ params: { machine: "teller" }, payload: { id } })
        yield* client.instances.send({ params: { machine: "teller", id }, headers: {}, payload: { _tag: "Tell", text: id } })
        // Each is enqueued at a time of its own.
        yield* Effect.sleep("2 millis")
      }
      const { commands } = yield* failed(4)
      const [first, second, third, fourth] = commands.map(({ number, enqueuedAt }) => ({ number, enqueuedAt }))
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) return assert.fail("four failed")

      const range = { enqueuedAfter: first.enqueuedAt, enqueuedBefore: fourth.enqueuedAt }
      const listed = yield* client.commands.list({ query: range })
      assert.deepStrictEqual(
        listed.commands.map(({ number }) => number),
        [second.number, third.number],
      )
      assert.strictEqual((yield* client.commands.groups({ query: range })).groups[0]?.count, 2)
      assert.strictEqual((yield* client.commands.retryAll({ payload: { ...range, dryRun: true } })).count, 2)
      const skipping = { filter: range, reason: "not needed", dryRun: true }
      assert.strictEqual((yield* client.commands.skipAll({ payload: skipping })).count, 2)

      const named = [first.number, third.number, 999_999]
      const { text } = yield* request(`${url}/api/v1/commands?${named.map((number) => `number=${number}`).join("&")}`)
      assert.deepStrictEqual(
        (JSON.parse(text) as typeof listed).commands.map(({ number }) => number),
        [first.number, third.number],
      )
      const skippedOne = yield* client.commands.skipAll({ payload: { filter: { number: fourth.number }, reason: "not needed" } })
      assert.strictEqual(skippedOne.count, 1)
      world.isBroken = false
      assert.strictEqual((yield* client.commands.retryAll({ payload: { number: named } })).count, 2)
      const { commands: left } = yield* failed(1)
      assert.strictEqual(left[0]?.number, second.number)
      const tooMany = yield* request(
        `${url}/api/v1/commands/retry`,
        json({ number: Array.from({ length: 1001 }, (_, index) => index + 1) }),
      )
      assert.strictEqual(tooMany.status, 400)
    }),
  )

  it.live("keep the time of their first failure when a retry fails again", () =>
    Effect.gen(function* () {
      const { config } = tellers()
      const { client } = yield* served({ config })
      yield* client.instances.start({ params: { machine: "teller" }, payload: { id: "a" } })
      yield* client.instances.send({ params: { machine: "teller", id: "a" }, headers: {}, payload: { _tag: "Tell", text: "a" } })
      const group = (round: number | undefined) =>
        Effect.repeat(client.commands.list({ query: { status: "failed" } }), {
          until: ({ commands }) => commands[0] !== undefined && commands[0].round === round,
          schedule: Schedule.spaced("20 millis"),
        }).pipe(Effect.andThen(client.commands.groups({ query: {} })))
      const [before] = (yield* group(undefined)).groups
      yield* Effect.sleep("20 millis")
      yield* client.commands.retryAll({ payload: {} })
      const [after] = (yield* group(1)).groups
      assert.strictEqual(after?.firstAt, before?.firstAt)
      assert.isAbove(after?.lastAt ?? 0, before?.lastAt ?? 0)
    }),
  )

  it.live("whose instance has ended are executed again by force only", () =>
    Effect.gen(function* () {
      const { world, config } = tellers()
      const { client, url } = yield* served({ config })
      const params = { machine: "teller", id: "a" }
      yield* client.instances.start({ params, payload: { id: "a" } })
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Tell", text: "late" } })
      const failed = client.commands.list({ query: { queue: "words", status: "failed" } })
      const { commands } = yield* Effect.repeat(failed, {
        until: (page) => page.commands.length === 1,
        schedule: Schedule.spaced("20 millis"),
      })
      const key = commands[0]?.key ?? ""
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Leave" } })
      world.isBroken = false
      const refused = yield* Effect.flip(client.commands.retry({ params: { key } }))
      assert.strictEqual(refused._tag, "Conflict")
      const checked = yield* Effect.flip(client.commands.checkRetry({ params: { key } }))
      assert.deepStrictEqual(checked, refused)
      const rpc = yield* clients.makeRpcClient({ url })
      assert.strictEqual((yield* Effect.flip(rpc.command_retry({ key, dryRun: true }))).message, refused.message)
      assert.notProperty(yield* rpc.command_retry({ key, dryRun: true, force: true }), "round")
      assert.deepStrictEqual(world.told, [])
      assert.deepInclude(yield* client.commands.forceRetry({ params: { key } }), { key, round: 1 })
      yield* Effect.repeat(
        Effect.sync(() => world.told.length),
        { until: (count) => count === 1, schedule: Schedule.spaced("20 millis") },
      )
      assert.deepStrictEqual(world.told, ["late"])
    }),
  )

  it.live("are retried once for a key, by HTTP and as a procedure", () =>
    Effect.gen(function* () {
      const { config } = tellers()
      const { client, url } = yield* served({ config })
      const params = { machine: "teller", id: "a" }
      yield* client.instances.start({ params, payload: { id: "a" } })
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Tell", text: "once" } })
      const failedIn = (round: number) =>
        Effect.repeat(client.commands.list({ query: { queue: "words" } }), {
          until: ({ commands: [one] }) => one?.status === "failed" && (one.round ?? 0) === round,
          schedule: Schedule.spaced("20 millis"),
        })
      const key = (yield* failedIn(0)).commands[0]?.key ?? ""
      const rpc = yield* clients.makeRpcClient({ url })
      const first = yield* rpc.command_retry({ key, idempotencyKey: "k" })
      yield* failedIn(1)
      assert.deepStrictEqual(yield* rpc.command_retry({ key, idempotencyKey: "k" }), first)
      const again = client.commands.retry({ params: { key } }).pipe(clients.withIdempotencyKey("k"))
      assert.deepStrictEqual(yield* again, first)
      assert.strictEqual((yield* client.commands.get({ params: { key } })).round, 1)
    }),
  )

  it.live("of a queue that is paused wait until it is resumed", () =>
    Effect.gen(function* () {
      const { world, config } = tellers()
      world.isBroken = false
      const { client } = yield* served({ config })
      yield* client.commands.pause({ params: { queue: "words" } })
      yield* client.instances.start({ params: { machine: "teller" }, payload: { id: "a" } })
      yield* client.instances.send({ params: { machine: "teller", id: "a" }, headers: {}, payload: { _tag: "Tell", text: "later" } })
      yield* Effect.sleep("200 millis")
      assert.deepStrictEqual(world.told, [])
      const { commands } = yield* client.instances.commands({ params: { machine: "teller", id: "a" } })
      assert.deepStrictEqual(
        commands.map(({ status }) => status),
        ["pending"],
      )
      yield* client.commands.resume({ params: { queue: "words" } })
      yield* Effect.repeat(
        Effect.sync(() => world.told.length),
        { until: (count) => count === 1, schedule: Schedule.spaced("20 millis") },
      )
    }),
  )

  it.live("of an instance are read in pages from the latest back, and by the event that requested them", () =>
    Effect.gen(function* () {
      const state = State({ Open: {} })
      const event = Event({ Note: {} })
      const Noter = Machine.make({ name: "noter", state, event, effects: Slot.Effects({ note: {} }), initial: state.Open() })
        .on(state.Open, event.Note, state.Open, ({ effects }) => {
          effects.note()
          return state.Open()
        })
        .build({ note: () => Effect.void })
      const { client, url } = yield* served({ config: defineConfig({ machines: [Noter] }) })
      // Of one instance the id begins like that of the other.
      for (const id of ["a", "a/1"]) {
        yield* client.instances.start({ params: { machine: "noter" }, payload: { id } })
        for (let turn = 0; turn < 11; turn++)
          yield* client.instances.send({ params: { machine: "noter", id }, headers: {}, payload: { _tag: "Note" } })
      }
      const page = (query: string) =>
        Effect.map(request(`${url}/api/v1/instances/noter/a/commands?${query}`), ({ text }) => {
          const { commands, next } = JSON.parse(text) as { readonly commands: ReadonlyArray<{ readonly sequence: number }>; next?: number }
          return { sequences: commands.map(({ sequence }) => sequence), next }
        })
      const latest = yield* page("limit=8")
      assert.deepStrictEqual(latest.sequences, [4, 5, 6, 7, 8, 9, 10, 11])
      assert.deepStrictEqual(yield* page(`limit=8&before=${latest.next}`), { sequences: [1, 2, 3], next: undefined })
      assert.deepStrictEqual(yield* page("sequence=1"), { sequences: [1], next: undefined })
      assert.deepStrictEqual((yield* page("sequence=20")).sequences, [])
      assert.strictEqual((yield* request(`${url}/api/v1/instances/noter/a/commands?limit=0`)).status, 400)
    }),
  )
})

describe("health and metrics", () => {
  it.live("tell that it lives, that it is ready, and what it does", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      assert.deepStrictEqual(yield* client.live(), { status: "live", systems: ["knowledge", "uploads"] })
      const ready = yield* client.ready()
      assert.deepStrictEqual([ready.status, ready.database, ready.role], ["ready", "Sqlite", "work"])
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      yield* client.instances.send({ params: { machine: "tally", id: "one" }, headers: {}, payload: { _tag: "Add", by: 1 } })
      const metrics = yield* request(`${url}/metrics`)
      assert.match(metrics.type, /^text\/plain; version=0\.0\.4/)
      for (const name of ["detent_events_total", "detent_commits_total", "detent_instances_live", "detent_resident_bytes"]) {
        assert.match(metrics.text, new RegExp(`^${name}(\\{[^}]*\\})? [0-9.]+$`, "m"))
      }
      assert.include(metrics.text, 'le="+Inf"')
      assert.notInclude(metrics.text, "Infinity")
      const docs = yield* request(`${url}/docs`)
      assert.match(docs.type, /^text\/html/)
      const described = yield* request(`${url}/openapi.json`)
      assert.strictEqual(JSON.parse(described.text).openapi, "3.1.0")
    }),
  )
})
