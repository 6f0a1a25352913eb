/**
 * The extraction of one document as an Effect workflow: the document is read and cut as a stream, and each batch of chunks is
 * an activity. Reading again after a crash is cheap; a batch that is stored is not extracted again.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Activity from "effect/unstable/workflow/Activity"
import * as Workflow from "effect/unstable/workflow/Workflow"
import type { WorkflowEngine } from "effect/unstable/workflow/WorkflowEngine"
import { chunkStream } from "../chunk/Chunking.ts"
import { RunId } from "../domain/Identity.ts"
import { Count } from "../domain/Quantity.ts"
import type { ExtractionRun, RunStatus } from "../domain/Run.ts"
import { StorageUri } from "../domain/Uri.ts"
import type { Chunk } from "../Extractor.ts"
import { streamDocument } from "../read/DocumentReader.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { Storage } from "../storage/Storage.ts"
import { Extractors } from "./Extractors.ts"
import { extractStep, textHashOf } from "./ExtractStep.ts"
import { DocumentChanged, RunFailed, runFailed } from "./RunFailed.ts"
import { foundCounts, StepResult } from "./RunRows.ts"
import { RunStore } from "./RunStore.ts"

/** What a whole run found. */
export const RunResult = Schema.Struct({ runId: RunId, batches: Count, ...foundCounts })
export type RunResult = typeof RunResult.Type

export const ExtractionWorkflow = Workflow.make("extraction", {
  payload: {
    runId: RunId,
    /** How often the run has been resumed: a resumed run is a new execution that finds the old one's checkpoints. */
    resumption: Count,
    ontologyUri: StorageUri,
    examplesUri: Schema.optionalKey(StorageUri),
    contentType: Schema.optionalKey(Schema.String),
  },
  success: RunResult,
  error: RunFailed,
  idempotencyKey: ({ runId, resumption }) => `${runId}/${resumption}`,
})

type Payload = typeof ExtractionWorkflow.payloadSchema.Type

export const layer: Layer.Layer<never, never, WorkflowEngine | RunStore | ArtifactStore | Storage | Extractors> =
  ExtractionWorkflow.toLayer((payload) =>
    extraction(payload).pipe(
      Effect.tapError((error) => endRun(payload, "failed", error.message)),
      Effect.tap(() => endRun(payload, "succeeded")),
    ),
  )

const extraction = (payload: Payload) =>
  Effect.gen(function* () {
    const { runId } = payload
    const failed = runFailed(runId)
    const run = yield* Effect.mapError(runOf(runId), failed)
    // A crash may have come between the run's end and that of its execution: what was cancelled does not go on by itself.
    if (run.status === "cancelled" || resumptionOf(run) !== payload.resumption) return yield* superseded(run)
    const { ontology, extractor } = yield* Effect.mapError(
      Effect.flatMap(Extractors, (extractors) => extractors.equip(payload)),
      failed,
    )
    let batchIndex = 0
    let lastExecuted = -1
    let total: RunResult = {
      runId,
      batches: 0,
      chunks: 0,
      entities: 0,
      facts: 0,
      forReview: 0,
      calls: 0,
      inputTokens: 0,
      outputTokens: 0,
      cost: 0,
    }
    yield* chunksOf(run, payload).pipe(
      Stream.mapError(failed),
      Stream.grouped(run.config.batchSize),
      Stream.runForEach((chunks) =>
        Effect.gen(function* () {
          const index = batchIndex++
          const textHash = textHashOf(chunks)
          const result = yield* Activity.make({
            name: `extract-${index}`,
            success: StepResult,
            error: RunFailed,
            execute: Effect.suspend(() => {
              lastExecuted = index
              return Effect.mapError(extractStep({ run, batchIndex: index, chunks, textHash, extractor, ontology }), failed)
            }),
          })
          if (result.textHash !== textHash) return yield* failed(new DocumentChanged({ uri: run.inputUri, batchIndex: index }))
          total = withStep(total, result)
        }),
      ),
    )
    // Batches are done in order, so that there is nothing beyond one that was done just now.
    if (payload.resumption > 0 || lastExecuted !== batchIndex - 1) yield* Effect.mapError(nothingBeyond(run, batchIndex), failed)
    return total
  })

/** A document that was cut short at the end of a batch has all its batches as they were, and yet is another one. */
const nothingBeyond = (run: ExtractionRun, batches: number) =>
  Effect.gen(function* () {
    const last = yield* Effect.flatMap(RunStore, (runs) => runs.lastCheckpoint(run.runId))
    if (Option.isSome(last) && last.value.batch_index >= batches) {
      return yield* new DocumentChanged({ uri: run.inputUri, batchIndex: batches })
    }
  })

const chunksOf = (run: ExtractionRun, { contentType }: Payload) =>
  Stream.unwrap(
    Effect.map(Storage, (storage) => {
      const source = { name: run.inputUri, ...(contentType === undefined ? {} : { contentType }) }
      return streamDocument(source, storage.getStream(run.inputUri)).pipe(
        chunkStream({ size: run.config.windowSize, overlap: run.config.overlap }),
      )
    }),
  ) satisfies Stream.Stream<Chunk, unknown, unknown>

const withStep = (total: RunResult, step: StepResult): RunResult => {
  const { cost, ...sum } = {
    runId: total.runId,
    batches: total.batches + 1,
    chunks: total.chunks + step.chunks,
    entities: total.entities + step.entities,
    facts: total.facts + step.facts,
    forReview: total.forReview + step.forReview,
    calls: total.calls + step.calls,
    inputTokens: total.inputTokens + step.inputTokens,
    outputTokens: total.outputTokens + step.outputTokens,
    cost: total.cost === undefined || step.cost === undefined ? undefined : total.cost + step.cost,
  }
  return cost === undefined ? sum : { ...sum, cost }
}

const runOf = (runId: RunId) =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(RunStore, (runs) => runs.get(runId))
    if (Option.isSome(found)) return found.value
    return yield* new RunFailed({ runId, code: "RunUnknown", detail: "there is no such run; start it first", retryable: false })
  })

/** Every resumption changes the status twice: to failed or cancelled, and back to running. */
export const resumptionOf = ({ statusVersion }: ExtractionRun): number => Math.floor((statusVersion - 1) / 2)

const superseded = ({ runId, status }: ExtractionRun) =>
  new RunFailed({ runId, code: "RunSuperseded", detail: `it is ${status} and no longer this execution's; resume it`, retryable: false })

/** A run that somebody cancelled, ended or resumed meanwhile is left as it is. */
const endRun = ({ runId, resumption }: Payload, status: RunStatus, error?: string): Effect.Effect<void, RunFailed, RunStore> =>
  Effect.gen(function* () {
    const run = yield* runOf(runId)
    if (run.status !== "running" || resumptionOf(run) !== resumption) return
    const runs = yield* RunStore
    const change = { expectedVersion: run.statusVersion, status, at: yield* DateTime.now, ...(error === undefined ? {} : { error }) }
    yield* Effect.catchTag(Effect.asVoid(runs.changeStatus(run, change)), ["RunStatusConflict", "RunStatusRefused"], () => Effect.void)
  }).pipe(Effect.mapError(runFailed(runId)))
