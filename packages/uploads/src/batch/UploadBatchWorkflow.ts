/** The workflow of a batch, upload-batch.json, with its processors. */

import { type EntityError, EntityWorkflow, type EntityWorkflowError, Processor, Registry } from "@detent/entity"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NothingStored } from "./BatchProblem.ts"
import type { BatchWork, Notice } from "./BatchWork.ts"
import { type FailureReport, UploadBatch } from "./UploadBatch.ts"

// The criteria of a batch's transitions. They depend only on the batch, and one of them on the time.

/** A batch that has failed this often is not retried. */
export const maxRetries = 3

/** A batch can be retried for this long after it failed. */
export const retryWindow = Duration.hours(24)

export const criteria = {
  UploadBatchValidCriterion: ({ fileName, fileSize = 0, fileMd5Hash, table, totalItemsInFile }: UploadBatch): boolean =>
    fileName !== "" && fileSize > 0 && fileMd5Hash !== undefined && table !== undefined && totalItemsInFile > 0,

  UploadBatchExtractionCompleteCriterion: ({ totalItemsInFile, itemsProcessed, processingCompletedAt }: UploadBatch): boolean =>
    totalItemsInFile > 0 && itemsProcessed >= 0 && processingCompletedAt !== undefined,

  UploadBatchAllItemsCompleteCriterion: (batch: UploadBatch): boolean => isAccountedFor(batch) && batch.itemsErrored === 0,

  UploadBatchSomeItemsCompleteCriterion: (batch: UploadBatch): boolean =>
    isAccountedFor(batch) && batch.itemsProcessed > 0 && batch.itemsErrored > 0,

  UploadBatchRetryableCriterion: ({ retryCount, lastRetryAt = 0, fileName }: UploadBatch, { at }: { readonly at: number }): boolean =>
    retryCount < maxRetries && at - lastRetryAt < Duration.toMillis(retryWindow) && fileName !== "",
}

/** Whether every item of the file is stored or failed. */
const isAccountedFor = ({ totalItemsInFile, itemsProcessed, itemsErrored }: UploadBatch): boolean =>
  totalItemsInFile > 0 && itemsProcessed + itemsErrored >= totalItemsInFile

// The processors of a batch's transitions, with the names in upload-batch.json.

export const processors = (work: BatchWork) => ({
  UploadBatchInitProcessor: Processor.effect((batch: UploadBatch) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const found = batch.fileMd5Hash === undefined ? yield* work.inspect(batch) : {}
      yield* Effect.logInfo(`batch ${batch.batchId}: ${batch.fileName} was uploaded`)
      return { ...batch, ...found, uploadedAt: now, processingStartedAt: now, itemsProcessed: 0, itemsErrored: 0 }
    }),
  ),

  UploadBatchValidationProcessor: Processor.effect((batch: UploadBatch) =>
    Effect.gen(function* () {
      const found = yield* work.validate(batch)
      yield* Effect.logInfo(`batch ${batch.batchId}: ${found.totalItemsInFile} items, ${found.invalidItemsInFile} of them invalid`)
      return { ...without(batch, "validationErrors"), ...found }
    }),
  ),

  UploadBatchExtractionProcessor: Processor.effect((batch: UploadBatch, { key }) =>
    Effect.gen(function* () {
      const { stored, failed } = yield* work.extract(batch, key)
      yield* Effect.logInfo(`batch ${batch.batchId}: extracted ${stored + failed} items`)
      return { ...batch, itemsProcessed: stored + failed, processingCompletedAt: yield* Clock.currentTimeMillis }
    }),
  ),

  UploadBatchProcessingProcessor: Processor.effect((batch: UploadBatch) =>
    Effect.gen(function* () {
      const { stored, failed } = yield* work.count(batch)
      yield* Effect.logInfo(`batch ${batch.batchId}: ${stored} items stored, ${failed} failed of ${batch.totalItemsInFile}`)
      // A batch without any stored item fails: it is neither completed nor partially completed.
      if (stored === 0 && failed >= batch.totalItemsInFile) {
        return yield* Effect.fail(new NothingStored({ batchId: batch.batchId, summary: yield* work.summarizeErrors(batch) }))
      }
      return { ...batch, itemsProcessed: stored, itemsErrored: failed }
    }),
  ),

  UploadBatchCompletionProcessor: Processor.effect((batch: UploadBatch, { key }) =>
    Effect.gen(function* () {
      const done = concluded(without(batch, "errorSummary"), yield* Clock.currentTimeMillis)
      yield* Effect.logInfo(`batch ${batch.batchId} is complete: ${batch.itemsProcessed} items`)
      return yield* notified(work, { batchId: batch.batchId, outcome: "completed", batch: done, key })
    }),
  ),

  UploadBatchPartialCompletionProcessor: Processor.effect((batch: UploadBatch, { key }) =>
    Effect.gen(function* () {
      const errorSummary = yield* work.summarizeErrors(batch)
      const done = { ...concluded(batch, yield* Clock.currentTimeMillis), errorSummary }
      const reasons = errorSummary.groups.map(({ reason, count }) => `${count} ${reason}`).join(", ")
      yield* Effect.logWarning(`batch ${batch.batchId} is partially complete: ${batch.itemsErrored} items failed (${reasons})`)
      return yield* notified(work, { batchId: batch.batchId, outcome: "partially_completed", batch: done, key })
    }),
  ),

  UploadBatchFailureProcessor: Processor.effect((batch: UploadBatch, { key, argument, error }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      yield* endRetry(work, batch)
      const failure = yield* failureReport(work, batch, error, argument, now)
      yield* Effect.logWarning(`batch ${batch.batchId} has failed: ${failure.message}`)
      const failed = { ...batch, failure, ...(batch.failure === undefined ? countFailure(batch, failure, now) : {}) }
      return yield* notified(work, { batchId: batch.batchId, outcome: "failed", batch: failed, key })
    }),
  ),

  // Keeps the counts of the last validation: they are exact until another validation replaces them.
  UploadBatchRetryProcessor: Processor.pure(
    (batch: UploadBatch, { at }): UploadBatch => ({
      ...without(batch, "processingCompletedAt", "failure", "errorSummary", "resultSummary", "validationErrors", "notificationError"),
      itemsProcessed: 0,
      itemsErrored: 0,
      processingStartedAt: at,
      resumed: true,
    }),
  ),

  UploadBatchRetryFailedItemsProcessor: Processor.effect((batch: UploadBatch, { key }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const { stored, failed } = yield* work.retryFailed(batch, key)
      yield* Effect.logInfo(`batch ${batch.batchId}: failed items were retried, ${failed} still fail`)
      return {
        ...without(batch, "errorSummary", "resultSummary", "notificationError"),
        itemsProcessed: stored,
        itemsErrored: failed,
        processingStartedAt: now,
      }
    }),
  ),
})

