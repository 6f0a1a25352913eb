import { Event, Machine, State, stay } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { json, request, served, useServed } from "../support/served.ts"

const key = { machine: "tally", id: "one" }

describe("instances over HTTP", () => {
  it.live("that ended are counted and purged, and listed as failed only where their final state is one of failure", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "two" } })
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Close" } })
      assert.deepStrictEqual((yield* client.instances.list({ query: { status: "failed" } })).instances, [])
      // A dry run does not use up its key, so the one that follows may have the same.
      const purge = (payload: { readonly endedBeforeMillis: number; readonly dryRun?: boolean }) =>
        Effect.map(
          request(`${url}/api/v1/machines/tally/purge`, json(payload, { "idempotency-key": `purge-${payload.endedBeforeMillis}` })),
          ({ text }) => JSON.parse(text),
        )
      assert.strictEqual((yield* purge({ endedBeforeMillis: 3_600_000 })).count, 0)
      assert.deepStrictEqual(yield* purge({ endedBeforeMillis: 0, dryRun: true }), { machine: "tally", count: 1, dryRun: true })
      assert.deepStrictEqual(yield* purge({ endedBeforeMillis: 0 }), { machine: "tally", count: 1, dryRun: false })
      const { instances } = yield* client.instances.list({ query: { machine: "tally" } })
      assert.deepStrictEqual(
        instances.map(({ id }) => id),
        ["two"],
      )
      const missing = yield* request(`${url}/api/v1/machines/tally/purge`, json({}))
      assert.strictEqual(missing.status, 400)
      assert.include(missing.text, "endedBeforeMillis")
    }),
  )

  it.live("are started, sent events, listed, and looked at at any moment of their history", () =>
    Effect.gen(function* () {
      const { client } = yield* served()
      const started = yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      assert.deepStrictEqual(started.state, { _tag: "Open", count: 0, pin: "•••" })
      const sent = yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 3 } })
      assert.deepStrictEqual([sent.outcome, sent.state], ["Stay", { _tag: "Open", count: 3, pin: "•••" }])
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 4 } })
      const asked = yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Count" } })
      assert.strictEqual(asked.answer, 7)
      // Without a key the question is not journaled.
      yield* client.instances.send({ params: key, headers: { "idempotency-key": "count-1" }, payload: { _tag: "Count" } })

      const { instances } = yield* client.instances.list({ query: { machine: "tally", state: "Open" } })
      assert.deepStrictEqual(
        instances.map(({ id, sequence }) => [id, sequence]),
        [["one", 3]],
      )
      const { entries, next } = yield* client.instances.history({ params: key, query: { limit: 2 } })
      assert.deepStrictEqual(
        entries.map(({ sequence, event, state }) => [sequence, event._tag, state["count"]]),
        [
          [1, "Add", 3],
          [2, "Add", 7],
        ],
      )
      assert.strictEqual(next, 2)
      const { state } = yield* client.instances.stateAt({ params: { ...key, sequence: 1 } })
      assert.deepStrictEqual(state, { _tag: "Open", count: 3, pin: "•••" })
      const legal = yield* client.instances.legalEvents({ params: key })
      assert.deepStrictEqual(
        legal.events.map(({ event }) => event),
        ["Add", "Pause", "Close", "Count"],
      )
    }),
  )

  it.live("111 the same Idempotency-Key is the original, and changes nothing", () =>
    Effect.gen(function* () {
      const { client } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const send = (by: number) =>
        client.instances.send({ params: key, headers: { "idempotency-key": "k-1" }, payload: { _tag: "Add", by } })
      const first = yield* send(5)
      assert.deepStrictEqual(yield* send(5), first)
      const { state } = yield* client.instances.get({ params: key })
      assert.strictEqual(state["count"], 5)
      const otherFields = yield* Effect.flip(send(6))
      assert.include(otherFields.message, "key k-1 of tally/one belongs to event 1, Add with other fields")
      const otherEvent = yield* Effect.flip(
        client.instances.send({ params: key, headers: { "idempotency-key": "k-1" }, payload: { _tag: "Pause" } }),
      )
      assert.include(otherEvent.message, "key k-1 of tally/one belongs to event 1, Add; nothing was sent")
      assert.strictEqual((yield* client.instances.get({ params: key })).sequence, 1)
    }),
  )

  it.live("an Idempotency-Key belongs to one event with all its fields, sensitive ones too", () =>
    Effect.gen(function* () {
      const S = State({ Locked: {}, Open: { pin: State.sensitive(Schema.String) } })
      const E = Event({ Unlock: { pin: State.sensitive(Schema.String) } })
      const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Locked() })
        .on(S.Locked, E.Unlock, S.Open, ({ event }) => S.Open({ pin: event.pin }))
        .on(S.Open, E.Unlock, S.Open, ({ event }) => S.Open({ pin: event.pin }))
      const { client, url } = yield* served({ config: defineConfig({ machines: [Door] }) })
      yield* client.instances.start({ params: { machine: "door" }, payload: { id: "one" } })
      const unlock = (pin: string) =>
        request(`${url}/api/v1/instances/door/one/events`, json({ _tag: "Unlock", pin }, { "idempotency-key": "k" }))
      assert.strictEqual((yield* unlock("1111")).status, 200)
      assert.strictEqual((yield* unlock("1111")).status, 200)
      const other = yield* unlock("2222")
      assert.strictEqual(other.status, 422)
      assert.strictEqual(JSON.parse(other.text).type, "urn:detent:problem:KeyTaken")
      assert.notInclude(other.text, "1111")
      assert.notInclude(other.text, "2222")
    }),
  )

  it.live("of different events sent at once under one key only one is accepted", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const keys = Array.from({ length: 50 }, (_, index) => `k-${index}`)
      const sent = yield* Effect.forEach(
        keys.flatMap((one) => [1, 2].map((by) => ({ one, by }))),
        ({ one, by }) =>
          Effect.map(
            request(`${url}/api/v1/instances/tally/one/events`, json({ _tag: "Add", by }, { "idempotency-key": one })),
            (answer) => ({
              one,
              status: answer.status,
            }),
          ),
        { concurrency: "unbounded" },
      )
      const accepted = sent.filter(({ status }) => status === 200).map(({ one }) => one)
      assert.deepStrictEqual([...accepted].sort(), [...keys].sort())
      assert.isTrue(sent.every(({ status }) => status === 200 || status === 422))
    }),
  )

  it.live("are started once under an Idempotency-Key: again it is the first answer, with another body it is refused", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const start = (id: string) => request(`${url}/api/v1/instances/tally`, json({ id }, { "idempotency-key": "start-1" }))
      const first = yield* start("one")
      assert.strictEqual(first.status, 201, first.text)
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 3 } })
      const again = yield* start("one")
      assert.deepStrictEqual([again.status, again.text], [201, first.text])
      const other = yield* start("two")
      assert.deepStrictEqual([other.status, JSON.parse(other.text).type], [422, "urn:detent:problem:RequestKeyTaken"])
      const both = yield* Effect.all(
        ["three", "four"].map((id) => request(`${url}/api/v1/instances/tally`, json({ id }, { "idempotency-key": "start-2" }))),
        { concurrency: 2 },
      )
      assert.deepStrictEqual(both.map(({ status }) => status).sort(), [201, 422])
    }),
  )

  it.live("are forked at any event, and the first one stays as it is", () =>
    Effect.gen(function* () {
      const { client } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 3 } })
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by: 4 } })
      const forked = yield* client.instances.fork({ params: key, payload: { id: "two", sequence: 1 } })
      assert.deepStrictEqual([forked.id, forked.sequence, forked.state["count"]], ["two", 1, 3])
      assert.strictEqual((yield* client.instances.get({ params: key })).state["count"], 7)
    }),
  )

  it.live("have timers and commands that can be looked at", () =>
    Effect.gen(function* () {
      const { client } = yield* served()
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      yield* client.instances.send({ params: key, headers: {}, payload: { _tag: "Pause" } })
      const { timers } = yield* client.instances.timers({ params: key })
      assert.deepStrictEqual(
        timers.map(({ name }) => name),
        ["paused too long"],
      )
      assert.deepStrictEqual(yield* client.instances.commands({ params: key }), { commands: [] })
    }),
  )

  it.live("show the delayed events that wait, by name with event and deadline, and the history tells which were set and cancelled", () =>
    Effect.gen(function* () {
      const S = State({ Open: {}, Closed: {} })
      const E = Event({ Ask: {}, Forget: {}, Remind: { pin: Event.sensitive(Schema.String) } })
      const Ticket = Machine.make({ name: "ticket", state: S, event: E, initial: S.Open() })
        .on(S.Open, E.Ask, stay, ({ after }) => {
          after("reminder", "1 hour", E.Remind({ pin: "pin-4711" }))
          return stay
        })
        .on(S.Open, E.Forget, stay, ({ cancel }) => {
          cancel("reminder")
          return stay
        })
        .on(S.Open, E.Remind, S.Closed)
        .timeout(S.Open, "2 hours", S.Closed, { name: "abandoned" })
        .final(S.Closed)
      const { client } = yield* served({ config: defineConfig({ machines: [Ticket] }) })
      const params = { machine: "ticket", id: "t" }
      yield* client.instances.start({ params: { machine: "ticket" }, payload: { id: "t" } })
      assert.isUndefined((yield* client.instances.get({ params })).delays)
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Ask" } })
      const event = { _tag: "Remind", pin: "•••" }
      const { delays = [] } = yield* client.instances.get({ params })
      assert.deepStrictEqual(
        delays.map(({ due: _, ...one }) => one),
        [{ name: "reminder", event }],
      )
      const { timers } = yield* client.instances.timers({ params })
      assert.deepStrictEqual(timers.map(({ name, event: one }) => [name, one]).sort(), [
        ["abandoned", undefined],
        ["reminder", event],
      ])
      yield* client.instances.send({ params, headers: {}, payload: { _tag: "Forget" } })
      assert.isUndefined((yield* client.instances.get({ params })).delays)
      const { entries } = yield* client.instances.history({ params, query: {} })
      assert.deepStrictEqual(
        entries.map((entry) => entry.delays),
        [[{ name: "reminder", due: delays[0]?.due ?? 0, event }], [{ name: "reminder" }]],
      )
    }),
  )

  it.live("may have any id, slashes and all", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served()
      const long = `${"é".repeat(499)}/`
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: long } })
      yield* client.instances.send({ params: { machine: "tally", id: long }, headers: {}, payload: { _tag: "Add", by: 3 } })
      assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id: long } })).state["count"], 3)
      const id = "a/b c?d#ü%2F"
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
      assert.strictEqual((yield* client.instances.get({ params: { machine: "tally", id } })).id, id)
      const { status } = yield* request(`${url}/api/v1/instances/tally/${encodeURIComponent(id)}`)
      assert.strictEqual(status, 200)
    }),
  )

  it.live("begin without an input where their first state has no fields", () =>
    Effect.gen(function* () {
      const S = State({ Idle: {}, Done: {} })
      const Job = Machine.make({ name: "job", state: S, event: Event({ End: {} }), initial: S.Idle }).final(S.Done)
      const { client } = yield* served({ config: defineConfig({ machines: [Job] }) })
      const { state } = yield* client.instances.start({ params: { machine: "job" }, payload: { id: "one" } })
      assert.deepStrictEqual(state, { _tag: "Idle" })
    }),
  )

  it.live("begin with the fields of their first state as input, or in a whole state, and the refusal without shows how", () =>
    Effect.gen(function* () {
      const S = State({ Placed: { item: Schema.String, total: Schema.Finite }, Paid: { item: Schema.String } })
      const Order = Machine.make({ name: "order", state: S, event: Event({ Pay: {} }), initial: S.Placed }).final(S.Paid)
      const { client, url } = yield* served({ config: defineConfig({ machines: [Order] }) })
      const starting = (body: unknown) =>
        Effect.map(request(`${url}/api/v1/instances/order`, json(body)), ({ status, text }) => ({ status, ...JSON.parse(text) }))

      const without = yield* starting({ id: "one" })
      assert.deepInclude(without, { status: 422, type: "urn:detent:problem:InputNeeded" })
      assert.include(without.detail, "order begins as Placed")
      const example = /such as (\{.*\}), or/.exec(without.detail)?.[1] ?? ""
      assert.deepStrictEqual(JSON.parse(example), { id: "one", input: { item: "…", total: 0 } })
      const begun = yield* starting(JSON.parse(example))
      assert.deepStrictEqual([begun.status, begun.state], ["running", { _tag: "Placed", item: "…", total: 0 }])

      const input = { item: "lamp", total: 42 }
      const { state } = yield* client.instances.start({ params: { machine: "order" }, payload: { id: "two", input } })
      assert.deepStrictEqual(state, { _tag: "Placed", ...input })
      const elsewhere = yield* starting({ id: "three", state: { _tag: "Paid", item: "lamp" } })
      assert.strictEqual(elsewhere.state._tag, "Paid")
      const twice = yield* starting({ id: "four", input, state: { _tag: "Paid", item: "lamp" } })
      assert.deepInclude(twice, { status: 422, type: "urn:detent:problem:InputTwice" })
      const wrong = yield* starting({ id: "four", input: { item: "lamp" } })
      assert.deepInclude(wrong, { status: 422, type: "urn:detent:problem:InvalidState" })
      assert.include(wrong.detail, "total is missing")
      const { status } = yield* request(`${url}/api/v1/instances/order/four`)
      assert.strictEqual(status, 404)
    }),
  )
})

