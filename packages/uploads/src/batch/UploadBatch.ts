/** The entity of a batch's workflow. Times are milliseconds since 1970. */
import { Mapping, MappingSource, TableFormat, TableOptions } from "@detent/tables"
import * as Schema from "effect/Schema"
import { ProblemReason } from "../item/ItemProblem.ts"
import { Existing } from "./Existing.ts"

/** Items that failed for the same reason. */
export const ErrorGroup = Schema.Struct({
  reason: ProblemReason,
  count: Schema.Int,
  /** The first of them, in the order of the file. */
  examples: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      line: Schema.Int,
      id: Schema.optionalKey(Schema.String),
      message: Schema.String,
    }),
  ),
})
export type ErrorGroup = typeof ErrorGroup.Type

/** Failures by reason, most frequent first. */
export const ErrorSummary = Schema.Struct({ total: Schema.Int, groups: Schema.Array(ErrorGroup) })
export type ErrorSummary = typeof ErrorSummary.Type

/** The result of a batch. */
export const ResultSummary = Schema.Struct({
  items: Schema.Int,
  stored: Schema.Int,
  failed: Schema.Int,
  bytes: Schema.Finite,
  millis: Schema.Finite,
  itemsPerSecond: Schema.Finite,
})
export type ResultSummary = typeof ResultSummary.Type

/** Why a batch failed. */
export const FailureReport = Schema.Struct({
  message: Schema.String,
  /** The error and its causes, one per line, outermost first. Absent where a user marked the batch as failed. */
  cause: Schema.optionalKey(Schema.String),
  /** A user cancelled the batch. */
  cancelled: Schema.optionalKey(Schema.Literal(true)),
  /** The transition and the processor that failed; absent where a user marked the batch as failed. */
  transition: Schema.optionalKey(Schema.String),
  processor: Schema.optionalKey(Schema.String),
  attempts: Schema.optionalKey(Schema.Int),
  at: Schema.Finite,
  /** The counts of items at the time of the failure. */
  stored: Schema.Int,
  failed: Schema.Int,
})
export type FailureReport = typeof FailureReport.Type

export const UploadBatch = Schema.Struct({
  batchId: Schema.String,
  /** The name of its upload definition. */
  kind: Schema.String,
  fileName: Schema.String,
  filePath: Schema.String,
  fileSize: Schema.optionalKey(Schema.Finite),
  /** When the file was last modified, to detect changes while it is read. */
  fileModifiedAt: Schema.optionalKey(Schema.Finite),
  fileMd5Hash: Schema.optionalKey(Schema.String),
  contentType: Schema.optionalKey(Schema.String),
  /** What it does with items that are stored already. Default: `update`. */
  existing: Schema.optionalKey(Existing),
  /** What its user says of the format of the file. */
  given: Schema.optionalKey(TableOptions),
  /** The format of the file. */
  table: Schema.optionalKey(TableFormat),
  /** The mapping of its columns to fields; absent where each column is the field of its name. */
  mapping: Schema.optionalKey(Mapping),
  /** Who gave the mapping. */
  mappingSource: Schema.optionalKey(MappingSource),
  uploadedAt: Schema.optionalKey(Schema.Finite),
  processingStartedAt: Schema.optionalKey(Schema.Finite),
  processingCompletedAt: Schema.optionalKey(Schema.Finite),
  totalItemsInFile: Schema.Int,
  /** The number of invalid items that validation found, with their problems. */
  invalidItemsInFile: Schema.Int,
  validationErrors: Schema.optionalKey(ErrorSummary),
  itemsProcessed: Schema.Int,
  itemsErrored: Schema.Int,
  /** How often the batch has failed. A cancel by a user does not count. */
  retryCount: Schema.Int,
  /** A retry resumed the batch after it had failed or was cancelled. */
  resumed: Schema.optionalKey(Schema.Literal(true)),
  /** When it last failed or was cancelled. */
  lastRetryAt: Schema.optionalKey(Schema.Finite),
  failure: Schema.optionalKey(FailureReport),
  resultSummary: Schema.optionalKey(ResultSummary),
  errorSummary: Schema.optionalKey(ErrorSummary),
  /** Why the notification of the outcome failed. */
  notificationError: Schema.optionalKey(Schema.String),
})
export type UploadBatch = typeof UploadBatch.Type

/** The first entity of a batch. */
export const newBatch = (file: {
  readonly batchId: string
  readonly kind: string
  readonly fileName: string
  readonly filePath: string
}): UploadBatch => ({
  ...file,
  totalItemsInFile: 0,
  invalidItemsInFile: 0,
  itemsProcessed: 0,
  itemsErrored: 0,
  retryCount: 0,
})