const concluded = (batch: UploadBatch, now: number): UploadBatch => {
  const { processingStartedAt = now, itemsProcessed, itemsErrored, fileSize = 0 } = batch
  const millis = now - processingStartedAt
  const items = itemsProcessed + itemsErrored
  return {
    ...batch,
    processingCompletedAt: now,
    resultSummary: {
      items,
      stored: itemsProcessed,
      failed: itemsErrored,
      bytes: fileSize,
      millis,
      itemsPerSecond: millis === 0 ? 0 : Math.round((items * 1000) / millis),
    },
  }
}

/** Records a failed notification with the batch. The outcome does not change. */
const notified = (work: BatchWork, notice: Notice): Effect.Effect<UploadBatch> =>
  Effect.map(work.notify(notice), (problem) =>
    problem === undefined ? without(notice.batch, "notificationError") : { ...notice.batch, notificationError: problem },
  )

/** Counts a failure. A cancel does not count, and marking a failed batch again replaces only its reason. */
const countFailure = ({ retryCount }: UploadBatch, { cancelled }: FailureReport, now: number) => ({
  retryCount: cancelled === true ? retryCount : retryCount + 1,
  lastRetryAt: now,
})

/** The batch must fail even if the store fails: the next retry also takes items whose retry was interrupted. */
const endRetry = (work: BatchWork, batch: UploadBatch): Effect.Effect<void> =>
  Effect.catch(work.endRetry(batch), (error) =>
    Effect.logWarning(
      `batch ${batch.batchId}: items whose retry was interrupted stay in processing until the next retry: ${error.message}`,
    ),
  )

const isReason = Schema.is(Schema.Struct({ reason: Schema.String, cancelled: Schema.optionalKey(Schema.Literal(true)) }))

const failureReport = (
  work: BatchWork,
  batch: UploadBatch,
  error: EntityError | undefined,
  argument: unknown,
  at: number,
): Effect.Effect<FailureReport> =>
  Effect.map(
    // The report must not fail if counting fails.
    Effect.catch(work.count(batch), () => Effect.succeed({ stored: batch.itemsProcessed, failed: batch.itemsErrored })),
    (counts) => {
      if (error === undefined) {
        const { reason, cancelled } = isReason(argument) ? argument : { reason: "it was marked as failed" }
        return { message: reason, ...(cancelled === undefined ? {} : { cancelled }), at, ...counts }
      }
      const { message, cause, transition, processor, attempts } = error
      const known = { ...(cause === undefined ? {} : { cause }), ...(processor === undefined ? {} : { processor }) }
      return { message, ...known, transition, attempts, at, ...counts }
    },
  )

const without = <K extends keyof UploadBatch>(batch: UploadBatch, ...names: ReadonlyArray<K>): UploadBatch => {
  const left: { -readonly [N in keyof UploadBatch]?: UploadBatch[N] } = { ...batch }
  for (const name of names) delete left[name]
  return left as UploadBatch
}

/** The workflow of batches, from the text of its file. */
export const loadBatchWorkflow = (
  text: string,
  work: BatchWork,
): Effect.Effect<EntityWorkflow.EntityWorkflow<UploadBatch, string, string, never>, EntityWorkflowError> =>
  EntityWorkflow.fromJson(text, Registry.make(UploadBatch, { processors: processors(work), criteria }), { file: "upload-batch.json" })
