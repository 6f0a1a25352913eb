/**
 * A batch of documents: extracted one by one, their entities resolved, cancelled for real, retried a few times.
 * The work itself runs inside the states Extracting and Resolving, and ends when they are left.
 *
 * Run it: `npx node examples/batch/run.ts`
 */
import { Event, Machine, refuse, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"
import { BatchConfig } from "./BatchConfig.ts"
import { BatchEvent } from "./BatchEvent.ts"

// A retry starts from these fields, so every state that can still fail carries them.
const request = {
  batchId: Schema.String,
  documentIds: Schema.Array(Schema.String),
  config: BatchConfig,
  retryCount: Schema.Natural,
}

const findings = { totalDocuments: Schema.Natural, entityCount: Schema.Natural, relationCount: Schema.Natural }

export const S = State({
  Pending: request,
  Extracting: { ...request, ...findings, completedCount: Schema.Natural, failedCount: Schema.Natural, progress: Schema.Finite },
  Resolving: { ...request, ...findings, completedCount: Schema.Natural, failedCount: Schema.Natural, progress: Schema.Finite },
  Completed: { batchId: Schema.String, ...findings },
  Failed: { ...request, failedCount: Schema.Natural, error: Schema.String },
  Cancelled: { batchId: Schema.String, completedCount: Schema.Natural, totalDocuments: Schema.Natural },
})

export const E = Event({
  StartExtraction: {},
  DocumentCompleted: { documentId: Schema.String, entityCount: Schema.Natural, relationCount: Schema.Natural },
  DocumentFailed: { documentId: Schema.String, error: Schema.String },
  ExtractionComplete: {
    successCount: Schema.Natural,
    failureCount: Schema.Natural,
    totalEntityCount: Schema.Natural,
    totalRelationCount: Schema.Natural,
  },
  ResolutionComplete: { mergeCount: Schema.Natural },
  Cancel: {},
  Retry: {},
  Fail: { error: Schema.String },
})

const guards = Slot.Guards({
  canRetry: { maxRetries: Schema.Natural },
  isResolutionEnabled: {},
})

const effects = Slot.Effects({
  emitBatchEvent: { event: BatchEvent },
  processDocuments: { documentIds: Schema.Array(Schema.String), config: BatchConfig },
  runResolution: { batchId: Schema.String },
  persistState: { batchId: Schema.String, status: Schema.String },
})

const facts = BatchEvent.cases

export const Batch = Machine.make({ name: "batch", state: S, event: E, guards, effects, initial: S.Pending })
  .on(S.Pending, E.StartExtraction, S.Extracting, ({ state }) =>
    S.Extracting.derive(state, {
      totalDocuments: state.documentIds.length,
      completedCount: 0,
      failedCount: 0,
      entityCount: 0,
      relationCount: 0,
      progress: 0,
    }),
  )

  // A transition to the same state only changes its data: the extraction continues.
  .on(
    S.Extracting,
    E.DocumentCompleted,
    S.Extracting,
    ({ state, event, effects, at }) => {
      const { documentId, entityCount, relationCount } = event
      effects.emitBatchEvent({
        event: facts.DocumentCompleted.make({ batchId: state.batchId, at, documentId, entityCount, relationCount }),
      })
      return S.Extracting.derive(state, {
        completedCount: state.completedCount + 1,
        entityCount: state.entityCount + entityCount,
        relationCount: state.relationCount + relationCount,
        progress: progressAfterOneMore(state),
      })
    },
    { requests: ["emitBatchEvent"] },
  )
  .on(
    S.Extracting,
    E.DocumentFailed,
    S.Extracting,
    ({ state, event, effects, at }) => {
      const { documentId, error } = event
      effects.emitBatchEvent({ event: facts.DocumentFailed.make({ batchId: state.batchId, at, documentId, error }) })
      return S.Extracting.derive(state, { failedCount: state.failedCount + 1, progress: progressAfterOneMore(state) })
    },
    { requests: ["emitBatchEvent"] },
  )
  .on(
    S.Extracting,
    E.ExtractionComplete,
    [S.Resolving, S.Completed, S.Failed],
    ({ state, event, guards }) => {
      const { successCount: completedCount, failureCount: failedCount } = event
      if (completedCount === 0) return S.Failed.derive(state, { failedCount, error: "all documents failed" })
      const found = { entityCount: event.totalEntityCount, relationCount: event.totalRelationCount }
      if (!guards.isResolutionEnabled()) return S.Completed.derive(state, found)
      return S.Resolving.derive(state, { ...found, completedCount, failedCount, progress: 0 })
    },
    { guards: ["isResolutionEnabled"] },
  )
  .on(
    S.Resolving,
    E.ResolutionComplete,
    S.Completed,
    ({ state, event, effects, at }) => {
      effects.emitBatchEvent({ event: facts.ResolutionCompleted.make({ batchId: state.batchId, at, mergeCount: event.mergeCount }) })
      return S.Completed.derive(state)
    },
    { requests: ["emitBatchEvent"] },
  )

  .on([S.Extracting, S.Resolving], E.Cancel, S.Cancelled)
  .on(S.Pending, E.Cancel, S.Cancelled, ({ state }) => S.Cancelled.derive(state, { completedCount: 0, totalDocuments: 0 }))
  .on([S.Extracting, S.Resolving], E.Fail, S.Failed)
  .on(S.Pending, E.Fail, S.Failed, ({ state, event }) => S.Failed.derive(state, { failedCount: 0, error: event.error }))

  .on(
    S.Failed,
    E.Retry,
    S.Pending,
    ({ state, guards }) =>
      guards.canRetry({ maxRetries: state.config.maxRetries })
        ? S.Pending.derive(state, { retryCount: state.retryCount + 1 })
        : refuse(`retried ${state.retryCount} times, as often as allowed`),
    { guards: ["canRetry"] },
  )

  // Called in `spawn`, an effect runs immediately, and at most as long as the state lasts.
  .spawn(S.Extracting, ({ state, effects }) => effects.processDocuments({ documentIds: state.documentIds, config: state.config }), {
    runs: ["processDocuments"],
  })
  .spawn(S.Resolving, ({ state, effects }) => effects.runResolution({ batchId: state.batchId }), { runs: ["runResolution"] })

  // Called in `enter`, an effect is requested: it becomes a command, which runs after the transition.
  .enter(
    [S.Pending, S.Extracting, S.Resolving, S.Completed, S.Failed, S.Cancelled],
    ({ state, effects }) => effects.persistState({ batchId: state.batchId, status: state._tag }),
    { requests: ["persistState"] },
  )
  .enter(
    S.Extracting,
    ({ state: { batchId, totalDocuments }, effects, at }) =>
      effects.emitBatchEvent({ event: facts.BatchCreated.make({ batchId, at, totalDocuments }) }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Resolving,
    ({ state: { batchId }, effects, at }) => effects.emitBatchEvent({ event: facts.ResolutionStarted.make({ batchId, at }) }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Completed,
    ({ state: { batchId, totalDocuments, entityCount, relationCount }, effects, at }) =>
      effects.emitBatchEvent({ event: facts.BatchCompleted.make({ batchId, at, totalDocuments, entityCount, relationCount }) }),
    { requests: ["emitBatchEvent"] },
  )
  .enter(
    S.Failed,
    ({ state: { batchId, error, failedCount }, effects, at }) =>
      effects.emitBatchEvent({ event: facts.BatchFailed.make({ batchId, at, error, failedDocuments: failedCount }) }),
    { requests: ["emitBatchEvent"] },
  )
  // `other` is the state that was left: Cancelled itself does not have the number of failed documents.
  .enter(
    S.Cancelled,
    ({ state: { batchId }, other, effects, at }) => {
      const failedDocuments = other !== undefined && "failedCount" in other ? other.failedCount : 0
      effects.emitBatchEvent({ event: facts.BatchFailed.make({ batchId, at, error: "cancelled", failedDocuments }) })
    },
    { requests: ["emitBatchEvent"] },
  )
  .final(S.Completed, S.Cancelled)
  .total()

const progressAfterOneMore = ({ completedCount, failedCount, totalDocuments }: typeof S.Extracting.Type) =>
  Math.min(1, (completedCount + failedCount + 1) / Math.max(1, totalDocuments))
