/** The table of stored items: finds the items of a kind by id, words, fields and time. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Fragment } from "effect/sql/Statement"
import { notACursor, type QueryRefused } from "../batch/BatchProblem.ts"
import type { Existing } from "../batch/Existing.ts"
import { type FieldValue, tokenOf } from "../item/FieldToken.ts"
import type { ItemContent, JsonObject } from "../kind/ItemKind.ts"
import type { ItemOfBatch } from "./Dialect.ts"
import { ItemRow, SameRow } from "./Rows.ts"
import { parseSearch } from "./SearchText.ts"
import type { UploadStore } from "./UploadStore.ts"

/** A stored item of a kind, with its batch. */
export interface StoredItem<out Item> {
  readonly id: string
  readonly item: Item
  readonly batchId: string
  /** The position of the item in its file, counted from 0. */
  readonly index: number
}

/** A search for items of a kind. All conditions must hold. */
export interface ItemQuery<Field extends string> {
  /** Words that must all occur in the text; supports "phrases", begin* and -not. */
  readonly text?: string
  /** Fields with their required values; a list matches with any of its elements. */
  readonly where?: { readonly [K in Field]?: FieldValue }
  /** The smallest `time`, inclusive. */
  readonly from?: number
  /** The largest `time`, exclusive. */
  readonly until?: number
  /** Only items that this batch wrote last. */
  readonly batchId?: string
  /** At most 1000. Default: 50. */
  readonly limit?: number
  /** `next` of the previous page. */
  readonly after?: string
}

/**
 * Items with the largest `time` first; of items with the same `time`, the one that was added last. An item that a later upload replaced
 * keeps its place among these.
 *
 * An index has this order, so a page of a frequent word ends early. Measured with 300,000 items, for a word of every item, of every
 * tenth and of 30 items: 44, 4 and 28 ms on SQLite, below 1.5 ms each on PostgreSQL; in the order of the key alone, it was 1,024, 103 and
 * 26 ms on SQLite, and the same on PostgreSQL.
 */
export interface ItemPage<out Item> {
  readonly items: ReadonlyArray<StoredItem<Item>>
  /** Pass it as `after` for the next page. */
  readonly next: string | undefined
}

export interface ItemTable {
  /** Writes the content of items. Returns the ids of those that were written: new ones and, with `update`, those that differ. */
  readonly write: (items: ReadonlyArray<ItemOfBatch>, existing: Existing) => Effect.Effect<ReadonlySet<string>, PersistenceFailed>
  /** The stored ids among those of the items, each with whether its content is the same. */
  readonly compare: (items: ReadonlyArray<ItemContent>) => Effect.Effect<ReadonlyMap<string, boolean>, PersistenceFailed>
  /** The items of a batch with these ids, except those that another batch has replaced. */
  readonly load: (batch: number, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredItem<JsonObject>>, PersistenceFailed>
  /** Finds an item, as JSON. */
  readonly find: (id: string) => Effect.Effect<Option.Option<StoredItem<JsonObject>>, PersistenceFailed>
  readonly search: (query: ItemQuery<string>) => Effect.Effect<ItemPage<JsonObject>, PersistenceFailed | QueryRefused>
}

export const itemTable = (store: UploadStore, kind: string): ItemTable => {
  const { dialect } = store
  const { sql } = dialect
  const select = (condition: Fragment, order: Fragment) =>
    store.rows(
      "searchItems",
      ItemRow,
      sql`
        select i.item, i.id, i.time, i.content, i.item_index, b.batch_id
        from ${dialect.items} i join ${dialect.batches} b on b.batch = i.batch
        where i.kind = ${kind} and ${condition} ${order}`,
    )
  /** Returns the stored JSON of an item, without decoding it by the current schema. */
  const shown = ({ id, content, batch_id: batchId, item_index: index }: ItemRow): StoredItem<JsonObject> => ({
    id,
    item: content,
    batchId,
    index,
  })
  return {
    write: (items, existing) => store.running("writeItems", dialect.writeItems(kind, items, existing)),
    compare: (items) => {
      const { items: table, rows } = dialect
      const given = JSON.stringify(items.map(({ id, content }) => [id, content]))
      // The cross join makes SQLite look up each id in the index.
      const compared = sql`
        select i.id, case when i.content = value ->> 1 then 1 else 0 end as same
        from ${rows(given)} cross join ${table} i where i.kind = ${kind} and i.id = value ->> 0`
      if (items.length === 0) return Effect.succeed(new Map())
      return Effect.map(store.rows("compareItems", SameRow, compared), (all) => new Map(all.map(({ id, same }) => [id, same === 1])))
    },
    load: (batch, ids) => {
      const { items: table, batches, rows } = dialect
      const found = sql`
        select i.item, i.id, i.time, i.content, i.item_index, b.batch_id
        from ${rows(JSON.stringify(ids.map((id) => [id])))} cross join ${table} i join ${batches} b on b.batch = i.batch
        where i.kind = ${kind} and i.id = value ->> 0 and i.batch = ${batch}`
      return Effect.map(store.rows("loadItems", ItemRow, found), (all) => all.map(shown))
    },
    find: (id) => Effect.map(select(sql`i.id = ${id}`, sql``), ([row]) => Option.map(Option.fromNullishOr(row), shown)),
    search: (query) =>
      Effect.gen(function* () {
        const limit = Math.max(1, Math.min(query.limit ?? 50, 1000))
        const order = sql`order by i.time desc, i.item desc limit ${limit + 1}`
        const rows = yield* select(conditionOf(store, query, yield* cursorOf(query.after)), order)
        const page = rows.slice(0, limit)
        const last = page.at(-1)
        const next = rows.length > limit && last !== undefined ? cursorText(last.time, last.item) : undefined
        return { items: page.map(shown), next }
      }),
  }
}

const conditionOf = ({ dialect }: UploadStore, query: ItemQuery<string>, after: Cursor | undefined): Fragment => {
  const { sql, matches, batches } = dialect
  const { text, where = {}, from, until, batchId } = query
  const terms = text === undefined ? [] : parseSearch(text)
  const tokens = Object.entries(where).flatMap(([field, value]) => (value === undefined ? [] : [tokenOf(field, value)]))
  // A text without words matches nothing.
  if (text !== undefined && terms.length === 0) return sql`1 = 0`
  const conditions: Array<Fragment> = terms.length + tokens.length === 0 ? [] : [matches(terms, tokens)]
  if (from !== undefined) conditions.push(sql`i.time >= ${from}`)
  if (until !== undefined) conditions.push(sql`i.time < ${until}`)
  if (batchId !== undefined) conditions.push(sql`i.batch = (select batch from ${batches} where batch_id = ${batchId})`)
  if (after !== undefined) conditions.push(sql`(i.time, i.item) < (${after.time}, ${after.key})`)
  return conditions.length === 0 ? sql`1 = 1` : sql.and(conditions)
}

// Cursors

interface Cursor {
  readonly time: number
  readonly key: number
}

const cursorText = (time: number, key: number): string => `${time}_${key}`

/** Decodes the cursor of a query. */
const cursorOf = (text: string | undefined): Effect.Effect<Cursor | undefined, QueryRefused> => {
  if (text === undefined) return Effect.succeed(undefined)
  const [, time, key] = /^(-?\d+(?:\.\d+)?(?:e[+-]\d+)?)_(\d+)$/.exec(text) ?? []
  const place = { time: Number(time), key: Number(key) }
  return Number.isFinite(place.time) && Number.isSafeInteger(place.key) ? Effect.succeed(place) : Effect.fail(notACursor())
}
