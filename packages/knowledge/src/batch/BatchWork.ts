/**
 * The batch machine with its stages, which run in the batch's process or are dispatched to others. An error that ends a stage becomes
 * the batch's failure.
 */

import { blobIn, Storage, type StorageError, type StorageFolder } from "@detent/blobs/Storage"
import type { ReadError } from "@detent/durable"
import { describe, explain } from "@detent/machine/internal"
import { defectsAsFailures } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { RunEnding } from "../runs/Run.ts"
import { BatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import { TaskQueue } from "../tasks/TaskQueue.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { BatchEvent, BatchMachine, E } from "./BatchMachine.ts"
import { timedStage } from "./BatchMetrics.ts"
import { type BatchFault, type BatchState, BatchStateJson, type S, type Stage } from "./BatchState.ts"
import { writeMetadata } from "./Document.ts"
import { endRuns, extractDocuments, roundOf } from "./ExtractionStage.ts"
import { addToGraph, resolveEntities, takeBack, validateGraph, withdrawGraph } from "./GraphStages.ts"
import { loadManifest, type ManifestDocument } from "./Manifest.ts"

/** Files of batches are stored below the folder. `stateOf` reads the stored state of a batch; undefined when the batch was removed. */
export const batchMachine = (folder: StorageFolder, stateOf: (id: BatchId) => Effect.Effect<BatchState | undefined, ReadError>) =>
  BatchMachine.build({
    emitBatchEvent: ({ event }) => Effect.orDie(Effect.flatMap(BatchEventLog, (log) => log.emit(event))),
    writeStatus: (_, { id }) => Effect.orDie(writeStatus(folder, stateOf(BatchId.make(id)))),
    processDocuments: ({ state }, { self }) =>
      Effect.onInterrupt(
        timed(
          "extracting",
          extractDocuments(folder, state, {
            counted: (counts) => self.send(E.DocumentsCounted(counts)),
            retried: (failuresSince) => self.send(E.DocumentsRetried({ failuresSince })),
          }),
        ),
        () => endCancelled(state, stateOf(state.batchId)),
      ),
    runResolution: ({ state }) => timed("resolving", resolveEntities(folder, state)),
    runValidation: ({ state }) => timed("validating", validateGraph(folder, state)),
    runIngestion: ({ state }) => timed("ingesting", ingestGraph(folder, state)),
    endWork: ({ state }) => Effect.orDie(endWork(folder, state)),
    takeBackFacts: ({ state }) => Effect.orDie(takeBackFacts(folder, state, stateOf(state.batchId))),
    // The activities measure how long their stage takes.
    dispatchStage: ({ state }) => failing(dispatchStage(state)),
  })

/** Fails with the batch's fault. Not on an interrupt: a cancel has changed the state, and after a process stop the stage is resumed. */
const failing = <A, Failure, R>(work: Effect.Effect<A, Failure, R>): Effect.Effect<A, BatchFault, R> =>
  Effect.catchCause(work, (cause) => (Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(faultOf(cause))))

const timed = <A, Failure, R>(stage: Stage, work: Effect.Effect<A, Failure, R>) => failing(timedStage(stage, work))

/**
 * Ends the running work of a cancelled batch, and removes the facts it had added. Idempotent. A process that is stopping ends the
 * runs first, since it may be the last one that works on the batch.
 */
export const endWork = (folder: StorageFolder, state: typeof S.Cancelled.Type) =>
  Effect.gen(function* () {
    yield* Effect.uninterruptible(endRuns(state, RunEnding.cases.BatchCancelled.make({ attempt: state.attempt })))
    if (state.cancelledInStage === "ingesting") yield* withdrawGraph(folder, state)
    if (state.cancelledInStage === "extracting") yield* writeMetadata(folder, state, yield* loadManifest(yield* Storage, state.manifestUri))
  })

/**
 * Restores the graph on failure, before the batch becomes `Failed`. Not on an interrupt: after a cancel, the state `Cancelled` withdraws
 * the added facts; after a process stop, the ingestion is resumed.
 */
const ingestGraph = (folder: StorageFolder, state: typeof S.Ingesting.Type) =>
  Effect.onError(addToGraph(folder, state), (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.catchCause(takeBack(folder, state), (problem) =>
          Effect.logDebug(
            `batch ${state.batchId}: its facts could not be removed from the graph, and are removed after it has failed`,
            problem,
          ),
        ),
  )

/** Removes the facts of a failed batch, except when it was resumed since: then the new attempt replaces them. */
const takeBackFacts = (folder: StorageFolder, failed: typeof S.Failed.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Failed" && now.attempt === failed.attempt) yield* takeBack(folder, failed)
  })

/**
 * When another process has cancelled the batch, ends its runs before the work of this process ends: a process that only follows the
 * batch stops then. Not interruptible, and takes no longer than the run store waits for its database. Runs that cannot be ended now are
 * ended by the next process that works on the batch.
 */
const endCancelled = ({ batchId, attempt }: typeof S.Extracting.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Cancelled") yield* endRuns({ batchId }, RunEnding.cases.BatchCancelled.make({ attempt }))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logDebug(
        `batch ${batchId}: its runs could not be ended, and are ended by the next process that works on it: ${explain(Cause.squash(cause))}`,
      ),
    ),
  )

