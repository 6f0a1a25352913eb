/** The work that the processors of a batch call: reading its file, storing its items, counting and notifying. */
import type * as Effect from "effect/Effect"
import type { ErrorSummary, UploadBatch } from "./UploadBatch.ts"

export interface Counts {
  readonly stored: number
  readonly failed: number
}

export interface Notice {
  readonly batchId: string
  readonly outcome: "completed" | "partially_completed" | "failed"
  readonly batch: UploadBatch
  /** The same for the same outcome, also when the notification is repeated after a crash. */
  readonly key: string
}

type Fields<K extends keyof UploadBatch> = Required<Pick<UploadBatch, K>>

export interface BatchWork {
  /** Inspects the file, and computes its hash. */
  readonly inspect: (
    batch: UploadBatch,
  ) => Effect.Effect<Fields<"fileSize" | "fileModifiedAt" | "fileMd5Hash" | "contentType" | "table">, Error>
  /** Reads the whole file, and counts its items and their problems. */
  readonly validate: (
    batch: UploadBatch,
  ) => Effect.Effect<
    Fields<"fileSize" | "fileModifiedAt" | "fileMd5Hash" | "contentType" | "table" | "totalItemsInFile" | "invalidItemsInFile"> &
      Pick<UploadBatch, "validationErrors">,
    Error
  >
  /** Creates an instance for every item, starting where an earlier attempt stopped. */
  readonly extract: (batch: UploadBatch, key: string) => Effect.Effect<Counts, Error>
  /** Retries the failed items. */
  readonly retryFailed: (batch: UploadBatch, key: string) => Effect.Effect<Counts, Error>
  /** Marks items whose retry was interrupted as failed again. */
  readonly endRetry: (batch: UploadBatch) => Effect.Effect<void, Error>
  readonly count: (batch: UploadBatch) => Effect.Effect<Counts, Error>
  readonly summarizeErrors: (batch: UploadBatch) => Effect.Effect<ErrorSummary, Error>
  /** Notifies of the outcome. Returns why the notification failed, or undefined. */
  readonly notify: (notice: Notice) => Effect.Effect<string | undefined>
}
