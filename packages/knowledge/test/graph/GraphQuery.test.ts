import { Worker } from "node:worker_threads"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CanonicalGraph from "../../src/graph/CanonicalGraph.ts"
import { GraphQuery } from "../../src/graph/GraphQuery.ts"
import { BatchId, Namespace } from "../../src/storage/Identity.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { blobIn, StorageFolder } from "../../src/storage/Uri.ts"

const folder = StorageFolder.make("mem://graphs/")
const layer = GraphQuery.layer.pipe(
  Layer.provideMerge(CanonicalGraph.layer(folder)),
  Layer.provideMerge(Layer.effect(Storage, MemoryStorage.make)),
)

const contributed = (number: number, text: string) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const graph = yield* CanonicalGraph.CanonicalGraph
    const batchId = BatchId.make(`batch-00000000000${number}`)
    const { uri, hash } = yield* storage.set(blobIn(folder, `${batchId}.nt`), text)
    return yield* graph.contribute(Namespace.make("sea"), { batchId, uri, hash, triples: 1 })
  })

it.layer(layer, { excludeTestServices: true })("SPARQL over a graph", (it) => {
  describe("answers", () => {
    it.effect("select with rows, ask with yes or no, construct with triples", () =>
      Effect.gen(function* () {
        const { query } = yield* GraphQuery
        const version = yield* contributed(1, '<urn:a> <urn:name> "Näs" .\n')
        const selected = yield* query(version, "SELECT ?n WHERE { ?s <urn:name> ?n }")
        expect(JSON.parse(selected.body).results.bindings).toEqual([{ n: { type: "literal", value: "Näs" } }])
        expect(JSON.parse((yield* query(version, "ASK { <urn:a> ?p ?o }")).body).boolean).toBe(true)
        const constructed = yield* query(version, "PREFIX x: <urn:> # construct\nCONSTRUCT { ?s x:is ?n } WHERE { ?s x:name ?n }")
        expect(constructed).toEqual({ contentType: "application/n-triples", body: '<urn:a> <urn:is> "Näs" .\n' })
        expect((yield* query(version, "PREFIX describe: <urn:>\nSELECT ?s { ?s ?p ?o }")).contentType).toContain("json")
      }),
    )

    it.effect("from the version asked for", () =>
      Effect.gen(function* () {
        const { query } = yield* GraphQuery
        const first = yield* contributed(1, "<urn:a> <urn:is> <urn:x> .\n")
        const second = yield* contributed(2, "<urn:b> <urn:is> <urn:x> .\n")
        const count = (version: typeof first) =>
          Effect.map(query(version, "SELECT ?s { ?s <urn:is> ?x }"), ({ body }) => JSON.parse(body).results.bindings.length)
        expect([yield* count(second), yield* count(first), yield* count(second)]).toEqual([2, 1, 2])
      }),
    )
  })

  it.effect("refuses what is no query, and goes on", () =>
    Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(3, "<urn:a> <urn:is> <urn:x> .\n")
      for (const text of [
        "SELEC",
        "DROP ALL",
        "INSERT DATA { <urn:q> <urn:q> <urn:q> }",
        "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
      ])
        expect((yield* Effect.flip(query(version, text)))._tag).toBe("QueryRefused")
      expect((yield* Effect.flip(query(version, "SELECT * { ?s ?p ?o }", { maxLength: 5 })))._tag).toBe("QueryTooLarge")
      expect(JSON.parse((yield* query(version, "ASK { <urn:a> ?p ?o }")).body).boolean).toBe(true)
    }),
  )

  it.effect("leaves nothing behind on the thread that answers, however many are asked", () =>
    Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(5, "<urn:a> <urn:is> <urn:x> .\n")
      const listening = vi.spyOn(Worker.prototype, "on")
      yield* Effect.addFinalizer(() => Effect.sync(() => listening.mockRestore()))
      for (let time = 0; time < 30; time++) yield* query(version, "ASK { <urn:a> ?p ?o }")
      yield* Effect.flip(query(version, "SELEC"))
      const worker = listening.mock.contexts.at(-1) as Worker
      expect(["message", "error", "exit"].map((name) => worker.listenerCount(name))).toEqual([0, 0, 0])
    }),
  )

  it.effect("ends a query that takes too long, and answers the next", () =>
    Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const text = Array.from({ length: 400 }, (_, number) => `<urn:n${number}> <urn:is> <urn:x> .\n`).join("")
      const version = yield* contributed(4, text)
      const endless = "SELECT (COUNT(*) AS ?c) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"
      expect((yield* Effect.flip(query(version, endless, { timeout: "500 millis" })))._tag).toBe("QueryTimedOut")
      expect(JSON.parse((yield* query(version, "ASK { <urn:n1> ?p ?o }")).body).boolean).toBe(true)
    }),
  )
})
