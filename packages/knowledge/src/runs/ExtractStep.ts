/**
 * One batch of chunks: what it says, stored together with the checkpoint that says it is done. What has a checkpoint is never
 * extracted again, whichever run of the program made it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Chunk } from "../extract/Extractor.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { contentHashOf } from "../storage/Identity.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { findInChunks } from "./ChunkFindings.ts"
import type { Equipment } from "./Extractors.ts"
import type { ExtractionRun } from "./Run.ts"
import { prepareArtifact } from "./RunArtifacts.ts"
import { entitiesKey, graphKey, reviewKey, type StepResult } from "./RunRows.ts"
import type { RunStep } from "./RunStore.ts"

export interface StepInput extends Equipment {
  readonly run: ExtractionRun
  readonly batchIndex: number
  readonly chunks: ReadonlyArray<Chunk>
  /** Of the chunks: see `textHashOf`. */
  readonly textHash: string
}

/** A finished batch of chunks, to be stored. */
export interface FinishedStep {
  readonly result: StepResult
  readonly step: RunStep
}

export type StepError = Effect.Error<ReturnType<typeof findInChunks>> | StorageError

/** Tells whether a later reading of the document gave the same chunks. */
export const textHashOf = (chunks: ReadonlyArray<Chunk>): string =>
  contentHashOf(JSON.stringify(chunks.map(({ offset, text }) => [offset, text])))

/** Its large artifacts are in their files when this returns; the rest is the caller's to store. */
export const extractStep = (input: StepInput): Effect.Effect<FinishedStep, StepError, ArtifactStore> =>
  Effect.gen(function* () {
    const { run, batchIndex, chunks, extractor, ontology } = input
    const { concurrency, reviewBelow } = run.config
    const source = { documentId: run.documentId, runId: run.runId, extractor: extractor.name }
    const found = yield* findInChunks({ chunks, extractor, ontology, source, concurrency, reviewBelow })
    const { registry, review, usage } = found
    const at = yield* Clock.currentTimeMillis
    const graph = yield* prepareArtifact(run.runId, graphKey(batchIndex), found.graph, at)
    const entities = yield* prepareArtifact(run.runId, entitiesKey(batchIndex), JSON.stringify(registry), at)
    const forReview = review.length === 0 ? [] : [yield* prepareArtifact(run.runId, reviewKey(batchIndex), JSON.stringify(review), at)]
    const result: StepResult = {
      chunks: chunks.length,
      textHash: input.textHash,
      entities: registry.entities.length,
      facts: found.facts.length,
      forReview: review.length,
      calls: usage.calls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    }
    const step: RunStep = {
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
    }
    return { result, step }
  })
