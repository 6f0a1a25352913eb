import * as clients from "@detent/api/client"
import { workflow } from "@detent/durable/promise"
import { State } from "@detent/machine"
import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Workflow from "effect/workflow/Workflow"
import { Gate, Ship, shipLayer } from "../support/Ship.ts"
import { json, request, served } from "../support/served.ts"

const Nightly = workflow({ name: "nightly", input: { day: Schema.String } }, async ({ day }, durable) =>
  durable.step("prepare", async () => day),
)
class Refused extends Schema.TaggedError<Refused>()("Refused", { reason: Schema.String, card: State.sensitive(Schema.String) }) {}
const Charge = Workflow.make("charge", { payload: { order: Schema.String }, error: Refused, idempotencyKey: ({ order }) => order })
const chargeLayer = Charge.toLayer(() => Effect.fail(new Refused({ reason: "no money", card: "pin-4711" })))
const Broken = workflow({ name: "broken", input: {} }, async () => {
  throw new TypeError("the post office is closed")
})
const Trip = workflow(
  {
    name: "trip",
    input: { traveller: Schema.String },
    events: { confirmed: Schema.Struct({ by: Schema.String, pin: State.sensitive(Schema.String) }), boarded: Schema.Void },
  },
  async ({ traveller }, durable) => {
    const { by } = await durable.waitForEvent("confirmed")
    await durable.waitForEvent("boarded")
    return durable.step("depart", async () => `${traveller}, confirmed by ${by}`)
  },
)
const config = defineConfig({
  workflows: [
    { workflow: Ship, layer: shipLayer, events: { gate: Gate } },
    Trip,
    { workflow: Charge, layer: chargeLayer },
    Nightly,
    Broken,
  ],
})

