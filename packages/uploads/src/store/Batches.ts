/** The table of batches, with the file and the position of each. */
import type { PersistenceFailed } from "@detent/machine"
import type { Position } from "@detent/tables"
import * as Effect from "effect/Effect"
import { BatchRow } from "./Rows.ts"
import type { UploadStore } from "./UploadStore.ts"

type Found = Effect.Effect<BatchRow | undefined, PersistenceFailed>

export interface Claim {
  readonly batchId: string
  /** The name of its upload definition. */
  readonly kind: string
  readonly fileName: string
  readonly md5: string
  /** Whether this is the original batch of its file. Forced uploads of the same file are not. */
  readonly original: boolean
  readonly at: number
}

/** Inserts a new batch. Returns false if its id or, for an original batch, its file exists already. */
export const claimBatch = (
  store: UploadStore,
  { batchId, kind, fileName, md5, original, at }: Claim,
): Effect.Effect<boolean, PersistenceFailed> => {
  const { sql, batches, flag } = store.dialect
  const inserted = sql`
    insert into ${batches} (batch_id, kind, file_name, md5, original, created_at, updated_at)
    values (${batchId}, ${kind}, ${fileName}, ${md5}, ${flag(original)}, ${at}, ${at})
    on conflict do nothing
    returning *`
  return Effect.map(store.rows("claimBatch", BatchRow, inserted), (rows) => rows.length > 0)
}

export const findBatch = (store: UploadStore, batchId: string): Found => {
  const { sql, batches } = store.dialect
  return Effect.map(store.rows("findBatch", BatchRow, sql`select * from ${batches} where batch_id = ${batchId}`), ([row]) => row)
}

/** The original batch of a file in its kind. */
export const findByHash = (store: UploadStore, kind: string, md5: string): Found => {
  const { sql, batches } = store.dialect
  const found = sql`select * from ${batches} where kind = ${kind} and md5 = ${md5} and original`
  return Effect.map(store.rows("findByHash", BatchRow, found), ([row]) => row)
}

/** Batches, newest first. `after` is the number of the last batch of the previous page. */
export const listBatches = (
  store: UploadStore,
  limit: number,
  after: number | undefined,
): Effect.Effect<ReadonlyArray<BatchRow>, PersistenceFailed> => {
  const { sql, batches } = store.dialect
  const older = after === undefined ? sql`` : sql`where batch < ${after}`
  return store.rows("listBatches", BatchRow, sql`select * from ${batches} ${older} order by batch desc limit ${limit}`)
}

/** Sets the hash of a corrected file. If another batch is the original of that file, it stays the original. */
export const setHash = (store: UploadStore, batch: number, md5: string): Effect.Effect<void, PersistenceFailed> => {
  const { sql, batches, flag } = store.dialect
  return store.run(
    "setHash",
    sql`
      update ${batches} set md5 = ${md5},
        original = case when exists (
          select 1 from ${batches} as other
          where other.kind = ${batches}.kind and other.md5 = ${md5} and other.original and other.batch <> ${batch}
        ) then ${flag(false)} else original end
      where batch = ${batch}`,
  )
}

/** Records that extraction begins or resumes: the rate is measured from here. */
export const beginRun = (store: UploadStore, batch: number, at: number): Effect.Effect<void, PersistenceFailed> => {
  const { sql, batches } = store.dialect
  return store.run("beginRun", sql`update ${batches} set run_started_at = ${at}, run_start_index = next_index where batch = ${batch}`)
}

/** Advances the position of a batch. Returns false if another process has advanced it. */
export const advance = (
  store: UploadStore,
  batch: number,
  from: number,
  to: Position,
  at: number,
): Effect.Effect<boolean, PersistenceFailed> => {
  const { sql, batches } = store.dialect
  const moved = sql`
    update ${batches} set next_index = ${to.index}, next_offset = ${to.offset}, next_line = ${to.line}, updated_at = ${at}
    where batch = ${batch} and next_index = ${from}
    returning *`
  return Effect.map(store.rows("advance", BatchRow, moved), (rows) => rows.length > 0)
}

export const addCounts = (
  store: UploadStore,
  batch: number,
  { stored, failed }: { readonly stored: number; readonly failed: number },
): Effect.Effect<void, PersistenceFailed> => {
  const { sql, batches } = store.dialect
  return store.run("addCounts", sql`update ${batches} set stored = stored + ${stored}, failed = failed + ${failed} where batch = ${batch}`)
}
