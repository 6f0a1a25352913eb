/** Pages of batches and of their items. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import { itemInstanceId } from "./item/ItemEntity.ts"
import type { ItemProblem } from "./item/ItemProblem.ts"
import { listBatches } from "./store/Batches.ts"
import { listEntries } from "./store/Entries.ts"
import type { BatchRow, EntryRow, EntryState } from "./store/Rows.ts"
import type { UploadStore } from "./store/UploadStore.ts"

export interface BatchListing {
  readonly batchId: string
  /** The name of its upload definition. */
  readonly kind: string
  readonly fileName: string
  readonly md5: string
  readonly createdAt: number
  readonly stored: number
  readonly failed: number
}

export interface BatchPage {
  readonly batches: ReadonlyArray<BatchListing>
  /** Pass it as `after` for the next page. */
  readonly next: number | undefined
}

export interface EntryQuery {
  /** `processing`: items whose retry is in progress. */
  readonly state?: EntryState
  /** Only items that failed for this reason, such as `missing_id`. Default of `state`, with it: `failed`. */
  readonly reason?: string
  /** At most 1000. Default: 100. */
  readonly limit?: number
  /** `next` of the previous page. */
  readonly after?: number
}

/** An item of a file, and its result. */
export interface Entry {
  /** The position of the item in its file, counted from 0. */
  readonly index: number
  readonly line: number
  /** In bytes from the start of the text. */
  readonly offset: number
  readonly state: EntryState
  /** The id of the item as text, if it is known. */
  readonly id: string | undefined
  /** Why it failed last. */
  readonly problem: ItemProblem | undefined
  /** When its content was corrected, for a failed item that waits for its retry; in milliseconds since 1970. */
  readonly correctedAt: number | undefined
  readonly attempts: number
  /** The instance with the history of the item. */
  readonly instanceId: string
}

export interface EntryPage {
  readonly items: ReadonlyArray<Entry>
  readonly next: number | undefined
}

const limited = (limit: number | undefined): number => Math.max(1, Math.min(limit ?? 100, 1000))

export const batchPage = (
  store: UploadStore,
  { limit, after }: { readonly limit?: number; readonly after?: number },
): Effect.Effect<BatchPage, PersistenceFailed> => {
  const most = limited(limit)
  return Effect.map(listBatches(store, most + 1, after), (rows) => ({
    batches: rows.slice(0, most).map(({ batch_id: batchId, kind, file_name: fileName, md5, created_at: createdAt, stored, failed }) => ({
      batchId,
      kind,
      fileName,
      md5,
      createdAt,
      stored,
      failed,
    })),
    next: rows.length > most ? rows[most - 1]?.batch : undefined,
  }))
}

export const entryPage = (
  store: UploadStore,
  { batch, batch_id: batchId }: BatchRow,
  { limit, ...query }: EntryQuery,
): Effect.Effect<EntryPage, PersistenceFailed> => {
  const most = limited(limit)
  return Effect.map(listEntries(store, batch, { ...query, limit: most + 1 }), (rows) => ({
    items: rows.slice(0, most).map((row) => entryOf(row, batchId)),
    next: rows.length > most ? rows[most - 1]?.item_index : undefined,
  }))
}

export const entryOf = (row: EntryRow, batchId: string): Entry => ({
  index: row.item_index,
  line: row.line,
  offset: row.byte_offset,
  state: row.state,
  id: row.item_id ?? undefined,
  problem: row.reason === null ? undefined : { reason: row.reason, message: row.message ?? "" },
  correctedAt: row.corrected_at ?? undefined,
  attempts: row.attempts,
  instanceId: itemInstanceId(batchId, row.item_index),
})
