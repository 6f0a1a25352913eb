/**
 * What a batch of chunks says: entities, then facts between them, checked, as a graph and as a registry. Nothing of it is
 * stored here, so that it can be had without a run too.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ExtractionFailed } from "../extract/ExtractionFailed.ts"
import type { Chunk, ExtractorService, KnownEntity, Usage } from "../extract/Extractor.ts"
import { type Fact, type Mention, splitByConfidence } from "../extract/Fact.ts"
import { addUsage, noUsage } from "../extract/model/Cost.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { entityIri, type FactSource, factTriples, mentionTriples } from "../rdf/FactGraph.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import { writeNTriples } from "../rdf/RdfWriting.ts"
import type { InvalidTerm } from "../rdf/Term.ts"
import { type EntityRef, type EntityRegistry, emptyRegistry, register } from "./EntityRegistry.ts"
import type { ModelAnswers } from "./ModelAnswers.ts"
import type { RunStoreFailed } from "./RunStoreFailed.ts"

export interface FindingInput {
  readonly chunks: ReadonlyArray<Chunk>
  readonly extractor: ExtractorService
  readonly ontology: OntologyIndex
  /** Of the graph. */
  readonly source: FactSource
  /** How many chunks are worked on at once. */
  readonly concurrency: number
  /** Facts less sure than this go to the review list. */
  readonly reviewBelow: number
  /** Entities that earlier chunks of the document named. */
  readonly known?: ReadonlyArray<KnownEntity>
  /** Of an extractor that is paid. */
  readonly answers?: ModelAnswers
}

export interface ChunkFindings {
  /** Sorted lines of N-Triples, each once. */
  readonly graph: string
  readonly facts: ReadonlyArray<Fact>
  readonly review: ReturnType<typeof splitByConfidence>["review"]
  /** Only what these chunks met: the registry of a document is the union over its batches. */
  readonly registry: EntityRegistry
  readonly usage: Usage
}

export type FindingError = ExtractionFailed | InvalidTerm | SortFailed | RunStoreFailed

export const findInChunks = (input: FindingInput): Effect.Effect<ChunkFindings, FindingError> =>
  Effect.gen(function* () {
    const found = yield* Effect.forEach(input.chunks, (chunk) => readChunk(input, chunk), { concurrency: input.concurrency })
    const { accepted, review } = splitByConfidence(distinctFacts(found.flatMap((one) => one.facts)), input.reviewBelow)
    return {
      graph: yield* graphText(
        input,
        found.flatMap((one) => one.mentions),
        accepted,
      ),
      facts: accepted,
      review,
      registry: registryOf(input, found),
      usage: found.reduce((sum, one) => addUsage(sum, one.usage), noUsage),
    }
  })

interface Found {
  readonly chunk: Chunk
  readonly mentions: ReadonlyArray<Mention>
  readonly facts: ReadonlyArray<Fact>
  readonly usage: Usage
}

const readChunk = (input: FindingInput, chunk: Chunk): Effect.Effect<Found, ExtractionFailed | RunStoreFailed> =>
  Effect.gen(function* () {
    const { extractor, ontology, known = [], answers } = input
    const finding = extractor.entities(chunk, ontology, known)
    const { mentions, usage } = yield* answers === undefined ? finding : answers.entities(chunk, [ontology.hash, known], finding)
    const stating = extractor.facts(chunk, mentions, ontology)
    const stated = yield* answers === undefined ? stating : answers.facts(chunk, [ontology.hash, mentions], stating)
    return { chunk, mentions, facts: stated.facts, usage: addUsage(usage, stated.usage) }
  })

/** Chunks overlap: what stands in the overlap is found twice, and counts once. */
const distinctFacts = (facts: ReadonlyArray<Fact>): ReadonlyArray<Fact> => {
  const byPlace = new Map<string, Fact>()
  for (const fact of facts) {
    const object = fact.object._tag === "Entity" ? fact.object.mention.span : fact.object.span
    const key = [fact.subject.span.start, fact.subject.type, fact.property, object.start, object.end].join(" ")
    const known = byPlace.get(key)
    if (known === undefined || fact.confidence > known.confidence) byPlace.set(key, fact)
  }
  return [...byPlace.values()]
}

const graphText = ({ source }: FindingInput, mentions: ReadonlyArray<Mention>, facts: ReadonlyArray<Fact>) => {
  const triples = [...mentions.flatMap((mention) => mentionTriples(mention, source)), ...factTriples(facts, source)]
  return triples.length === 0 ? Effect.succeed("") : Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
}

const registryOf = ({ source }: FindingInput, found: ReadonlyArray<Found>): EntityRegistry => {
  const refs = found.flatMap(({ chunk, mentions }) =>
    mentions.map(
      (mention): EntityRef => ({
        iri: entityIri(source.documentId, mention),
        label: mention.name ?? mention.text,
        types: [mention.type],
        foundInChunk: chunk.index,
        confidence: mention.confidence,
      }),
    ),
  )
  return register(emptyRegistry, refs)
}
