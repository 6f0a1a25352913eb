/** Implements the work on batches for the processors of their workflow. */
import type { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { BatchNotFound, type UploadUnknown } from "../batch/BatchProblem.ts"
import type { BatchWork, Notice } from "../batch/BatchWork.ts"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import { inspect, md5Of } from "../file/FileInspection.ts"
import { findBatch } from "../store/Batches.ts"
import { endRetry, summarizeErrors } from "../store/Entries.ts"
import type { BatchRow } from "../store/Rows.ts"
import { isTaken, located } from "./BatchFile.ts"
import { extractItems, insisting } from "./ExtractItems.ts"
import { retryItems } from "./RetryItems.ts"
import { kindOfBatch, type Uploading } from "./Uploading.ts"
import { validateFile } from "./ValidateFile.ts"

export const makeBatchWork = (uploading: Uploading): BatchWork => {
  const { store, limits, files } = uploading
  const withRow = <A, E = never>(
    { batchId }: UploadBatch,
    use: (row: BatchRow) => Effect.Effect<A, PersistenceFailed | E>,
  ): Effect.Effect<A, PersistenceFailed | BatchNotFound | E> =>
    Effect.flatMap(
      insisting(uploading, findBatch(store, batchId)),
      (row): Effect.Effect<A, PersistenceFailed | BatchNotFound | E> =>
        row === undefined ? Effect.fail(new BatchNotFound({ batchId })) : use(row),
    )
  const count = (batch: UploadBatch) => withRow(batch, ({ stored, failed }) => Effect.succeed({ stored, failed }))
  const retryFailed = (batch: UploadBatch, key: string) =>
    withRow<void, UploadUnknown>(batch, (row) =>
      Effect.flatMap(kindOfBatch(uploading, batch), (kind) =>
        retryItems(uploading, kind, row, { key, existing: batch.existing ?? "update" }),
      ),
    )
  return {
    inspect: (batch) =>
      Effect.gen(function* () {
        const { filePath, fileName } = located(uploading, batch)
        const { fileSize, modifiedAt, contentType, table } = yield* inspect(
          files,
          filePath,
          fileName,
          limits,
          batch.contentType,
          batch.given,
        )
        const { md5: fileMd5Hash } = yield* md5Of(files, filePath, fileName, limits)
        return { fileSize, fileModifiedAt: modifiedAt, fileMd5Hash, contentType, table }
      }),
    validate: (batch) =>
      Effect.gen(function* () {
        // A retry of failed items needs no file once all items are in the database.
        const known = (yield* withRow(batch, (row) => Effect.succeed(isTaken(batch, row)))) ? lastValidation(batch) : undefined
        return known ?? (yield* validateFile(uploading, located(uploading, batch)))
      }),
    extract: (batch, key) =>
      Effect.gen(function* () {
        // Also retries items that failed in an earlier attempt of the batch.
        if (batch.resumed === true) yield* retryFailed(batch, key)
        yield* extractItems(uploading, located(uploading, batch))
        return yield* count(batch)
      }),
    retryFailed: (batch, key) => Effect.andThen(retryFailed(batch, key), count(batch)),
    endRetry: (batch) => withRow(batch, (row) => insisting(uploading, endRetry(store, row.batch))),
    count,
    summarizeErrors: (batch) => withRow(batch, (row) => insisting(uploading, summarizeErrors(store, row.batch))),
    notify: (notice) => notifying(uploading, notice),
  }
}

/** What the last validation found; undefined before the first one. */
const lastValidation = (batch: UploadBatch) => {
  const { fileSize, fileModifiedAt, fileMd5Hash, contentType, table, totalItemsInFile, invalidItemsInFile } = batch
  if (fileSize === undefined || fileModifiedAt === undefined || fileMd5Hash === undefined) return undefined
  if (contentType === undefined || table === undefined) return undefined
  return { fileSize, fileModifiedAt, fileMd5Hash, contentType, table, totalItemsInFile, invalidItemsInFile }
}

const notifyTimeout = "30 seconds"

/** Notifies with a timeout and retries: a failing notification must not block the batch. The `notify` of the kind takes precedence. */
const notifying = (uploading: Uploading, notice: Notice): Effect.Effect<string | undefined> => {
  const notify = uploading.kinds.get(notice.batch.kind)?.notify ?? uploading.notify
  if (notify === undefined) return Effect.succeed(undefined)
  const attempt = Effect.timeout(
    Effect.suspend(() => notify(notice)),
    notifyTimeout,
  )
  return Effect.matchCauseEffect(Effect.retry(attempt, { schedule: Schedule.spaced("1 second"), times: 2 }), {
    onSuccess: () => Effect.succeed(undefined),
    onFailure: (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      const problem = Cause.squash(cause)
      const message = problem instanceof Error ? problem.message : String(problem)
      return Effect.as(Effect.logWarning(`the notification of batch ${notice.batchId} failed: ${message}`), message)
    },
  })
}
