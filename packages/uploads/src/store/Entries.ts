/** The table of entries: every item of every file, with its result. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { ErrorSummary } from "../batch/UploadBatch.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { EntryValues } from "./Dialect.ts"
import { ContentRow, DuplicateRow, EntryRow, type EntryState, ExampleRow, FailedRow, IndexRow, ReasonRow } from "./Rows.ts"
import type { UploadStore } from "./UploadStore.ts"

/** A new entry for an item of a file. */
export interface NewEntry {
  readonly index: number
  readonly id: string | undefined
  readonly line: number
  readonly offset: number
  /** Why it was not stored. */
  readonly problem: ItemProblem | undefined
  /** Its JSON, kept for a retry. */
  readonly content: string | undefined
}

export const insertEntries = (
  store: UploadStore,
  batch: number,
  entries: ReadonlyArray<NewEntry>,
): Effect.Effect<void, PersistenceFailed> => {
  const rows = entries.map(({ index, id, line, offset, problem, content }): EntryValues => {
    if (problem === undefined) return [batch, index, "stored", id ?? null, line, offset, null, null, null]
    const kept = content?.replaceAll("\u0000", "\ufffd") ?? null
    return [batch, index, "failed", id ?? null, line, offset, problem.reason, problem.message, kept]
  })
  return store.run("insertEntries", store.dialect.writeEntries(rows))
}