/** Writes `status.json`. Of two concurrent writers, the later one may write an older state; it then sees the newer one and writes again. */
export const writeStatus = (
  folder: StorageFolder,
  state: Effect.Effect<BatchState | undefined, ReadError>,
): Effect.Effect<void, ReadError | StorageError, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    let current = yield* state
    while (current !== undefined) {
      const written = current
      const json = yield* Effect.orDie(Schema.encodeEffect(BatchStateJson)(written))
      yield* storage.set(blobIn(folder, pathsOfBatch(written.batchId).status), json)
      const now: BatchState | undefined = yield* state
      current = now?._tag === written._tag && now.updatedAt === written.updatedAt ? undefined : now
    }
  })

const faultOf = (cause: Cause.Cause<unknown>): BatchFault => {
  const error = Cause.squash(cause)
  const led = causeOf(error)
  if (typeof error !== "object" || error === null || !("_tag" in error)) return { code: "Defect", message: describe(error), ...led }
  // Some library errors have an empty message and a cause with the text.
  const said = describe(error) === "" && "cause" in error ? error.cause : error
  return { code: "code" in error ? String(error.code) : String(error._tag), message: describe(said), ...led }
}

/** How many nested causes are followed. */
const mostCauses = 5

/** The causes of an error, the nearest first, without the error's own message. */
const causeOf = (error: unknown): Pick<BatchFault, "cause"> => {
  const said: Array<string> = []
  let one = error
  while (typeof one === "object" && one !== null && "cause" in one && one.cause !== undefined && said.length < mostCauses) {
    one = one.cause
    said.push(describe(one))
  }
  const causes = said.filter((text) => text !== "" && text !== describe(error))
  return causes.length === 0 ? {} : { cause: causes.join(": ") }
}

// A stage outside the batch's process: with `dispatch: "tasks"` as tasks of the queue, with `dispatch: "activities"` as
// activities that the user's job runner starts. The stage ends when an activity reports its result to the batch.

type Extracting = typeof S.Extracting.Type
type Dispatched = Extracting | typeof S.Resolving.Type | typeof S.Validating.Type | typeof S.Ingesting.Type

/** Enqueues the tasks of the stage, and again after every `patience` of a queue that may drop tasks without a report. */
export const dispatchStage = (state: Dispatched) =>
  Effect.gen(function* () {
    const queue = yield* TaskQueue
    if (state.config.dispatch !== "tasks") {
      if (state._tag === "Extracting") yield* persistently(beginAgain(state))
      return yield* Effect.never
    }
    if (queue.patience === undefined) {
      yield* persistently(enqueueStage(state, 0))
      return yield* Effect.never
    }
    const patience = Duration.toMillis(queue.patience)
    const beganAt = state._tag === "Extracting" ? state.failuresSince : state.updatedAt
    for (;;) {
      // Counted from the start of the stage: after a restart the keys are the same, so that no task is enqueued twice.
      const turn = Math.max(0, Math.floor(((yield* Clock.currentTimeMillis) - beganAt) / patience))
      yield* persistently(enqueueStage(state, turn))
      yield* Effect.sleep(Math.max(1, beganAt + (turn + 1) * patience - (yield* Clock.currentTimeMillis)))
    }
  })

