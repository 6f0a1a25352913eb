/**
 * One batch of chunks: entities, then facts between them, checked, and stored together with the checkpoint that says it is
 * done. What has a checkpoint is never extracted again, whichever run of the program made it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type EntityRef, type EntityRegistry, EntityRegistryJson, emptyRegistry, register } from "../domain/EntityRegistry.ts"
import { contentHashOf } from "../domain/Identity.ts"
import type { ExtractionRun } from "../domain/Run.ts"
import type { ExtractionFailed } from "../ExtractionFailed.ts"
import type { Chunk, ExtractorService, Usage } from "../Extractor.ts"
import type { Fact, Mention } from "../Fact.ts"
import { addUsage, noUsage } from "../limit/UsageCount.ts"
import { splitByConfidence } from "../model/ReviewList.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { entityIri, factTriples, mentionTriples } from "../rdf/FactGraph.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import { writeNTriples } from "../rdf/RdfWriting.ts"
import type { InvalidTerm } from "../rdf/Term.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { prepareArtifact } from "./RunArtifacts.ts"
import type { StepResult } from "./RunRows.ts"
import { RunStore, type RunStoreFailed } from "./RunStore.ts"

export interface StepInput {
  readonly run: ExtractionRun
  readonly batchIndex: number
  readonly chunks: ReadonlyArray<Chunk>
  /** Of the chunks: see `textHashOf`. */
  readonly textHash: string
  readonly extractor: ExtractorService
  readonly ontology: OntologyIndex
}

export type StepError = ExtractionFailed | StorageError | RunStoreFailed | InvalidTerm | SortFailed

export const graphKey = (batchIndex: number) => `batch_${batchIndex}.nt`
export const entitiesKey = (batchIndex: number) => `entity_snapshot_${batchIndex}.json`
export const reviewKey = (batchIndex: number) => `review_${batchIndex}.json`

/** Tells whether a later reading of the document gave the same chunks. */
export const textHashOf = (chunks: ReadonlyArray<Chunk>): string =>
  contentHashOf(JSON.stringify(chunks.map(({ offset, text }) => [offset, text])))

export const extractStep = (input: StepInput): Effect.Effect<StepResult, StepError, RunStore | ArtifactStore> =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const { run, batchIndex, chunks } = input
    const done = yield* runs.checkpoint(run.runId, batchIndex)
    if (Option.isSome(done)) return done.value.result_json
    const found = yield* Effect.forEach(chunks, (chunk) => extractChunk(input, chunk), { concurrency: run.config.concurrency })
    const mentions = found.flatMap((one) => one.mentions)
    const facts = distinctFacts(found.flatMap((one) => one.facts))
    const { accepted, review } = splitByConfidence(facts, run.config.reviewBelow)
    const usage = found.reduce((sum, one) => addUsage(sum, one.usage), noUsage)
    const at = yield* Clock.currentTimeMillis
    const graph = yield* prepareArtifact(run.runId, graphKey(batchIndex), yield* graphText(input, mentions, accepted), at)
    const registry = registryOf(input, found)
    const entities = yield* prepareArtifact(run.runId, entitiesKey(batchIndex), Schema.encodeSync(EntityRegistryJson)(registry), at)
    const forReview = review.length === 0 ? [] : [yield* prepareArtifact(run.runId, reviewKey(batchIndex), JSON.stringify(review), at)]
    const result: StepResult = {
      chunks: chunks.length,
      textHash: input.textHash,
      entities: registry.entities.length,
      facts: accepted.length,
      forReview: review.length,
      calls: usage.calls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    }
    yield* runs.saveStep({
      artifacts: [graph, entities, ...forReview].map(({ row }) => row),
      checkpoint: {
        run_id: run.runId,
        batch_index: batchIndex,
        result_json: JSON.stringify(result),
        entity_snapshot_path: entities.path,
        entity_snapshot_hash: entities.hash,
        created_at: at,
      },
      graph: { path: graph.path, hash: graph.hash, chunks: chunks.length },
    })
    return result
  })

interface Found {
  readonly chunk: Chunk
  readonly mentions: ReadonlyArray<Mention>
  readonly facts: ReadonlyArray<Fact>
  readonly usage: Usage
}

const extractChunk = ({ extractor, ontology }: StepInput, chunk: Chunk): Effect.Effect<Found, ExtractionFailed> =>
  Effect.gen(function* () {
    const entities = yield* extractor.entities(chunk, ontology)
    const { facts, usage } = yield* extractor.facts(chunk, entities.mentions, ontology)
    return { chunk, mentions: entities.mentions, facts, usage: addUsage(entities.usage, usage) }
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

const graphText = ({ run, extractor }: StepInput, mentions: ReadonlyArray<Mention>, facts: ReadonlyArray<Fact>) => {
  const source = { documentId: run.documentId, runId: run.runId, extractor: extractor.name }
  const triples = [...mentions.flatMap((mention) => mentionTriples(mention, source)), ...factTriples(facts, source)]
  return triples.length === 0 ? Effect.succeed("") : Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
}

/** Only what this batch met: the registry is the union of all batches. */
const registryOf = ({ run }: StepInput, found: ReadonlyArray<Found>): EntityRegistry => {
  const refs = found.flatMap(({ chunk, mentions }) =>
    mentions.map(
      (mention): EntityRef => ({
        iri: entityIri(run.documentId, mention),
        label: mention.text,
        types: [mention.type],
        foundInChunk: chunk.index,
        confidence: mention.confidence,
      }),
    ),
  )
  return register(emptyRegistry, refs)
}
