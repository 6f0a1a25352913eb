import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { documentIri } from "../../src/fact/FactGraph.ts"
import { CanonicalGraph, type CanonicalGraphService, type GraphVersion } from "../../src/graph/CanonicalGraph.ts"
import { prov, rdf, vocabularies } from "../../src/rdf/Vocabulary.ts"
import { factReport } from "../../src/report/FactReport.ts"
import { type ListedFact, ReviewStore, type ReviewStoreService } from "../../src/review/ReviewStore.ts"
import { BatchId, DocumentId, RunId } from "../../src/storage/Identity.ts"

const documentId = DocumentId.make("doc-000000000001")
const batchId = BatchId.make("batch-000000000001")
const runId = RunId.make("00000000-0000-8000-a000-000000000001")
const version = { namespace: "sea", version: "1" } as GraphVersion
const count = 100_000
const numbers = Array.from({ length: count }, (_, index) => index)

const graphOf = (lines: Stream.Stream<string>): CanonicalGraphService =>
  ({
    documents: () => Effect.succeed(new Map([[documentId, { documentId, at: 1, batchId, runId }]])),
    lines: () => lines,
  }) as Partial<CanonicalGraphService> as CanonicalGraphService

const reviewsOf = (facts: ReadonlyArray<ListedFact>): ReviewStoreService =>
  ({
    list: (_batch, { limit = 0, after }) => {
      const from = after === undefined ? 0 : after.start + 1
      return Effect.succeed(facts.slice(from, from + limit))
    },
  }) as Partial<ReviewStoreService> as ReviewStoreService

const reported = (
  options: { readonly lines?: Stream.Stream<string>; readonly reviews?: ReadonlyArray<ListedFact> },
  quarantined: Parameters<typeof factReport>[1]["quarantined"] = [],
) =>
  factReport(version, { limit: 10, quarantined }).pipe(
    Effect.map(({ documents: [document] }) => document?.facts.map(({ status, start }) => ({ status, start }))),
    Effect.provideService(CanonicalGraph, graphOf(options.lines ?? Stream.empty)),
    Effect.provideService(ReviewStore, reviewsOf(options.reviews ?? [])),
  )

const expected = (status: string) => numbers.map((start) => ({ status, start }))

/** Copying the list of a document for each of its facts takes more than a minute. */
describe("the report of a document with a hundred thousand facts", () => {
  it.live("has those that are accepted", () =>
    Effect.gen(function* () {
      const linesOf = (number: number) => {
        const statement = `<urn:statement:${number}>`
        return [
          `${statement} <${rdf.type}> <${rdf.statement}> .`,
          `${statement} <${prov.wasDerivedFrom}> <${documentIri(documentId)}> .`,
          `${statement} <${vocabularies.detent}start> "${number}" .`,
        ]
      }
      const lines = Stream.flattenIterable(Stream.map(Stream.fromIterable(numbers), linesOf))
      expect(yield* reported({ lines })).toEqual(expected("accepted"))
    }),
  )

  it.live("has those that await a review", () =>
    Effect.gen(function* () {
      const reviews = numbers.map((start) => {
        const mention = { text: "Marit", type: "urn:Ferry" }
        const fact = { subject: mention, object: { _tag: "Entity", mention }, span: { start, end: start + 1 } }
        return { factId: String(start), fact: { documentId, runId, fact } } as unknown as ListedFact
      })
      expect(yield* reported({ reviews })).toEqual(expected("review"))
    }),
  )

  it.live("has those that are quarantined", () =>
    Effect.gen(function* () {
      const sources = numbers.map((start) => ({ document: documentIri(documentId), quote: "Marit", start, end: start + 1 }))
      const statement = { subject: "urn:marit", property: "urn:sails", value: "urn:naes", message: "no", shape: "urn:shape", sources }
      expect(yield* reported({}, [statement])).toEqual(expected("quarantined"))
    }),
  )
})
