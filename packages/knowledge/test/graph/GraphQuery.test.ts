import { MemoryStorage } from "@detent/blobs"
import { blobIn, Storage, StorageFolder } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as CanonicalGraph from "../../src/graph/CanonicalGraph.ts"
import { GraphQuery } from "../../src/graph/GraphQuery.ts"
import { BatchId, Namespace } from "../../src/storage/Identity.ts"
import type { ContentLimitOptions } from "../../src/threads/WorkerPool.ts"

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

  it.effect("refuses what is not a query, and continues", () =>
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

const number = (count: number) => Array.from({ length: count }, (_, at) => `<urn:n${at}> <urn:is> <urn:x> .\n`).join("")
const endless = "SELECT (COUNT(*) AS ?c) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }"

/** Queries over a graph whose lines come as `lines` says, with a count of how often they were read. */
const watched = (
  limits: ContentLimitOptions,
  lines: (one: Stream.Stream<string, never>) => Stream.Stream<string, never> = (one) => one,
) => {
  const loads = { count: 0 }
  const graph = Layer.effect(
    CanonicalGraph.CanonicalGraph,
    Effect.map(CanonicalGraph.make(folder), (service) => ({
      ...service,
      lines: (version: CanonicalGraph.GraphVersion) =>
        Stream.suspend(() => {
          loads.count++
          return lines(Stream.orDie(service.lines(version)))
        }),
    })),
  )
  const layer = GraphQuery.layerWith(limits).pipe(Layer.provideMerge(graph), Layer.provideMerge(Layer.effect(Storage, MemoryStorage.make)))
  return { loads, layer }
}

describe("a query that costs too much", () => {
  it.live("ends at its time limit while others are answered, and no graph is loaded again for them", () => {
    const { loads, layer } = watched({})
    return Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(1, number(400))
      const slow = yield* Effect.forkChild(Effect.flip(query(version, endless, { timeout: "2 seconds" })))
      const quick = query(version, "ASK { <urn:n1> ?p ?o }", { isFixed: true })
      yield* quick
      const loadsBefore = loads.count
      expect((yield* Fiber.join(slow))._tag).toBe("QueryTimedOut")
      yield* quick
      // The one that ended is loaded again in the background.
      expect(loads.count - loadsBefore).toBeLessThanOrEqual(1)
      expect(JSON.parse((yield* query(version, "ASK { <urn:n1> ?p ?o }")).body).boolean).toBe(true)
    }).pipe(Effect.provide(layer))
  })

  it.live("is charged for the loading of its graph", () => {
    const { layer } = watched({}, (lines) => Stream.tap(lines, () => Effect.sleep("1 second")))
    return Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(1, number(400))
      const error = yield* Effect.flip(query(version, "ASK { ?s ?p ?o }", { timeout: "500 millis" }))
      expect(error._tag).toBe("QueryTimedOut")
    }).pipe(Effect.provide(layer))
  })

  it.live("ends at its memory limit, with a reason and the next step", () => {
    const { layer } = watched({ query: { memory: 300 } })
    return Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(1, number(3000))
      const error = yield* Effect.flip(query(version, "SELECT * { ?a ?p ?b . ?c ?q ?d } ORDER BY ?a ?c"))
      expect(error._tag).toBe("QueryMemoryExceeded")
      expect(error.message).toMatch(/more than 300 MB of memory.*LIMIT/)
      expect(JSON.parse((yield* query(version, "ASK { <urn:n1> ?p ?o }")).body).boolean).toBe(true)
    }).pipe(Effect.provide(layer))
  })

  it.live("by the depth of its text is refused, and the next is answered", () => {
    const { layer } = watched({})
    return Effect.gen(function* () {
      const { query } = yield* GraphQuery
      const version = yield* contributed(1, number(10))
      const deep = [
        `SELECT * ${"{".repeat(800)} ?s ?p ?o ${"}".repeat(800)}`,
        `SELECT * { ?s ?p ?o FILTER(${"(".repeat(5000)}1${")".repeat(5000)}) }`,
        `SELECT * { ?s ?p ?o FILTER(${"!".repeat(50_000)}true) }`,
        `SELECT * { ?s ${"^".repeat(50_000)}<urn:is> ?o }`,
        `SELECT * { ?s ?p ?o FILTER(${"1+".repeat(40_000)}1 > 0) }`,
      ]
      for (const text of deep) {
        const error = yield* Effect.flip(query(version, text))
        expect(error._tag).toBe("QueryRefused")
        expect(JSON.parse((yield* query(version, "ASK { <urn:n1> ?p ?o }")).body).boolean).toBe(true)
      }
    }).pipe(Effect.provide(layer))
  })
})
