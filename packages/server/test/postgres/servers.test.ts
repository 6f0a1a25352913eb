import * as clients from "@detent/api/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { openEvents } from "../support/eventStream.ts"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { served, temporaryFolder } from "../support/served.ts"

const key = { machine: "tally", id: "one" }

describe("two servers on one PostgreSQL", () => {
  it.live("show each other's changes at once, and tell of them in their live streams", () =>
    Effect.gen(function* () {
      const database = yield* freshDatabase
      const [one, two] = yield* Effect.all([served({ database }), served({ database })])
      yield* one.client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const add = (server: typeof one, by: number, id: string) =>
        server.client.instances.send({ params: key, headers: { "idempotency-key": id }, payload: { _tag: "Add", by } })
      const count = (server: typeof one) => Effect.map(server.client.instances.get({ params: key }), ({ state }) => state["count"])
      const stream = yield* openEvents(`${two.url}/api/v1/instances/tally/one/events`)
      yield* add(one, 1, "k-1")
      assert.deepStrictEqual([yield* count(one), yield* count(two)], [1, 1])
      yield* add(two, 2, "k-2")
      assert.deepStrictEqual([yield* count(one), yield* count(two)], [3, 3])
      // The same key is the same event, whichever server it is sent to.
      yield* add(one, 2, "k-2")
      assert.strictEqual(yield* count(one), 3)
      yield* stream.until(({ id }) => id === "2")
      assert.deepStrictEqual(
        stream.events.map(({ id }) => id),
        ["1", "2"],
      )
      // A key belongs to one request on both.
      const start = (server: typeof one, id: string) =>
        server.client.instances.start({ params: { machine: "tally" }, payload: { id } }).pipe(clients.withIdempotencyKey("start-1"))
      const started = yield* start(one, "keyed")
      assert.deepStrictEqual(yield* start(two, "keyed"), started)
      assert.strictEqual((yield* Effect.flip(start(two, "other")))._tag, "Unprocessable")
      assert.strictEqual((yield* one.client.ready()).database, "Postgres")
    }),
  )

  it.live("work on batches, uploads and the graph like on SQLite", () =>
    Effect.gen(function* () {
      const database = yield* freshDatabase
      // The process that works on a batch needs its files.
      const data = yield* temporaryFolder
      const { client, url } = yield* served({ database, data })
      const other = yield* served({ database, data })
      const { batchId } = yield* client.batches.start({
        headers: { "idempotency-key": "nightly" },
        payload: { folder: corpusFolder, manifest: smallManifest as never },
      })
      // Whichever server is asked, the stream of the batch ends with it.
      const streams = yield* Effect.forEach([url, other.url], (one) => openEvents(`${one}/api/v1/batch/${batchId}/events`))
      const end = yield* Effect.repeat(client.batches.get({ params: { batchId } }), {
        until: ({ isTerminal }) => isTerminal,
        schedule: Schedule.spaced("100 millis"),
      })
      assert.strictEqual(end.state, "Completed")
      for (const { ended, events } of streams) {
        yield* ended
        assert.deepInclude(events.at(-1)?.data, { batchId, state: "Completed", isTerminal: true })
      }
      const { entities } = yield* client.knowledge.entities({ params: { namespace: "coast" as never }, query: {} })
      assert.isAbove(entities.length, 0)
      assert.deepStrictEqual((yield* client.uploads.list({ query: {} })).uploads, [])
    }),
  )
})
