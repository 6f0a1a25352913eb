/**
 * One batch of chunks: what it says, stored together with the checkpoint that says it is done. What has a checkpoint is never
 * extracted again, whichever run of the program made it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Chunk, KnownEntity } from "../extract/Extractor.ts"
import { statementOf } from "../rdf/FactGraph.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { contentHashOf } from "../storage/Identity.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { type FindingError, findInChunks } from "./ChunkFindings.ts"
import type { EntityRef, EntityRegistry } from "./EntityRegistry.ts"
import type { Equipment } from "./Extractors.ts"
import { loadAnswers } from "./ModelAnswers.ts"
import type { ExtractionRun } from "./Run.ts"
import { prepareArtifact } from "./RunArtifacts.ts"
import { contentKey, entitiesKey, graphKey, reviewKey, type StepResult } from "./RunRows.ts"
import type { RunStep, RunStore } from "./RunStore.ts"

export interface StepInput extends Equipment {
  readonly run: ExtractionRun
  readonly batchIndex: number
  readonly chunks: ReadonlyArray<Chunk>
  /** Of the chunks: see `textHashOf`. */
  readonly textHash: string
  /** Entities that earlier chunks of the document named. */
  readonly known?: ReadonlyArray<KnownEntity>
  /** The text of the document from the end of the batch before to the end of this one. */
  readonly text: string
  /** Statements of the batches before, with where they end: what the overlap of two batches states counts once. */
  readonly earlier: ReadonlyMap<string, number>
  /** Entities of the batches before, by `metAs`: an entity counts once in a document. */
  readonly met: ReadonlySet<string>
}

/** A finished batch of chunks, to be stored. */
export interface FinishedStep {
  readonly result: StepResult
  readonly step: RunStep
  /** The entities of these chunks. */
  readonly registry: EntityRegistry
  /** Statements that a later batch may find again, with where they end. */
  readonly statements: ReadonlyMap<string, number>
}

export type StepError = FindingError | StorageError

/** The part of an entity's IRI that tells it from others of its document. */
export const metAs = ({ iri }: EntityRef): string => iri.slice(iri.lastIndexOf(":") + 1)

/** Tells whether a later reading of the document gave the same chunks. */
export const textHashOf = (chunks: ReadonlyArray<Chunk>): string =>
  contentHashOf(JSON.stringify(chunks.map(({ offset, text }) => [offset, text])))

/** Its large artifacts are in their files when this returns; the rest is the caller's to store. */
export const extractStep = (input: StepInput): Effect.Effect<FinishedStep, StepError, ArtifactStore | RunStore> =>
  Effect.gen(function* () {
    const { run, batchIndex, chunks, extractor, ontology, known = [] } = input
    const { concurrency, reviewBelow } = run.config
    const language = chunks[0]?.language
    const source = {
      documentId: run.documentId,
      runId: run.runId,
      extractor: extractor.name,
      ...(language === undefined ? {} : { language }),
    }
    const answers = extractor.isPaid === true ? { answers: yield* loadAnswers(run.runId, extractor.name, chunks) } : {}
    const found = yield* findInChunks({ chunks, extractor, ontology, source, concurrency, reviewBelow, known, ...answers })
    const { registry, usage } = found
    // What an earlier batch of chunks states is in the graph.
    const review = found.review.filter((fact) => !input.earlier.has(statementOf(fact, source)))
    const statements = new Map(found.facts.map((fact) => [statementOf(fact, source), fact.span.end]))
    const at = yield* Clock.currentTimeMillis
    const graph = yield* prepareArtifact(run.runId, graphKey(batchIndex), found.graph, at)
    const entities = yield* prepareArtifact(run.runId, entitiesKey(batchIndex), JSON.stringify(registry), at)
    const content = yield* prepareArtifact(run.runId, contentKey(batchIndex), input.text, at)
    const forReview =
      review.length === 0
        ? []
        : [
            yield* prepareArtifact(
              run.runId,
              reviewKey(batchIndex),
              JSON.stringify(review.map((fact) => ({ ...fact, extractor: extractor.name }))),
              at,
            ),
          ]
    const result: StepResult = {
      chunks: chunks.length,
      textHash: input.textHash,
      entities: registry.entities.filter((entity) => !input.met.has(metAs(entity))).length,
      facts: [...statements.keys()].filter((statement) => !input.earlier.has(statement)).length,
      forReview: review.length,
      calls: usage.calls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    }
    const step: RunStep = {
      artifacts: [graph, entities, content, ...forReview].map(({ row }) => row),
      checkpoint: {
        run_id: run.runId,
        batch_index: batchIndex,
        result_json: JSON.stringify(result),
        entity_snapshot_path: entities.path,
        entity_snapshot_hash: entities.hash,
        created_at: at,
      },
      graph: { path: graph.path, hash: graph.hash, chunks: chunks.length },
      ...(extractor.isPaid === true ? { answered: { first: chunks[0]?.index ?? 0, last: chunks.at(-1)?.index ?? 0 } } : {}),
    }
    return { result, step, registry, statements: new Map([...input.earlier, ...statements]) }
  })
