import { cp, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as clients from "@detent/api/client"
import { StorageFolder } from "@detent/blobs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { openEvents } from "../support/eventStream.ts"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { corpus, request, served, temporaryFolder, useServed } from "../support/served.ts"

const shared = useServed()

/** An instance of the test's own, and the address of its events. */
const startTally = (id: string) =>
  Effect.gen(function* () {
    const { client, url } = yield* shared
    yield* client.instances.start({ params: { machine: "tally" }, payload: { id } })
    const send = (payload: { readonly _tag: string } & Readonly<Record<string, string | number>>) =>
      client.instances.send({ params: { machine: "tally", id }, headers: {}, payload })
    return {
      add: (by: number) => send({ _tag: "Add", by }),
      close: send({ _tag: "Close" }),
      address: `${url}/api/v1/instances/tally/${id}/events`,
    }
  })

/** So many that a batch of them does not end before it is cancelled. */
const manyDocuments = Effect.gen(function* () {
  const documents = yield* temporaryFolder
  const text = yield* Effect.promise(() => readFile(join(corpus, "documents/ada-sol.txt"), "utf8"))
  yield* Effect.promise(() => cp(join(corpus, "ontology.ttl"), join(documents, "ontology.ttl")))
  const names = Array.from({ length: 300 }, (_, index) => `${index}.txt`)
  for (const name of names) yield* Effect.promise(() => writeFile(join(documents, name), `${text}\n\n${name}\n`))
  const manifest = { targetNamespace: "coast", ontology: "ontology.ttl", documents: names.map((source) => ({ source })) } as never
  return { documents, start: { folder: StorageFolder.make(`${pathToFileURL(documents).href}/`), manifest } }
})

describe("live streams of an instance", () => {
  it.live("tell of every event it takes, and a stream that broke off resumes where it was", () =>
    Effect.gen(function* () {
      const { add, address } = yield* startTally("broken")
      yield* add(1)
      const broken = yield* Scope.make()
      const first = yield* Scope.provide(openEvents(address), broken)
      assert.strictEqual(first.response.headers["content-type"], "text/event-stream")
      yield* add(2)
      const seen = yield* first.until(({ id }) => id === "2")
      assert.deepStrictEqual([seen.event, seen.data.event, seen.data.sequence], ["event", "Add", 2])
      yield* Scope.close(broken, Exit.void)
      for (const by of [3, 4, 5]) yield* add(by)
      const second = yield* openEvents(address, { "last-event-id": seen.id })
      yield* second.until(({ id }) => id === "5")
      yield* add(6)
      yield* second.until(({ id }) => id === "6")
      assert.deepStrictEqual(
        second.events.map(({ id }) => id),
        ["3", "4", "5", "6"],
      )
    }),
  )

  it.live("end with the instance, and a client that reconnects then gets 204", () =>
    Effect.gen(function* () {
      const { add, close, address } = yield* startTally("ended")
      const stream = yield* openEvents(address)
      yield* add(1)
      yield* close
      yield* stream.ended
      assert.deepStrictEqual(
        stream.events.map(({ id, data }) => [id, data.event]),
        [
          ["1", "Add"],
          ["2", "Close"],
        ],
      )
      const missed = yield* openEvents(address, { "last-event-id": "1" })
      yield* missed.ended
      assert.deepStrictEqual(
        missed.events.map(({ id }) => id),
        ["2"],
      )
      for (const headers of [{ "last-event-id": "2" }, {}]) assert.strictEqual((yield* request(address, { headers })).status, 204)
    }),
  )

  it.live("tell all of a long history to who asks from the beginning, in order and once", () =>
    Effect.gen(function* () {
      const { add, address } = yield* startTally("long")
      yield* Effect.forEach(
        Array.from({ length: 700 }, (_, index) => index + 1),
        add,
        { concurrency: 64, discard: true },
      )
      const stream = yield* openEvents(address, { "last-event-id": "0" })
      yield* stream.until(({ id }) => id === "700")
      assert.deepStrictEqual(
        stream.events.map(({ id }) => Number(id)),
        Array.from({ length: 700 }, (_, index) => index + 1),
      )
    }),
  )

  it.live("are not opened for an instance that is not there, nor from a place that is none", () =>
    Effect.gen(function* () {
      const { url } = yield* shared
      const unknown = yield* request(`${url}/api/v1/instances/tally/nobody/events`)
      assert.deepStrictEqual([unknown.status, unknown.type], [404, "application/problem+json"])
      const misplaced = yield* request(`${url}/api/v1/instances/tally/nobody/events`, { headers: { "last-event-id": "latest" } })
      assert.strictEqual(misplaced.status, 400)
    }),
  )

  it.live("cost nothing for a reader that stops reading, and do not hold up the others", () =>
    Effect.gen(function* () {
      const { add, address } = yield* startTally("unread")
      const stopped = yield* Effect.all(Array.from({ length: 20 }, () => openEvents(address)))
      for (const { response } of stopped) response.pause()
      const reading = yield* openEvents(address)
      const before = process.memoryUsage().external
      yield* Effect.forEach(
        Array.from({ length: 1500 }, (_, index) => index + 1),
        add,
        { concurrency: 64, discard: true },
      )
      yield* reading.until(({ id }) => id === "1500")
      // What is there for all of them is there once.
      assert.isBelow(process.memoryUsage().external - before, 20_000_000)
      // Who continues reading gets all of it.
      const [late] = stopped
      late?.response.resume()
      yield* late?.until(({ id }) => id === "1500") ?? Effect.void
      assert.strictEqual(late?.events.length, 1500)
    }),
  )
})

describe("live streams of a batch", () => {
  it.live("begin with where it stands, tell whatever it tells, and continue after Last-Event-ID", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest: smallManifest as never } })
      const address = `${url}/api/v1/batch/${batchId}/events`
      const [one, two] = yield* Effect.all([openEvents(address), openEvents(address)])
      for (const { until, ended, events } of [one, two]) {
        yield* until(({ event }) => event === "BatchCompleted")
        // Opened while it ran, they end by themselves, and tell last how it ended.
        yield* ended
        assert.deepStrictEqual([events.at(-2)?.event, events.at(-1)?.event], ["BatchCompleted", "status"])
        assert.deepInclude(events.at(-1)?.data, { batchId, state: "Completed", isTerminal: true })
      }
      assert.strictEqual(one.events[0]?.event, "status")
      assert.strictEqual(one.events[0]?.data.batchId, batchId)
      const again = yield* openEvents(address, { "last-event-id": "0" })
      yield* again.until(({ event }) => event === "BatchCompleted")
      yield* again.ended
      assert.deepInclude(again.events.at(-1)?.data, { batchId, state: "Completed", isTerminal: true })
      const finished = yield* openEvents(address)
      yield* finished.ended
      assert.deepStrictEqual(
        finished.events.map(({ event, data }) => [event, data.state]),
        [["status", "Completed"]],
      )
      // A browser comes back by itself to a stream that ended, unless it gets 204.
      for (const { events } of [one, again, finished]) {
        const back = yield* request(address, { headers: { "last-event-id": events.at(-1)?.id ?? "" } })
        assert.deepStrictEqual([back.status, back.text], [204, ""])
      }
      const tags = again.events.map(({ event }) => event)
      assert.strictEqual(tags[0], "BatchCreated")
      assert.deepStrictEqual(tags.filter((tag) => tag === "DocumentCompleted").length, 2)
      const ids = again.events.map(({ id }) => Number(id))
      assert.deepStrictEqual(
        ids,
        [...ids].sort((a, b) => a - b),
      )
      // What the live readers saw is what the log has, but for progress of which only the latest is kept.
      const told = new Set(again.events.map(({ id }) => id))
      for (const { id, event } of one.events.slice(1, -1)) assert.isTrue(told.has(id) || event === "StageProgress", event)
    }),
  )

  it.live("end with a batch that is cancelled, and continue with it when it is set going again", () =>
    Effect.gen(function* () {
      const { documents, start } = yield* manyDocuments
      const { client, url } = yield* served({ readable: [documents] })
      const { batchId } = yield* client.batches.start({ headers: {}, payload: start })
      const address = `${url}/api/v1/batch/${batchId}/events`
      const params = { batchId }
      const first = yield* openEvents(address)
      yield* client.batches.cancel({ params })
      yield* first.ended
      const [cancelled, end] = first.events.slice(-2)
      assert.deepInclude(cancelled?.data, { error: "cancelled" })
      assert.deepInclude(end?.data, { state: "Cancelled", isTerminal: true })
      const headers = { "last-event-id": end?.id ?? "" }
      assert.strictEqual((yield* request(address, { headers })).status, 204)
      yield* client.batches.resume({ params })
      const second = yield* openEvents(address, headers)
      const all = yield* openEvents(address, { "last-event-id": "0" })
      yield* second.until(({ event }) => event === "DocumentStarted")
      yield* all.until(({ event }) => event === "BatchFailed")
      yield* client.batches.cancel({ params })
      yield* second.ended
      yield* all.ended
      for (const { events } of [second, all]) assert.deepInclude(events.at(-1)?.data, { state: "Cancelled", isTerminal: true })
      // The end of the first time was not an end to who read all of it.
      assert.strictEqual(all.events.filter(({ event }) => event === "BatchFailed").length, 2)
    }),
  )

  it.live("do not end before all events were sent, though the batch has ended", () =>
    Effect.gen(function* () {
      const { client, url } = yield* shared
      // Commands publish the events of a batch's stages.
      yield* client.commands.pause({ params: { queue: "batch" } })
      const { batchId } = yield* client.batches.start({
        headers: {},
        payload: { folder: corpusFolder, manifest: { ...smallManifest, targetNamespace: "paused" } as never },
      })
      yield* Effect.repeat(client.batches.get({ params: { batchId } }), {
        until: ({ isTerminal }) => isTerminal,
        schedule: Schedule.spaced("20 millis"),
      })
      const address = `${url}/api/v1/batch/${batchId}/events`
      const stream = yield* openEvents(address, { "last-event-id": "0" })
      const created = yield* stream.until(({ event }) => event === "BatchCreated")
      const later = yield* openEvents(address, { "last-event-id": created.id })
      const latest = yield* openEvents(address, { "last-event-id": "999999" })
      yield* later.until(({ event }) => event === "DocumentCompleted")
      yield* Effect.sleep("300 millis")
      for (const { response } of [stream, later, latest]) assert.isFalse(response.readableEnded)
      yield* client.commands.resume({ params: { queue: "batch" } })
      for (const { events, ended } of [stream, later, latest]) {
        yield* ended
        assert.deepStrictEqual(
          events.slice(-2).map(({ event }) => event),
          ["BatchCompleted", "status"],
        )
      }
    }),
  )

  it.live("come to their end when the server is stopped", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { client, url } = yield* Scope.provide(served(), scope)
      yield* client.instances.start({ params: { machine: "tally" }, payload: { id: "one" } })
      const stream = yield* openEvents(`${url}/api/v1/instances/tally/one/events`)
      yield* Scope.close(scope, Exit.void)
      yield* stream.ended
    }),
  )

  it.live("come to their end when the server is stopped, as procedures too, over HTTP and WebSocket", () =>
    Effect.gen(function* () {
      const { documents, start } = yield* manyDocuments
      const scope = yield* Scope.make()
      // It would wait for them for longer than this test may take.
      const { url } = yield* Scope.provide(
        served({
          readable: [documents],
          serve: { limits: { stopTimeout: "10 minutes" } },
          knowledge: { workflow: { drainTimeout: "1 second" } },
        }),
        scope,
      )
      const http = yield* clients.makeRpcClient({ url })
      const socket = yield* clients.makeRpcSocketClient({ url })
      const { batchId } = yield* http.batch_start(start)
      const watching = yield* Effect.forEach([http, socket], (client) =>
        Effect.gen(function* () {
          const begun = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            Effect.exit(Stream.runForEach(client.batch_streamProgress({ batchId }), () => Deferred.succeed(begun, undefined))),
          )
          yield* Deferred.await(begun)
          return fiber
        }),
      )
      yield* Scope.close(scope, Exit.void)
      const [overHttp] = watching
      if (overHttp !== undefined) yield* Fiber.join(overHttp)
    }),
  )
})
