import { workflow } from "@detent/durable/promise"
import { State } from "@detent/machine"
import { client as clients, defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Workflow from "effect/unstable/workflow/Workflow"
import { Ship, shipLayer } from "../support/Ship.ts"
import { json, request, served } from "../support/served.ts"

const Nightly = workflow({ name: "nightly", input: { day: Schema.String } }, async ({ day }, durable) =>
  durable.step("prepare", async () => day),
)
class Refused extends Schema.TaggedError<Refused>()("Refused", { reason: Schema.String, card: State.sensitive(Schema.String) }) {}
const Charge = Workflow.make("charge", { payload: { order: Schema.String }, error: Refused, idempotencyKey: ({ order }) => order })
const chargeLayer = Charge.toLayer(() => Effect.fail(new Refused({ reason: "no money", card: "4711" })))
const Broken = workflow({ name: "broken", input: {} }, async () => {
  throw new TypeError("the post office is closed")
})
const config = defineConfig({
  workflows: [{ workflow: Ship, layer: shipLayer }, { workflow: Charge, layer: chargeLayer }, Nightly, Broken],
})

describe("executions over HTTP", () => {
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
      assert.include(unknown.text, "known are broken, charge, extraction, nightly, ship")
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
