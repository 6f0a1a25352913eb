/** The status of a batch: its state, its items by result, its rate and its estimated end. */
import type { EntityError, EntityState } from "@detent/entity"
import type { UploadBatch } from "./batch/UploadBatch.ts"
import { criteria } from "./batch/UploadBatchWorkflow.ts"
import type { BatchRow } from "./store/Rows.ts"

export interface ItemCounts {
  /** The number of items that validation counted in the file; 0 before that. */
  readonly total: number
  /** Items that have not been extracted yet. */
  readonly waiting: number
  readonly stored: number
  readonly failed: number
}

export interface BatchStatus {
  readonly batchId: string
  /** The name of its upload definition. */
  readonly kind: string
  readonly state: string
  /** The transition whose processors are running. */
  readonly step: string | undefined
  /** Whether no work is in progress: the batch is completed, partially completed or failed, or waits for a criterion to hold. */
  readonly isResting: boolean
  readonly items: ItemCounts
  /** The rate since extraction began or resumed. */
  readonly itemsPerSecond: number | undefined
  /** In milliseconds since 1970, while items are being extracted. */
  readonly estimatedCompletionAt: number | undefined
  /**
   * Whether a retry would be accepted now: `retryFailed` of a partially completed batch, `retryBatch` of a failed batch. The status does
   * not look for the file, which the retry of a failed batch may need.
   */
  readonly canRetry: boolean
  /** Why the last attempted transition failed: which processor failed, or which criterion did not hold. */
  readonly problem: EntityError | undefined
  readonly batch: UploadBatch
}

/** A batch works only in processors: without a pending transition, it waits for a request. */
export const isResting = ({ pending }: EntityState<string, UploadBatch>): boolean => pending === undefined

export const statusOf = (state: EntityState<string, UploadBatch>, row: BatchRow, now: number): BatchStatus => {
  const { entity: batch } = state
  const { totalItemsInFile: total } = batch
  const rate = isExtracting(state) ? rateOf(row) : undefined
  const waiting = Math.max(0, total - row.stored - row.failed)
  return {
    batchId: batch.batchId,
    kind: row.kind,
    state: state._tag,
    step: state.pending?.transition,
    isResting: isResting(state),
    items: { total, waiting, stored: row.stored, failed: row.failed },
    itemsPerSecond: rate === undefined ? batch.resultSummary?.itemsPerSecond : Math.round(rate * 1000),
    estimatedCompletionAt: rate === undefined ? undefined : Math.round(now + waiting / rate),
    canRetry: canRetry(state, now),
    problem: state.error,
    batch,
  }
}

/** Checks the criteria of the transitions. While processors run, a retry would be refused or would end them. */
const canRetry = (state: EntityState<string, UploadBatch>, at: number): boolean => {
  if (!isResting(state)) return false
  if (state._tag === "partially_completed") return true
  return state._tag === "failed" && criteria.UploadBatchRetryableCriterion(state.entity, { at })
}

const isExtracting = ({ pending }: EntityState<string, UploadBatch>): boolean => pending?.transition === "start_extraction"

/** Items per millisecond; undefined until some have been stored. */
const rateOf = ({ next_index, run_start_index, run_started_at, updated_at }: BatchRow): number | undefined => {
  if (run_started_at === null || next_index <= run_start_index || updated_at <= run_started_at) return undefined
  return (next_index - run_start_index) / (updated_at - run_started_at)
}
