/** The conditions of the transitions of a batch. They look at nothing but the batch, and the time where it matters. */
import * as Duration from "effect/Duration"
import type { UploadBatch } from "./UploadBatch.ts"

/** A batch that has failed so often is not retried any more. */
export const maxRetries = 3

/** A batch can be retried for so long after it failed. */
export const retryWindow = Duration.hours(24)

export const criteria = {
  UploadBatchValidCriterion: ({ fileName, fileSize = 0, fileMd5Hash, contentType, totalItemsInFile }: UploadBatch): boolean =>
    fileName !== "" && fileSize > 0 && fileMd5Hash !== undefined && contentType?.includes("json") === true && totalItemsInFile > 0,

  UploadBatchExtractionCompleteCriterion: ({ totalItemsInFile, itemsProcessed, processingCompletedAt }: UploadBatch): boolean =>
    totalItemsInFile > 0 && itemsProcessed >= 0 && processingCompletedAt !== undefined,

  UploadBatchAllItemsCompleteCriterion: (batch: UploadBatch): boolean => isAccountedFor(batch) && batch.itemsErrored === 0,

  UploadBatchSomeItemsCompleteCriterion: (batch: UploadBatch): boolean =>
    isAccountedFor(batch) && batch.itemsProcessed > 0 && batch.itemsErrored > 0,

  UploadBatchRetryableCriterion: ({ retryCount, lastRetryAt = 0, fileName }: UploadBatch, { at }: { readonly at: number }): boolean =>
    retryCount < maxRetries && at - lastRetryAt < Duration.toMillis(retryWindow) && fileName !== "",
}

/** Every item of the file is either stored or failed. */
const isAccountedFor = ({ totalItemsInFile, itemsProcessed, itemsErrored }: UploadBatch): boolean =>
  totalItemsInFile > 0 && itemsProcessed + itemsErrored >= totalItemsInFile