/** Retries with backoff, so that a temporary outage of the queue or the database does not fail the batch. */
const persistently = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
  effect.pipe(
    // The event log reports database errors as defects.
    defectsAsFailures(isSqlError),
    Effect.tapError((error) =>
      isTransient(error) ? Effect.logWarning(`tasks were not enqueued, and are enqueued again: ${String(error)}`) : Effect.void,
    ),
    Effect.retry({ schedule: Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")]), while: isTransient }),
  )

const isTransient = (error: { readonly _tag: string; readonly retryable?: boolean }): boolean =>
  error._tag === "EventJournalError" || error._tag === "SqlError" || error.retryable === true

const enqueueStage = (state: Dispatched, turn: number) =>
  Effect.gen(function* () {
    const queue = yield* TaskQueue
    const { batchId, attempt } = state
    const again = "resolvedAgain" in state ? state.resolvedAgain : 0
    const keyOf = (...parts: ReadonlyArray<string | number>) => [batchId, attempt, ...parts, `turn-${turn}`].join(":")
    switch (state._tag) {
      case "Extracting": {
        const { ontologyUri, documents } = yield* pendingDocuments(state)
        return yield* Effect.forEach(
          documents,
          ({ documentId, sourceUri }) =>
            queue.enqueue("extraction", { batchId, attempt, documentId, sourceUri, ontologyUri }, { key: keyOf("extraction", documentId) }),
          { concurrency: 64, discard: true },
        )
      }
      case "Resolving":
        return yield* queue.enqueue("resolution", stageInput(state), { key: keyOf("resolution", again) })
      case "Validating":
        return yield* queue.enqueue("validation", stageInput(state), { key: keyOf("validation", again) })
      case "Ingesting":
        return yield* queue.enqueue("ingestion", stageInput(state), { key: keyOf("ingestion", again) })
    }
  })

/** The input of the single task of a stage after extraction. */
export const stageInput = (state: Exclude<Dispatched, Extracting>) => {
  const { batchId, attempt, targetNamespace } = state
  switch (state._tag) {
    case "Resolving":
      return { batchId, attempt }
    case "Validating":
      return { batchId, attempt, resolvedUri: state.resolvedGraph.uri }
    case "Ingesting":
      return { batchId, attempt, validatedUri: state.validatedGraph.uri, targetNamespace }
  }
}

/** Returns the pending documents. When all are done, returns one of them, whose activity then reports the end of the stage. */
const pendingDocuments = (state: Extracting) =>
  Effect.gen(function* () {
    const { ontologyUri, documents, done } = yield* beginAgain(state)
    const pending = documents.filter(({ documentId }) => !done.has(documentId))
    return { ontologyUri, documents: pending.length === 0 ? documents.slice(0, 1) : pending }
  })

/** Marks documents that failed in an earlier round as started again: until their activity ends they do not count as failed. */
const beginAgain = (state: Extracting) =>
  Effect.gen(function* () {
    const { batchId } = state
    const log = yield* BatchEventLog
    const { ontologyUri, documents } = yield* loadManifest(yield* Storage, state.manifestUri)
    const standings = yield* log.standings(
      batchId,
      documents.map(({ documentId }) => documentId),
    )
    const round = roundOf(state)
    const at = yield* Clock.currentTimeMillis
    const isFailedBefore = ({ documentId }: ManifestDocument) => {
      const standing = standings.get(documentId)
      return standing?.status === "failed" && standing.round < round
    }
    yield* Effect.forEach(
      documents.filter(isFailedBefore),
      ({ documentId }) => log.emit(BatchEvent.cases.DocumentStarted.make({ batchId, at, documentId, round })),
      { concurrency: 64, discard: true },
    )
    const done = new Set(
      documents.filter((one) => isOver(standings.get(one.documentId)?.status) && !isFailedBefore(one)).map(({ documentId }) => documentId),
    )
    return { ontologyUri, documents, done }
  })

const isOver = (status: string | undefined): boolean => status === "completed" || status === "failed" || status === "set-aside"
