/**
 * Runs a stage outside the batch's process: with `dispatch: "tasks"` as tasks of the queue, with `dispatch: "activities"` as
 * activities that the user's job runner starts. The stage ends when an activity reports its result to the batch.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import { Storage } from "../storage/Storage.ts"
import { TaskQueue } from "../tasks/TaskQueue.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import type { S } from "./BatchState.ts"
import { roundOf } from "./ExtractionReport.ts"
import { loadManifest, type ManifestDocument } from "./Manifest.ts"

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
    const beganAt = state._tag === "Extracting" ? state.failuresSince : (state.updatedAt ?? state.createdAt)
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
    Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
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
    const again = "resolvedAgain" in state ? (state.resolvedAgain ?? 0) : 0
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
