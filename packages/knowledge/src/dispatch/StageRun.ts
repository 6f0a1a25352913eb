/**
 * Runs one stage of a batch outside the batch's own process, with the batch's configuration. A batch that is in the database decides
 * whether the stage is due, and receives the result.
 */

import { startHash } from "@detent/blobs/ContentHash"
import { blobIn, Storage, type StorageError, type StorageFolder, type StorageUri } from "@detent/blobs/Storage"
import type { ReadError } from "@detent/durable"
import type { SendError } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Batches, BatchNotFound } from "../batch/Batches.ts"
import { E, isPassedBy, stageOf } from "../batch/BatchMachine.ts"
import { timedStage } from "../batch/BatchMetrics.ts"
import {
  activeBatchStates,
  type BatchState,
  BatchStopped,
  defaultBatchConfig,
  noCounts,
  type S,
  type StageGraph,
} from "../batch/BatchState.ts"
import { loadManifest } from "../batch/Manifest.ts"
import type { BatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import type { ActivityName } from "../tasks/Task.ts"

/** The batch does not wait for this activity. */
export class ActivityRefused extends Schema.TaggedError<ActivityRefused>()("ActivityRefused", {
  batchId: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.batchId} ${this.problem}; ${this.nextStep}`
  }
}

type Stage = "Extracting" | "Resolving" | "Validating" | "Ingesting"

const activityOf = { Extracting: "extraction", Resolving: "resolution", Validating: "validation", Ingesting: "ingestion" } as const

/** The state in which a batch waits for an activity. */
export const stateOfActivity = {
  extraction: "Extracting",
  resolution: "Resolving",
  validation: "Validating",
  ingestion: "Ingesting",
} as const satisfies Readonly<Record<ActivityName, Stage>>

/** How long an activity waits for a batch that was started and is not yet at its first stage. */
const patience = "10 seconds"

/** The state of the batch once it has left `Pending`, or its current one when that takes too long. None when only its manifest exists. */
const batchAt = (id: BatchId) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const begun = Stream.filter(batches.watch(id), ({ _tag }) => _tag !== "Pending")
    const found = Option.flatten(yield* Effect.timeoutOption(Stream.runHead(begun), patience))
    return Option.isSome(found) ? found : Option.some(yield* batches.state(id))
  }).pipe(Effect.catchTag("BatchNotFound", () => Effect.succeedNone))

type Report = (event: typeof E.Type, id?: string) => Effect.Effect<boolean, ReadError | SendError>

export interface StageRequest {
  readonly manifest: Effect.Success<ReturnType<typeof loadManifest>>
  /** The fields of every state of the batch. */
  readonly request: Omit<typeof S.Resolving.Type, "_tag">
  /** The state of the batch. Undefined when it is not in the database. */
  readonly batch: BatchState | undefined
  /** Sends the result of the stage to the batch, and returns whether the batch took it: a batch that has left the stage refuses it. */
  readonly report: Report
}

/** Returns the input of a stage. Fails when the batch has not reached the stage, or has failed or been cancelled. */
export const stageRequest = (folder: StorageFolder, batchId: BatchId, stage: Stage) =>
  Effect.gen(function* () {
    const manifestUri = blobIn(folder, pathsOfBatch(batchId).manifest)
    const manifest = yield* loadManifest(yield* Storage, manifestUri).pipe(
      Effect.catchTag("BlobNotFound", (error) =>
        Effect.flatMap(batchAt(batchId), (found) => Effect.fail(Option.isNone(found) ? new BatchNotFound({ batchId }) : error)),
      ),
    )
    const batch = Option.getOrUndefined(yield* batchAt(batchId))
    if (batch !== undefined) yield* isDue(batch, stage)
    const createdAt = manifest.createdAt.epochMilliseconds
    const defaults = {
      ...noCounts,
      batchId,
      manifestUri,
      ontologyVersion: manifest.ontologyVersion,
      targetNamespace: manifest.targetNamespace,
      config: { ...defaultBatchConfig, ...(manifest.extractor === undefined ? {} : { extractor: manifest.extractor }) },
      documentsTotal: manifest.documents.length,
      retryCount: 0,
      attempt: 0,
      createdAt,
      updatedAt: createdAt,
      documentsCompleted: manifest.documents.length,
      resolvedAgain: 0,
    }
    const { _tag, ...known } = { _tag: "", ...batch }
    const batches = yield* Batches
    const report: Report = (event, id) =>
      batch?._tag !== stage
        ? Effect.succeed(false)
        : Effect.as(batches.report(batchId, event, id), true).pipe(
            // Another process has ended the stage.
            Effect.catchIf(isPassedBy, () => Effect.succeed(false)),
            Effect.catchTag(["BatchNotFound", "InstanceNotFound"], Effect.die),
          )
    return { manifest, request: { ...defaults, ...known }, batch, report } satisfies StageRequest
  })

/** Fails unless the stage is due. A stage that has ended may run again: it finds its earlier result, or computes the same one. */
const isDue = (batch: BatchState, stage: Stage) => {
  const { batchId, _tag } = batch
  if (_tag === "Failed" || _tag === "Cancelled")
    return Effect.fail(new ActivityRefused({ batchId, problem: `is ${_tag}`, nextStep: `resume it first: detent batch resume ${batchId}` }))
  const at = activeBatchStates.indexOf(_tag)
  if (at === -1 || at >= activeBatchStates.indexOf(stage)) return Effect.void
  const left = _tag === "Extracting" ? ` with ${batch.documentsTotal - batch.documentsCompleted} documents to extract` : ""
  const first = _tag === "Pending" ? "start a process that works on it" : `run the activity ${activityOf[_tag as Stage]} first`
  return Effect.fail(new ActivityRefused({ batchId, problem: `is ${_tag}${left}`, nextStep: first }))
}

/** Runs a stage, and reports its result to the batch. A stage that fails with `BatchStopped` fails the batch. */
export const reported = <A, Failure, R>(
  { request: { attempt, resolvedAgain }, report }: StageRequest,
  stage: Exclude<Stage, "Extracting">,
  work: Effect.Effect<A, Failure, R>,
  eventOf: (value: A, attempt: number) => typeof E.Type,
) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const value = yield* Effect.tapError(timedStage(stageOf({ _tag: stage }), work), (error) =>
      error instanceof BatchStopped
        ? report(
            E.Fail({ stage: stageOf({ _tag: stage }), attempt, error: { code: error.code, message: error.problem } }),
            `${attempt}/${stage}/failed`,
          )
        : Effect.void,
    )
    // A repeated activity sends the same event id, which the batch takes once. A batch that is resolved again expects a new id.
    const isTaken = yield* report(eventOf(value, attempt), `${attempt}/${stage}/${resolvedAgain}`)
    return { value, isTaken, durationMs: Math.round((yield* Clock.currentTimeMillis) - startedAt) }
  })

/** The lines of the file at an address, without empty ones. */
export const linesAt = (uri: StorageUri): Stream.Stream<string, StorageError, Storage> =>
  Stream.unwrap(
    Effect.map(Storage, (storage) =>
      storage.getStream(uri).pipe(
        Stream.decodeText,
        Stream.splitLines,
        Stream.filter((line) => line !== ""),
      ),
    ),
  )

/** Hashes the file that a stage reads, and counts its triples. */
export const graphAt = (uri: StorageUri): Effect.Effect<StageGraph, StorageError, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const hash = startHash()
    yield* Stream.runForEach(storage.getStream(uri), (piece) => Effect.sync(() => hash.update(piece)))
    const triples = yield* Stream.runCount(linesAt(uri))
    return { uri, hash: hash.end(), triples }
  })