describe("executions over HTTP", () => {
  it.live("show their payload, and their steps in time with begin and end", () =>
    Effect.gen(function* () {
      const { client, context } = yield* served({ config })
      const id = yield* Effect.provideContext(Ship.execute({ parcel: "books" }, { discard: true }), context)
      const params = { workflow: "ship", id }
      const suspended = Effect.map(client.executions.get({ params }), ({ phase }) => phase === "Suspended")
      while (!(yield* suspended)) yield* Effect.sleep("10 millis")
      assert.deepStrictEqual((yield* client.executions.get({ params })).payload, { parcel: "books" })
      const { phase, spans } = yield* client.executions.spans({ params, query: {} })
      assert.strictEqual(phase, "Suspended")
      const pack = spans.find(({ kind }) => kind === "activity")
      assert.deepInclude(pack, { name: "pack", attempt: 1, outcome: "success" })
      assert.isAtMost(pack?.startedAt ?? Number.POSITIVE_INFINITY, pack?.endedAt ?? 0)
      assert.isTrue(spans.some(({ kind, endedAt }) => kind === "suspension" && endedAt === undefined))
    }),
  )

  it.live("show a suspension until what they waited for has come, and the next one after it", () =>
    Effect.gen(function* () {
      const { client } = yield* served({ config })
      const { id } = yield* client.executions.start({ params: { workflow: "trip" }, payload: { id: "ada", payload: { traveller: "Ada" } } })
      const params = { workflow: "trip", id }
      const suspensions = (count: number) =>
        Effect.repeat(
          Effect.map(client.executions.spans({ params, query: {} }), ({ spans }) => spans.filter(({ kind }) => kind === "suspension")),
          { until: (found) => found.length >= count, schedule: Schedule.spaced("10 millis") },
        )
      assert.deepStrictEqual(
        (yield* suspensions(1)).map(({ endedAt }) => endedAt),
        [undefined],
      )
      yield* client.executions.send({ params, payload: { event: "confirmed", value: { by: "Bo", pin: "1" } } })
      const [first, second] = yield* suspensions(2)
      assert.isAtLeast(first?.endedAt ?? 0, first?.startedAt ?? Number.POSITIVE_INFINITY)
      assert.isUndefined(second?.endedAt)
    }),
  )

  it.live("of a workflow of the configuration are listed, read, interrupted", () =>
    Effect.gen(function* () {
      const { client, context, url } = yield* served({ config })
      const id = yield* Effect.provideContext(Ship.execute({ parcel: "books" }, { discard: true }), context)
      const suspended = Effect.map(client.executions.get({ params: { workflow: "ship", id } }), ({ phase }) => phase === "Suspended")
      while (!(yield* suspended)) yield* Effect.sleep("10 millis")
      const { executions } = yield* client.executions.list({ query: { workflow: "ship" } })
      assert.deepStrictEqual(
        executions.map((one) => [one.workflow, one.id, one.phase]),
        [["ship", id, "Suspended"]],
      )
      const { events } = yield* client.executions.history({ params: { workflow: "ship", id }, query: {} })
      assert.include(
        events.map(({ event }) => event),
        "Activity/pack",
      )
      assert.include(
        (yield* client.machines.list()).machines.map(({ name }) => name),
        "workflow/ship",
      )
      const interrupt = request(`${url}/api/v1/executions/ship/${id}/interrupt`, json({}, { "idempotency-key": "once" }))
      assert.strictEqual((yield* interrupt).status, 200)
      while (!(yield* client.executions.get({ params: { workflow: "ship", id } })).ended) yield* Effect.sleep("10 millis")
      // The same request again is answered with the first answer; another one finds that it has ended.
      assert.strictEqual((yield* interrupt).status, 200)
      const again = yield* request(`${url}/api/v1/executions/ship/${id}/interrupt`, json({}))
      assert.strictEqual(again.status, 409)
      assert.include(again.text, "has ended: it is Interrupted")
    }),
  )

  it.live("that are not there are refused", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const missing = yield* request(`${url}/api/v1/executions/ship/nothing`)
      assert.strictEqual(missing.status, 404)
      assert.include(missing.text, "GET /api/v1/executions")
      const unknown = yield* request(`${url}/api/v1/executions?workflow=shp`)
      assert.strictEqual(unknown.status, 404)
      assert.include(unknown.text, "use one of broken, charge, extraction, nightly, ship, trip")
    }),
  )

  it.live("are started: the same payload is the same execution, another one under its id is refused", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      const at = `${url}/api/v1/executions/ship`
      const first = yield* request(at, json({ payload: { parcel: "books" } }))
      assert.strictEqual(first.status, 201)
      const { id } = JSON.parse(first.text)
      assert.strictEqual(JSON.parse((yield* request(at, json({ payload: { parcel: "books" } }))).text).id, id)
      const other = yield* request(at, json({ id, payload: { parcel: "pens" } }))
      assert.strictEqual(other.status, 409)
      assert.include(other.text, "exists with another payload")
      const named = yield* request(at, json({ id: "mine", payload: { parcel: "pens" } }))
      assert.strictEqual(JSON.parse(named.text).id, "mine")
      assert.strictEqual((yield* client.executions.list({ query: { workflow: "ship" } })).executions.length, 2)
      const described = yield* request(`${url}/api/v1/machines/workflow%2Fship`)
      assert.deepStrictEqual(JSON.parse(described.text).payloadSchema.required, ["parcel"])
    }),
  )

  it.live("of two payloads that are sent under one id at once, one is started and the other one refused", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const send = (parcel: string, note: string) => request(`${url}/api/v1/executions/ship`, json({ payload: { parcel, note } }))
      const parcels = Array.from({ length: 20 }, (_, index) => `parcel ${index}`)
      const sends = parcels.flatMap((parcel) => [send(parcel, "by air"), send(parcel, "by sea")])
      const answers = yield* Effect.all(sends, { concurrency: "unbounded" })
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, [...parcels.map(() => 201), ...parcels.map(() => 409)])
    }),
  )

  it.live("are not started where the payload does not fit, and the refusal names what would", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      const refused = (body: unknown, workflow = "ship") =>
        Effect.map(
          request(`${url}/api/v1/executions/${workflow}`, json(body)),
          ({ status, text }) => [status, JSON.parse(text).detail] as const,
        )
      const misspelt = yield* refused({ payload: { parcle: "books" } })
      assert.strictEqual(misspelt[0], 422)
      assert.include(misspelt[1], "parcle is not known; did you mean parcel?")
      assert.include(misspelt[1], '{"parcel":"…"}')
      assert.include((yield* refused({ payload: { parcel: 3 } }))[1], "got 3")
      const key = yield* refused({ paylod: { parcel: "books" } })
      assert.strictEqual(key[0], 400)
      assert.include(key[1], "did you mean payload?")
      assert.strictEqual((yield* refused({ payload: { parcel: "x" } }, "shp"))[0], 404)
      assert.strictEqual((yield* refused({ payload: {} }, "extraction"))[0], 422)
      assert.strictEqual((yield* refused({ id: "a\u0000b", payload: { parcel: "x" } }))[0], 422)
      assert.strictEqual((yield* refused({ id: "..", payload: { parcel: "x" } }))[0], 422)
      const unnamed = yield* refused({ payload: { day: "monday" } }, "nightly")
      assert.include(unnamed[1], 'give one as "id"')
      assert.strictEqual((yield* client.executions.list({ query: { workflow: "ship" } })).executions.length, 0)
    }),
  )

  it.live("that failed tell why, without sensitive fields", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const failed = (workflow: string, body: unknown) =>
        Effect.gen(function* () {
          const started = yield* request(`${url}/api/v1/executions/${workflow}`, json(body))
          const read = request(`${url}/api/v1/executions/${workflow}/${JSON.parse(started.text).id}`)
          const { text } = yield* Effect.repeat(read, {
            until: (answer) => JSON.parse(answer.text).ended === true,
            schedule: Schedule.spaced("10 millis"),
          })
          return JSON.parse(text) as { readonly phase: string; readonly problem: string }
        })
      const refused = yield* failed("charge", { payload: { order: "o-1" } })
      assert.deepStrictEqual(refused.problem, '{"_tag":"Refused","reason":"no money","card":"•••"}')
      const broken = yield* failed("broken", { id: "one" })
      assert.deepStrictEqual([broken.phase, broken.problem], ["Failed", "TypeError: the post office is closed"])
    }),
  )

  it.live("are started under a key once, by HTTP and as a procedure", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      const start = (id: string) =>
        request(`${url}/api/v1/executions/nightly`, json({ id, payload: { day: "monday" } }, { "idempotency-key": "k" }))
      assert.strictEqual((yield* start("one")).status, 201)
      assert.strictEqual((yield* start("two")).status, 422)
      const rpc = yield* clients.makeRpcClient({ url })
      const started = yield* rpc.execution_start({ workflow: "nightly", id: "three", payload: { day: "tuesday" }, idempotencyKey: "l" })
      assert.strictEqual(started.id, "three")
      const params = { workflow: "nightly", id: "three" }
      while (!(yield* rpc.execution_getStatus(params)).ended) yield* Effect.sleep("10 millis")
      assert.strictEqual((yield* client.executions.get({ params })).phase, "Completed")
      const again = yield* Effect.flip(
        rpc.execution_start({ workflow: "nightly", id: "four", payload: { day: "tuesday" }, idempotencyKey: "l" }),
      )
      assert.strictEqual(again._tag, "Unprocessable")
    }),
  )
})

