/** A new version of a machine is deployed process by process: two real processes with two versions share a store. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort } from "../../../store/test/support/freePort.ts"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { json, request, temporaryFolder } from "../support/served.ts"
import { killServer, startServer } from "../support/serverProcess.ts"

const startProcess = (data: string, version: string, ...more: ReadonlyArray<string>) =>
  Effect.acquireRelease(startServer("versionedServer.ts", data, "0", version, ...more), (one) =>
    one.child.exitCode === null && one.child.signalCode === null ? killServer(one, "SIGKILL") : Effect.void,
  )

const start = (url: string, id: string) => request(`${url}/api/v1/instances/order`, json({ id }))

const send = (url: string, id: string, event: object, headers: Record<string, string> = {}) =>
  request(`${url}/api/v1/instances/order/${id}/events`, json(event, headers))

const count = (url: string, id: string) =>
  Effect.map(request(`${url}/api/v1/instances/order/${id}`), ({ text }) => (JSON.parse(text) as { state: { count: number } }).state.count)

const add = { _tag: "Add", by: 1 }

const behindTheOther = (data: string, ...more: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const older = yield* startProcess(data, "1", ...more)
    assert.strictEqual((yield* start(older.url, "o")).status, 201)
    assert.strictEqual((yield* send(older.url, "o", add)).status, 200)
    const newer = yield* startProcess(data, "2", ...more)
    assert.strictEqual((yield* send(newer.url, "o", add)).status, 200)
    for (const refused of [yield* send(older.url, "o", add), yield* request(`${older.url}/api/v1/instances/order/o`)]) {
      const { type, detail } = JSON.parse(refused.text) as { type: string; detail: string }
      assert.deepStrictEqual([refused.status, type], [503, "urn:detent:problem:NewerVersion"])
      assert.isAbove(Number(refused.headers.get("retry-after")), 0)
      assert.match(detail, /written by version 2, this process has 1.*; retry in a moment/)
    }
    // The sender of a webhook delivers it again, to the process with the newer version.
    assert.strictEqual((yield* send(newer.url, "o", add)).status, 200)
    assert.strictEqual(yield* count(newer.url, "o"), 3)
  })

describe("an instance that a newer version of its machine has written", () => {
  it.live("is answered by the older process with 503 and when to retry, on SQLite", () =>
    Effect.flatMap(temporaryFolder, (data) => behindTheOther(data)),
  )

  it.live("is answered by the older process with 503 and when to retry, on PostgreSQL", () =>
    Effect.gen(function* () {
      yield* behindTheOther(yield* temporaryFolder, yield* freshDatabase)
    }),
  )

  it.live("gets the events that arrive at an older node of a cluster, which answers with the outcome and the name of the state", () =>
    Effect.gen(function* () {
      const database = yield* freshDatabase
      const node = (version: string) =>
        Effect.gen(function* () {
          return yield* startProcess(yield* temporaryFolder, version, database, `127.0.0.1:${yield* freePort}`)
        })
      const older = yield* node("1")
      const ids = Array.from({ length: 24 }, (_, index) => `o-${index}`)
      for (const id of ids) assert.strictEqual((yield* start(older.url, id)).status, 201)
      const newer = yield* node("2")
      yield* Effect.repeat(Effect.delay(request(`${newer.url}/health/ready`), "100 millis"), { until: ({ status }) => status === 200 })
      // The newer node writes the instances that it has now.
      const first = yield* Effect.forEach(ids, (id) => send(older.url, id, add, { "idempotency-key": `first-${id}` }), { concurrency: 8 })
      const second = yield* Effect.forEach(ids, (id) => send(older.url, id, add), { concurrency: 8 })
      for (const { status, text } of [...first, ...second]) assert.strictEqual(status, 200, text)
      const answers = second.map(({ text }) => JSON.parse(text) as { outcome: string; state: { _tag: string; count?: number } })
      for (const { outcome, state } of answers) assert.deepStrictEqual([outcome, state._tag], ["Stay", "Open"])
      const distant = ids.filter((_, index) => answers[index]?.state.count === undefined)
      assert.isAbove(distant.length, 0)
      assert.isBelow(distant.length, ids.length)
      for (const id of distant) assert.strictEqual(yield* count(newer.url, id), 2)
      // A start through the older node, of an instance that belongs to the newer one.
      for (let index = 0; index < 12; index++) assert.strictEqual((yield* start(older.url, `late-${index}`)).status, 201)
      assert.strictEqual(yield* killServer(older, "SIGTERM"), 0)
      for (const id of ids) assert.strictEqual(yield* count(newer.url, id), 2)
    }),
  )
})
