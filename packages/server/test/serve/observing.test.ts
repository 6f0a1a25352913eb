import * as clients from "@detent/api/client"
import { BatchId } from "@detent/knowledge"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig, observability, Server, serve, Workspace } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { collecting } from "../support/collector.ts"
import { openEvents } from "../support/eventStream.ts"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { json, request, served } from "../support/served.ts"
import { Tally } from "../support/Tally.ts"

const key = { machine: "tally", id: "one" }

describe("a server that only observes", () => {
  it.live("shows what another process does, also live, and refuses to change anything", () =>
    Effect.gen(function* () {
      const working = yield* served()
      yield* working.client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const { batchId } = yield* working.client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: smallManifest as never },
      })
      const home = Workspace.open({
        data: working.data,
        role: "observe",
        config: defineConfig({ machines: [Tally] }),
        knowledge: {},
        uploads: {},
      })
      const { url } = Context.get(yield* Layer.build(Layer.provide(serve({ port: 0 }), home)), Server)
      const client = yield* clients.makeClient({ url })
      const stream = yield* openEvents(`${url}/api/v1/instances/tally/one/events`)
      for (const by of [1, 2, 3]) {
        yield* working.client.instances.send({ params: key, headers: {}, payload: { _tag: "Add", by } })
        // The answer that was given before is not given again.
        assert.strictEqual((yield* client.instances.get({ params: key })).sequence, by)
      }
      yield* stream.until(({ id }) => id === "3")
      const refused = yield* Effect.flip(client.instances.send({ params: key, headers: {}, payload: { _tag: "Close" } }))
      assert.strictEqual(refused._tag, "Conflict")
      assert.strictEqual(refused.message, "this server is read-only (--observe); send the request to another server")
      const procedures = yield* clients.makeRpcClient({ url })
      const uncancelled = yield* Effect.flip(procedures.batch_cancel({ batchId }))
      assert.notInclude(uncancelled.message, "(unknown)")
      assert.strictEqual((yield* client.ready()).role, "observe")
    }),
  )
})

const secret = "4711-0815-2342"

const Vault = (() => {
  const S = State({ Empty: {}, Filled: { pin: State.sensitive(Schema.String) } })
  const E = Event({ Fill: { pin: State.sensitive(Schema.String) } })
  const effects = Slot.Effects({ report: { pin: State.sensitive(Schema.String) } })
  return Machine.make({ name: "vault", state: S, event: E, effects, initial: S.Empty() })
    .on(S.Empty, E.Fill, S.Filled)
    .enter(S.Filled, ({ state, effects }) => effects.report({ pin: state.pin }), { requests: ["report"] })
    .commands({ report: { retry: RetryPolicy.none } })
    .build({ report: ({ pin }) => Effect.die(new Error(`the office does not take ${pin.length} digits`)) })
})()

describe("what a server tells of itself", () => {
  it.live("holds no token and no sensitive value, wherever a request is refused, fails or is executed", () =>
    Effect.gen(function* () {
      const { received, otlp } = yield* collecting
      const [token, readToken] = ["operate-0123456789abcdef", "looking-0123456789abcdef"]
      yield* Effect.gen(function* () {
        const { url } = yield* served({
          config: defineConfig({ machines: [Vault] }),
          serve: { token: Redacted.make(token), readToken: Redacted.make(readToken) },
        })
        const asking = (path: string, body: unknown, given: string) =>
          request(`${url}${path}`, json(body, { authorization: `Bearer ${given}`, "idempotency-key": "k-1" }))
        const one = "/api/v1/instances/vault/one"
        const statuses = [
          (yield* asking("/api/v1/instances/vault", { id: "one" }, token)).status,
          (yield* asking(`${one}/events`, { _tag: "Fill", pin: { secret } }, token)).status,
          (yield* asking(`${one}/events`, { _tag: "Fill", pin: secret }, token)).status,
          (yield* asking(`${one}/events`, { _tag: "Fill", pin: `${secret}-other` }, token)).status,
          (yield* asking(`${one}/events`, { _tag: "Fill", pin: secret }, readToken)).status,
          (yield* asking(`${one}/events`, { _tag: "Fill", pin: secret }, `${token}-wrong`)).status,
          (yield* request(`${url}${one}`, { headers: { authorization: `Bearer ${readToken}` } })).status,
          (yield* request(`${url}${one}?token=${token}`)).status,
        ]
        assert.deepStrictEqual(statuses, [201, 422, 200, 422, 403, 401, 200, 400])
        const procedures = yield* clients.makeRpcClient({ url, token: Redacted.make(token) })
        yield* Effect.flip(procedures.batch_getStatus({ batchId: BatchId.make("batch-000000000000") }))
        const failed = request(`${url}/api/v1/commands?status=failed`, { headers: { authorization: `Bearer ${readToken}` } })
        yield* Effect.repeat(failed, { until: ({ text }) => text.includes("does not take"), schedule: Schedule.spaced("50 millis") })
      }).pipe(Effect.scoped, Effect.provide(observability({ isTerminal: true, otlp })))
      assert.include(received.get("/v1/traces") ?? "", "/api/v1/instances/:machine/:id")
      assert.sameMembers([...received.keys()], ["/v1/traces", "/v1/metrics", "/v1/logs"])
      for (const [address, text] of received)
        for (const hidden of [token, readToken, secret]) assert.isFalse(text.includes(hidden), `${address} has ${hidden}`)
    }),
  )

  it.live("goes to a collector as traces, metrics and logs, and to standard output as lines of JSON", () =>
    Effect.gen(function* () {
      const { received, otlp } = yield* collecting
      const lines: Array<string> = []
      const console = { ...globalThis.console, log: (line: unknown) => void lines.push(String(line)) }
      yield* Effect.gen(function* () {
        const { client } = yield* served()
        yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
        yield* client.instances.get({ params: key })
        yield* Effect.logInfo("served")
      }).pipe(
        Effect.scoped,
        Effect.provide(observability({ isTerminal: false, otlp })),
        Effect.provideService(Console.Console, console as never),
      )
      assert.include(received.get("/v1/traces") ?? "", "/api/v1/instances/:machine/:id")
      assert.include(received.get("/v1/metrics") ?? "", "detent_events_total")
      assert.include(received.get("/v1/logs") ?? "", "served")
      const logged = lines.find((line) => line.includes("served")) ?? ""
      assert.strictEqual(JSON.parse(logged).message, "served")
    }),
  )
})