describe("events of executions over HTTP", () => {
  const ada = { by: "ada", pin: "pin-4711" }
  const trip = { payload: { traveller: "Grace" } }

  it.live("arrive once, and the execution continues with them; a repeated request is answered", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      const ended = (params: { readonly workflow: string; readonly id: string }) =>
        Effect.repeat(client.executions.get({ params }), { until: (one) => one.ended, schedule: Schedule.spaced("10 millis") })
      yield* request(`${url}/api/v1/executions/trip`, json({ id: "one", ...trip }))
      const send = (body: unknown, key = "k") => request(`${url}/api/v1/executions/trip/one/events`, json(body, { "idempotency-key": key }))
      const first = yield* send({ event: "confirmed", value: ada })
      assert.strictEqual(first.status, 200, first.text)
      assert.notInclude(first.text, "pin-4711")
      assert.strictEqual((yield* send({ event: "confirmed", value: ada })).text, first.text)
      // The same value under another key is the same event.
      assert.strictEqual((yield* send({ event: "confirmed", value: ada }, "k-2")).status, 200)
      yield* send({ event: "boarded" }, "k-3")
      assert.strictEqual((yield* ended({ workflow: "trip", id: "one" })).phase, "Completed")
      const { events } = yield* client.executions.history({ params: { workflow: "trip", id: "one" }, query: {} })
      assert.lengthOf(
        events.filter(({ event }) => event === "Deferred/event/confirmed"),
        1,
      )
      // Also after the end.
      assert.strictEqual((yield* send({ event: "confirmed", value: ada }, "k-4")).status, 200)

      const { id } = yield* client.executions.start({ params: { workflow: "ship" }, payload: { payload: { parcel: "books" } } })
      const params = { workflow: "ship", id }
      yield* client.executions.send({ params, payload: { event: "gate", value: "seven" } })
      assert.strictEqual((yield* ended(params)).phase, "Completed")
      const described = JSON.parse((yield* request(`${url}/api/v1/machines/workflow%2Ftrip`)).text)
      assert.deepStrictEqual(described.events, ["confirmed", "boarded"])
      assert.deepStrictEqual(described.eventSchemas.confirmed.required, ["by", "pin"])
    }),
  )

  it.live("under a key that belongs to another event, or with another value, are refused and change nothing", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      yield* request(`${url}/api/v1/executions/trip`, json({ id: "one", ...trip }))
      const send = (body: unknown, headers = {}) =>
        Effect.map(request(`${url}/api/v1/executions/trip/one/events`, json(body, headers)), ({ status, text }) => [
          status,
          JSON.parse(text).detail,
        ])
      const key = { "idempotency-key": "k" }
      assert.strictEqual((yield* send({ event: "confirmed", value: ada }, key))[0], 200)
      const otherPin = yield* send({ event: "confirmed", value: { ...ada, pin: "4712" } }, key)
      assert.strictEqual(otherPin[0], 422)
      assert.include(otherPin[1], "key k belongs to a request with other content")
      const other = yield* send({ event: "confirmed", value: { ...ada, pin: "4712" } })
      assert.strictEqual(other[0], 409)
      assert.include(other[1], "has event confirmed with another value")
      assert.notInclude(other[1], "471")
      const { events } = yield* client.executions.history({ params: { workflow: "trip", id: "one" }, query: {} })
      assert.lengthOf(
        events.filter(({ event }) => event.startsWith("Deferred/")),
        1,
      )
    }),
  )

  it.live("of two values that are sent at once, one arrives and the other one is refused", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const ids = Array.from({ length: 15 }, (_, index) => `trip-${index}`)
      yield* Effect.forEach(ids, (id) => request(`${url}/api/v1/executions/trip`, json({ id, ...trip })), { concurrency: 5 })
      const send = (id: string, by: string) =>
        request(`${url}/api/v1/executions/trip/${id}/events`, json({ event: "confirmed", value: { ...ada, by } }))
      const sends = ids.flatMap((id) => [send(id, "ada"), send(id, "bo")])
      const statuses = (yield* Effect.all(sends, { concurrency: "unbounded" })).map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, [...ids.map(() => 200), ...ids.map(() => 409)])
    }),
  )

  it.live.each([
    [
      "an unknown event",
      "trip/one",
      { event: "confirmd", value: ada },
      422,
      "workflow trip has no event confirmd; did you mean confirmed?",
    ],
    ["an event that no object has", "trip/one", { event: "toString" }, 422, "has no event toString; its events are confirmed, boarded"],
    ["a workflow without events", "nightly/one", { event: "go" }, 422, "it has none; name them as `events` in detent.config.ts"],
    ["a missing value", "trip/one", { event: "confirmed" }, 422, 'it is something like {"by":"…","pin":"…"}'],
    ["a misspelt field", "trip/one", { event: "confirmed", value: { ...ada, bye: 1 } }, 422, "bye is not known; did you mean by?"],
    ["a wrong value", "trip/one", { event: "confirmed", value: { ...ada, by: 7 } }, 422, "got 7"],
    [
      "a value that is none",
      "trip/one",
      { event: "boarded", value: { seat: 1 } },
      422,
      "the value of event boarded of workflow trip does not fit",
    ],
    ["a misspelt key of the body", "trip/one", { event: "confirmed", valu: ada }, 400, "valu is not known; did you mean value?"],
    ["no event", "trip/one", { value: ada }, 400, "event"],
    ["an execution that is not there", "trip/two", { event: "confirmed", value: ada }, 404, "GET /api/v1/executions"],
    ["a workflow that is not there", "trp/one", { event: "confirmed", value: ada }, 404, "there is no workflow trp"],
    ["an id that no database can keep", "trip/a%00b", { event: "confirmed", value: ada }, 400, ""],
  ] as const)("with %s are refused", ([, to, body, status, problem]) =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      yield* request(`${url}/api/v1/executions/trip`, json({ id: "one", ...trip }))
      const answer = yield* request(`${url}/api/v1/executions/${to}/events`, json(body))
      assert.strictEqual(answer.status, status, answer.text)
      assert.include(JSON.parse(answer.text).detail, problem)
      assert.notInclude(answer.text, "pin-4711")
      const { executions } = yield* client.executions.list({ query: { workflow: "trip" } })
      assert.lengthOf(executions, 1)
    }),
  )

  it.live("that are sent before the start are kept where that is asked for; one that has ended takes none", () =>
    Effect.gen(function* () {
      const { client } = yield* served({ config })
      const params = { workflow: "trip", id: "early" }
      const waiting = yield* client.executions.send({ params, payload: { event: "confirmed", value: ada, beforeStart: true } })
      assert.strictEqual(waiting.phase, "Waiting")
      yield* client.executions.start({ params: { workflow: "trip" }, payload: { id: "early", ...trip } })
      yield* client.executions.send({ params, payload: { event: "boarded" } })
      yield* Effect.repeat(client.executions.get({ params }), { until: (one) => one.ended, schedule: Schedule.spaced("10 millis") })
      yield* client.executions.start({ params: { workflow: "trip" }, payload: { id: "late", ...trip } })
      yield* client.executions.interrupt({ params: { workflow: "trip", id: "late" } })
      const late = yield* Effect.repeat(client.executions.get({ params: { workflow: "trip", id: "late" } }), {
        until: (one) => one.ended,
        schedule: Schedule.spaced("10 millis"),
      })
      assert.strictEqual(late.phase, "Interrupted")
      const refused = yield* Effect.flip(
        client.executions.send({ params: { workflow: "trip", id: "late" }, payload: { event: "confirmed", value: ada } }),
      )
      assert.strictEqual(refused._tag, "Conflict")
    }),
  )

  it.live("are sent as a procedure, with the same key and the same refusals", () =>
    Effect.gen(function* () {
      const { client, url } = yield* served({ config })
      const params = { workflow: "trip", id: "one" }
      yield* client.executions.start({ params: { workflow: "trip" }, payload: { id: "one", ...trip } })
      const rpc = yield* clients.makeRpcClient({ url })
      const event = { ...params, event: "confirmed", value: ada, idempotencyKey: "k" }
      assert.strictEqual((yield* rpc.execution_sendEvent(event)).id, "one")
      // The key is the same by HTTP.
      const http = yield* request(
        `${url}/api/v1/executions/trip/one/events`,
        json({ event: "confirmed", value: ada }, { "idempotency-key": "k" }),
      )
      assert.strictEqual(http.status, 200)
      assert.strictEqual((yield* Effect.flip(rpc.execution_sendEvent({ ...event, value: { ...ada, by: "bo" } })))._tag, "Unprocessable")
      assert.strictEqual(
        (yield* Effect.flip(rpc.execution_sendEvent({ ...event, event: "none", idempotencyKey: "l" })))._tag,
        "Unprocessable",
      )
    }),
  )
})
