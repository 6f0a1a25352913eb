/** Failed entries with their content, by the page, and what a file of corrections changes in them. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { EntryRow, FailedRow, IndexRow } from "./Rows.ts"
import type { UploadStore } from "./UploadStore.ts"

/** The limits of a page: the failed entries of a batch are never in memory together. */
const pageRows = 500
const pageBytes = 4_000_000

/** Failed entries after an index, in the order of the file. Returns at least one, unless there is none. */
export const failedPage = (
  store: UploadStore,
  batch: number,
  after: number,
): Effect.Effect<ReadonlyArray<FailedRow>, PersistenceFailed> => {
  const { sql, entries } = store.dialect
  // The sizes are added up without the contents, so that the database does not sort these.
  const page = sql`
    select item_index, state, item_id, line, byte_offset, attempts, reason, message, corrected_at, content from ${entries}
    where batch = ${batch} and item_index in (
      select item_index from (
        select item_index, sum(bytes) over (order by item_index) - bytes as before from (
          select item_index, coalesce(length(content), 0) as bytes from ${entries}
          where batch = ${batch} and state = 'failed' and state <> 'stored' and item_index > ${after}
          order by item_index limit ${pageRows}
        ) as sized
      ) as summed where before < ${pageBytes}
    ) order by item_index`
  return store.rows("failedPage", FailedRow, page)
}

const SizedRow = Schema.Struct({ ...EntryRow.fields, bytes: EntryRow.fields.item_index })
type SizedRow = typeof SizedRow.Type

/** The entries with these indices, each with the size of its content. */
export const sizedEntries = (
  store: UploadStore,
  batch: number,
  indices: ReadonlyArray<number>,
): Effect.Effect<ReadonlyArray<SizedRow>, PersistenceFailed> => {
  const { sql, entries, rows } = store.dialect
  const found = sql`
    select item_index, state, item_id, line, byte_offset, attempts, reason, message, corrected_at, coalesce(length(content), 0) as bytes
    from ${entries}
    where batch = ${batch} and item_index in (select cast(value ->> 0 as bigint) from ${rows(inRows(indices))})`
  return store.rows("sizedEntries", SizedRow, found)
}

const ContentRow = Schema.Struct({ item_index: EntryRow.fields.item_index, content: Schema.NullOr(Schema.String) })

/** The contents of the entries with these indices. */
export const contentsOf = (
  store: UploadStore,
  batch: number,
  indices: ReadonlyArray<number>,
): Effect.Effect<ReadonlyMap<number, string>, PersistenceFailed> => {
  const { sql, entries, rows } = store.dialect
  const found = sql`
    select item_index, content from ${entries}
    where batch = ${batch} and item_index in (select cast(value ->> 0 as bigint) from ${rows(inRows(indices))})`
  return Effect.map(
    store.rows("contentsOf", ContentRow, found),
    (all) => new Map(all.flatMap(({ item_index, content }) => (content === null ? [] : [[item_index, content]]))),
  )
}

export interface Replacement {
  readonly index: number
  readonly content: string
}

/**
 * Replaces the contents of failed items, records when, and forgets that reading them exceeded a limit. Returns the indices of the items
 * that had failed; others, such as items whose retry has begun, keep their content.
 */
export const replaceContents = (
  store: UploadStore,
  batch: number,
  replacements: ReadonlyArray<Replacement>,
  at: number,
): Effect.Effect<ReadonlySet<number>, PersistenceFailed> => {
  const { sql, entries, rows, limits } = store.dialect
  const json = JSON.stringify(replacements.map(({ index, content }) => [index, content]))
  // The list of indices makes SQLite look up each entry, as in `updateEntries`.
  const replaced = sql`
    with given as materialized (
      select cast(value ->> 0 as bigint) as place, value ->> 1 as content from ${rows(json)}
    )
    update ${entries} as e set content = g.content, corrected_at = ${at} from given as g
    where e.batch = ${batch} and e.item_index in (select place from given) and e.item_index = g.place and e.state = 'failed'
    returning item_index`
  return store.transact(
    "replaceContents",
    Effect.gen(function* () {
      const changed = yield* store.rows("replaceContents", IndexRow, replaced)
      const indices = changed.map(({ item_index }) => item_index)
      const forgotten = sql`
        delete from ${limits}
        where batch = ${batch} and item_index in (select cast(value ->> 0 as bigint) from ${rows(inRows(indices))})`
      yield* store.run("replaceContents", forgotten)
      return new Set(indices)
    }),
  )
}

/** A list of numbers as JSON, each in an array of its own: both databases read a part of it with the same operator. */
const inRows = (numbers: ReadonlyArray<number>): string => JSON.stringify(numbers.map((one) => [one]))
