import { MemoryStorage } from "@detent/blobs"
import { blobIn, Storage, StorageFolder } from "@detent/blobs/Storage"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Fact, Mention } from "../../src/fact/Fact.ts"
import { entityIri, factTriples } from "../../src/fact/FactGraph.ts"
import * as CanonicalGraph from "../../src/graph/CanonicalGraph.ts"
import { GraphFacts, type Page } from "../../src/graph/GraphFacts.ts"
import { GraphQuery, type QueryError } from "../../src/graph/GraphQuery.ts"
import { writeNTriples } from "../../src/rdf/Turtle.ts"
import { BatchId, DocumentId, Namespace, RunId } from "../../src/storage/Identity.ts"

const base = "https://example.org/sea#"
const document = DocumentId.make("doc-000000000001")
const source = { documentId: document, runId: RunId.make("00000000-0000-8000-a000-000000000001"), extractor: "test" }
const text = "Marit, built in 1984, sails to Näs. The ferry Orion sails to Näs too."

const mention = (type: string, name: string): Mention => ({
  type: base + type,
  text: name,
  span: { start: text.indexOf(name), end: text.indexOf(name) + name.length },
  confidence: 1,
})
const [marit, orion, port] = [mention("Ferry", "Marit"), mention("Ferry", "Orion"), mention("Port", "Näs")]
const quoted = (quote: string) => ({ quote, span: { start: text.indexOf(quote), end: text.indexOf(quote) + quote.length } })
const facts: ReadonlyArray<Fact> = [
  {
    subject: marit,
    property: `${base}sailsTo`,
    object: { _tag: "Entity", mention: port },
    confidence: 0.9,
    ...quoted("Marit, built in 1984, sails to Näs"),
  },
  {
    subject: marit,
    property: `${base}built`,
    object: {
      _tag: "Value",
      text: "1984",
      lexical: "1984",
      datatype: "http://www.w3.org/2001/XMLSchema#gYear",
      span: { start: 16, end: 20 },
    },
    confidence: 0.8,
    ...quoted("Marit, built in 1984"),
  },
  {
    subject: orion,
    property: `${base}sailsTo`,
    object: { _tag: "Entity", mention: port },
    confidence: 0.7,
    ...quoted("Orion sails to Näs"),
  },
]
const iri = (one: Mention) => entityIri(document, one)

const folder = StorageFolder.make("mem://graphs/")
const layer = GraphFacts.layer.pipe(
  Layer.provideMerge(GraphQuery.layer),
  Layer.provideMerge(CanonicalGraph.layer(folder)),
  Layer.provideMerge(Layer.effect(Storage, MemoryStorage.make)),
)

const contributed = (number: number, runId: RunId) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const graph = yield* CanonicalGraph.CanonicalGraph
    const lines = yield* Stream.mkString(writeNTriples(Stream.fromIterable(factTriples(facts, { ...source, runId }))))
    const batchId = BatchId.make(`batch-00000000000${number}`)
    const { uri, hash } = yield* storage.set(blobIn(folder, `${batchId}.nt`), lines)
    return yield* graph.contribute(Namespace.make("sea"), { batchId, uri, hash, triples: 1 })
  })

const version = Effect.andThen(
  contributed(1, source.runId),
  // Read by another batch too: the same facts at the same places, from another run.
  contributed(2, RunId.make("00000000-0000-8000-a000-000000000002")),
)

/** Page by page, one at a time. */
const everything = <Item>(page: (after: { readonly after?: string }) => Effect.Effect<Page<Item>, QueryError>) =>
  Effect.gen(function* () {
    const items: Array<Item> = []
    for (let after: { readonly after?: string } | undefined = {}; after !== undefined; ) {
      const one: Page<Item> = yield* page(after)
      expect(one.items.length).toBeLessThanOrEqual(1)
      items.push(...one.items)
      after = one.next === undefined ? undefined : { after: one.next }
    }
    return items
  })

it.layer(layer, { excludeTestServices: true })("who looks at a graph", (it) => {
  it.effect("finds entities by a part of a name and by class, page by page", () =>
    Effect.gen(function* () {
      const graph = yield* GraphFacts
      const current = yield* version
      const all = yield* graph.entities(current)
      expect(all.items.map(({ label }) => label).sort()).toEqual(["Marit", "Näs", "Orion"])
      expect(all.next).toBeUndefined()
      expect((yield* graph.entities(current, { search: "NÄ" })).items).toEqual([
        { iri: iri(port), label: "Näs", otherLabels: [], types: [`${base}Port`] },
      ])
      const ferries = yield* everything((after) => graph.entities(current, { type: `${base}Ferry`, limit: 1, ...after }))
      expect(ferries.map(({ iri }) => iri)).toEqual([iri(marit), iri(orion)].sort())
    }),
  )

  it.effect("sees the relations from and to an entity, each once, with how sure they are", () =>
    Effect.gen(function* () {
      const graph = yield* GraphFacts
      const current = yield* version
      const ofPort = yield* everything((after) => graph.relations(current, { entity: iri(port), limit: 1, ...after }))
      expect(ofPort.map(({ subject, confidence, witnesses }) => [subject.label, confidence, witnesses]).sort()).toEqual([
        ["Marit", 0.9, 1],
        ["Orion", 0.7, 1],
      ])
      expect(ofPort[0]).toMatchObject({ property: `${base}sailsTo`, object: { _tag: "Entity", iri: iri(port), label: "Näs" } })
      expect((yield* graph.relations(current, { property: `${base}built` })).items).toEqual([
        {
          subject: { iri: iri(marit), label: "Marit" },
          property: `${base}built`,
          object: { _tag: "Value", text: "1984", datatype: "http://www.w3.org/2001/XMLSchema#gYear" },
          confidence: 0.8,
          witnesses: 1,
        },
      ])
      expect((yield* everything((after) => graph.relations(current, { limit: 1, ...after }))).length).toBe(3)
    }),
  )

  it.effect("is shown the very words a fact rests on", () =>
    Effect.gen(function* () {
      const graph = yield* GraphFacts
      const current = yield* version
      const found = yield* everything((after) => graph.factsOf(current, iri(marit), { limit: 1, ...after }))
      expect(found).toHaveLength(2)
      for (const { start, end, quote, documentId, runId, extractor } of found) {
        expect(text.slice(start, end)).toBe(quote)
        expect({ documentId, runId, extractor }).toEqual(source)
      }
      expect(found.map(({ property, confidence }) => [property, confidence]).sort()).toEqual([
        [`${base}built`, 0.8],
        [`${base}sailsTo`, 0.9],
      ])
    }),
  )

  it.effect("gets an error for a malformed cursor", () =>
    Effect.gen(function* () {
      const graph = yield* GraphFacts
      const refused = yield* Effect.flip(graph.relations(yield* version, { after: "garbage" }))
      expect(refused.message).toContain("the cursor of the page is malformed")
    }),
  )

  it.effect("cannot smuggle a query into what is asked for", () =>
    Effect.gen(function* () {
      const graph = yield* GraphFacts
      const current = yield* version
      expect((yield* Effect.flip(graph.factsOf(current, "urn:x> ?p ?o } #")))._tag).toBe("QueryRefused")
      expect((yield* graph.entities(current, { search: '"))) } #' })).items).toEqual([])
    }),
  )
})