describe("an instance over HTTP", () => {
  const shared = useServed()
  beforeAll(() =>
    Effect.runPromise(
      Effect.flatMap(shared, ({ client }) => client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })),
    ),
  )

  it.live.each([
    ["an unknown machine", "nothing/one", 404, "MachineNotFound", "GET /api/v1/machines"],
    ["an Effect workflow", "workflow%2Fextraction/one", 404, "NotAMachine", "is a workflow"],
    ["an unknown instance", "tally/nobody", 404, "InstanceNotFound", "start it first"],
    ["an unknown sequence", "tally/one/states/99", 404, "SequenceNotReached", "from 0 to 0"],
    ["a sequence that is not a number", "tally/one/states/x", 400, "ParamsInvalid", "a whole number of at least 0"],
  ] as const)("refuses %s with what to do", ([, path, status, kind, advice]) =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const answer = yield* request(`${url}/api/v1/instances/${path}`)
      const problem = JSON.parse(answer.text)
      assert.deepStrictEqual([answer.status, answer.type, problem.type], [status, "application/problem+json", `urn:detent:problem:${kind}`])
      assert.include(problem.detail, advice)
    }),
  )

  it.live.each([
    ["an event it does not know", { _tag: "Fly" }, 422, "InvalidEvent", "Add, Pause"],
    ["a field of the wrong type", { _tag: "Add", by: "three" }, 422, "InvalidEvent", "by"],
    ["what the state has no transition for", { _tag: "Resume" }, 409, "InvalidTransition", "it accepts"],
    ["what a decision refuses", { _tag: "Add", by: 0 }, 409, "TransitionRefused", "adding nothing"],
    ["what has no tag", { by: 3 }, 400, "PayloadInvalid", "_tag"],
  ] as const)("refuses %s", ([, event, status, kind, advice]) =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const answer = yield* request(`${url}/api/v1/instances/tally/one/events`, json(event))
      const problem = JSON.parse(answer.text)
      assert.deepStrictEqual([answer.status, answer.type, problem.type], [status, "application/problem+json", `urn:detent:problem:${kind}`])
      assert.include(problem.detail, advice)
      const { state } = yield* client.instances.get({ params: key })
      assert.strictEqual(state["count"], 0)
    }),
  )
})