/** The ids that the batch has stored already, each with the index of its item. */
export const findStored = (
  store: UploadStore,
  batch: number,
  ids: ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed> => {
  if (ids.length === 0) return Effect.succeed(new Map())
  return Effect.map(
    store.rows("findStored", DuplicateRow, storedEntries(store, batch, ids)),
    (all) => new Map(all.map(({ item_id, item_index }) => [item_id, item_index])),
  )
}

/**
 * The stored entries of a batch with these ids. The cross join fixes the join order on SQLite, so that each id is looked up in the
 * index: 0.2 ms for 2,000 ids. With `in`, SQLite reads every entry of the batch: 26 ms for 300,000 entries.
 */
export const storedEntries = ({ dialect }: UploadStore, batch: number, ids: ReadonlyArray<string>) => {
  const { sql, entries, rows, textOf } = dialect
  return sql`
    select e.item_id, e.item_index from ${rows(JSON.stringify(ids))} cross join ${entries} e
    where e.batch = ${batch} and e.state = 'stored' and e.item_id = ${textOf("value")}`
}

/**
 * Marks failed items as `processing` and returns them with their JSON, in the order of the file; includes items whose retry was
 * interrupted. One statement marks and reads them, so that no correction comes in between.
 */
export const beginRetry = (
  store: UploadStore,
  batch: number,
  after: number,
  limit: number,
): Effect.Effect<ReadonlyArray<FailedRow>, PersistenceFailed> => {
  const { sql, entries } = store.dialect
  const marked = sql`
    update ${entries} set state = 'processing'
    where batch = ${batch} and state <> 'stored' and item_index in (
      select item_index from ${entries} where batch = ${batch} and state <> 'stored' and item_index > ${after}
      order by item_index limit ${limit}
    )
    returning item_index, state, item_id, line, byte_offset, attempts, reason, message, corrected_at, content`
  return Effect.map(store.rows("beginRetry", FailedRow, marked), (rows) =>
    rows.toSorted((left, right) => left.item_index - right.item_index),
  )
}

/** Marks items whose retry was interrupted as failed again. They keep their problem, their content and their correction. */
export const endRetry = (store: UploadStore, batch: number): Effect.Effect<void, PersistenceFailed> => {
  const { sql, entries } = store.dialect
  // Repeats the condition of the partial index of entries that are not stored, so that it can be used.
  const ended = sql`update ${entries} set state = 'failed' where batch = ${batch} and state = 'processing' and state <> 'stored'`
  return store.run("endRetry", ended)
}

/** The result of a retried item. */
export interface Retried {
  readonly index: number
  readonly id: string | undefined
  readonly problem: ItemProblem | undefined
  /** The number of attempts. */
  readonly attempts: number
}

/** Enters the results of retried items. Returns the indices of items that no other run had entered as stored. */
export const updateEntries = (
  store: UploadStore,
  batch: number,
  retried: ReadonlyArray<Retried>,
): Effect.Effect<ReadonlySet<number>, PersistenceFailed> => {
  const { sql, entries, rows } = store.dialect
  const json = JSON.stringify(
    retried.map(({ index, id, problem, attempts }) => [
      index,
      problem === undefined ? "stored" : "failed",
      id,
      problem?.reason,
      problem?.message,
      attempts,
    ]),
  )
  // The list of indices makes SQLite look up each entry: without it, 100 of 30,000 failed entries took 1,064 ms instead of 0.5 ms.
  const updated = sql`
    with retried as materialized (
      select cast(value ->> 0 as bigint) as place, value ->> 1 as state, value ->> 2 as item_id, value ->> 3 as reason,
        value ->> 4 as message, cast(value ->> 5 as integer) as attempts
      from ${rows(json)}
    )
    update ${entries} as e
    set state = r.state, item_id = r.item_id, reason = r.reason, message = r.message, attempts = r.attempts,
      corrected_at = null, content = case when r.state = 'stored' then null else e.content end
    from retried as r
    where e.batch = ${batch} and e.item_index in (select place from retried) and e.item_index = r.place and e.state <> 'stored'
    returning item_index`
  return Effect.map(store.rows("updateEntries", IndexRow, updated), (all) => new Set(all.map((row) => row.item_index)))
}

export interface EntryFilter {
  readonly state?: EntryState
  /** Why items failed. Default of `state`, with it: `failed`. */
  readonly reason?: string
  readonly after?: number
  readonly limit: number
}

/** Items of a batch in a state, in the order of the file. */
export const listEntries = (
  store: UploadStore,
  batch: number,
  filter: EntryFilter,
): Effect.Effect<ReadonlyArray<EntryRow>, PersistenceFailed> => store.rows("listEntries", EntryRow, entriesPage(store, batch, filter))

/** The statement of a page of entries, which an index serves. */
export const entriesPage = (
  { dialect }: UploadStore,
  batch: number,
  { reason, state = reason === undefined ? undefined : "failed", after, limit }: EntryFilter,
) => {
  const { sql, entries, byReason } = dialect
  const index = reason === undefined || state === "stored" ? sql`` : byReason
  const conditions = [
    sql`batch = ${batch}`,
    sql`item_index > ${after ?? -1}`,
    // Repeats the condition of the partial indexes of entries that are not stored, so that they can be used.
    ...(state === undefined ? [] : [state === "stored" ? sql`state = 'stored'` : sql`state = ${state} and state <> 'stored'`]),
    ...(reason === undefined ? [] : [sql`reason = ${reason}`]),
  ]
  return sql`
    select item_index, state, item_id, line, byte_offset, attempts, reason, message, corrected_at from ${entries} ${index}
    where ${sql.and(conditions)} order by item_index limit ${limit}`
}

/** One item of a batch. */
export const findEntry = (store: UploadStore, batch: number, index: number): Effect.Effect<EntryRow | undefined, PersistenceFailed> => {
  const { sql, entries } = store.dialect
  const found = sql`
    select item_index, state, item_id, line, byte_offset, attempts, reason, message, corrected_at from ${entries}
    where batch = ${batch} and item_index = ${index}`
  return Effect.map(store.rows("findEntry", EntryRow, found), ([row]) => row)
}

/** The original or corrected content of a failed item; undefined where it was not kept. */
export const contentOf = (store: UploadStore, batch: number, index: number): Effect.Effect<string | undefined, PersistenceFailed> => {
  const { sql, entries } = store.dialect
  const found = sql`select content from ${entries} where batch = ${batch} and item_index = ${index}`
  return Effect.map(store.rows("contentOf", ContentRow, found), ([row]) => row?.content ?? undefined)
}

/** How many examples of a reason are listed. */
const exampleLimit = 5

/** Failures by reason, most frequent first. */
export const summarizeErrors = (store: UploadStore, batch: number): Effect.Effect<ErrorSummary, PersistenceFailed> =>
  Effect.gen(function* () {
    const { sql, entries } = store.dialect
    const reasons = yield* store.rows(
      "summarizeErrors",
      ReasonRow,
      sql`
        select reason, count(*) as entries from ${entries}
        where batch = ${batch} and state <> 'stored' group by reason order by count(*) desc, reason`,
    )
    const examples = yield* store.rows(
      "summarizeErrors",
      ExampleRow,
      sql`
        select reason, item_index, line, item_id, message from (
          select reason, item_index, line, item_id, message, row_number() over (partition by reason order by item_index) as place
          from ${entries} where batch = ${batch} and state <> 'stored'
        ) as numbered
        where place <= ${exampleLimit} order by reason, item_index`,
    )
    return {
      total: reasons.reduce((sum, row) => sum + row.entries, 0),
      groups: reasons.map(({ reason, entries: count }) => ({
        reason,
        count,
        examples: examples
          .filter((example) => example.reason === reason)
          .map(({ item_index: index, line, item_id, message }) => ({
            index,
            line,
            ...(item_id === null ? {} : { id: item_id }),
            message,
          })),
      })),
    }
  })
