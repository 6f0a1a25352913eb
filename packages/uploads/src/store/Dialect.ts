/** The differences between SQLite and PostgreSQL in otherwise equal SQL. */
import type * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { HNItem } from "../item/HNItem.ts"
import type { KindContent } from "../item/ItemKind.ts"
import type { SearchTerm } from "./SearchText.ts"

/** An item to write, with its batch and its index. */
export interface ItemOfBatch<Item = HNItem> {
  readonly batch: number
  readonly index: number
  readonly item: Item
}

export interface Dialect {
  /** The client without name transformations that a user may have configured. */
  readonly sql: SqlClient
  readonly batches: Fragment
  readonly entries: Fragment
  readonly items: Fragment
  /** Items of every kind but Hacker News. */
  readonly kindItems: Fragment
  /** Items that have exceeded the limit of reading. */
  readonly limits: Fragment
  /** A JSON array as rows `(value)`. */
  readonly rows: (json: string) => Fragment
  /** A column of such rows as text. */
  readonly textOf: (column: string) => Fragment
  /** Writes new entries, each with one attempt. */
  readonly writeEntries: (entries: ReadonlyArray<EntryValues>) => Effect.Effect<void, SqlError>
  /** Writes items, and replaces existing ones. */
  readonly writeItems: (items: ReadonlyArray<ItemOfBatch>) => Effect.Effect<void, SqlError>
  /** Whether the item `i` matches all terms. */
  readonly matches: (terms: ReadonlyArray<SearchTerm>) => Fragment
  /** Whether the item `i` is by an author. */
  readonly isBy: (author: string) => Fragment
  readonly flag: (value: boolean) => Fragment
  /** Writes items of a kind, and replaces existing ones. */
  readonly writeKindItems: (items: ReadonlyArray<KindItemValues>) => Effect.Effect<void, SqlError>
  /** Whether the item `i` of a kind matches all terms and has all tokens. */
  readonly kindMatches: (terms: ReadonlyArray<SearchTerm>, tokens: ReadonlyArray<string>) => Fragment
}

/** The row of an item of any kind but Hacker News. */
export interface KindItemValues extends KindContent {
  readonly kind: string
  readonly batch: number
  readonly index: number
}

/** The columns of a new entry, in the order of {@link EntryValues}. */
export const entryColumns = [
  "batch",
  "item_index",
  "state",
  "hn_id",
  "item_id",
  "line",
  "byte_offset",
  "reason",
  "message",
  "content",
] as const

export type EntryValues = readonly [
  batch: number,
  index: number,
  state: "stored" | "failed",
  hnId: number | null,
  itemId: string | null,
  line: number,
  offset: number,
  reason: string | null,
  message: string | null,
  content: string | null,
]

/** The columns of the table of items, in the order of {@link addItemValues}. */
export const itemColumns = [
  "hn_id",
  "type",
  "author",
  "time",
  "text",
  "url",
  "title",
  "score",
  "kids",
  "parent",
  "descendants",
  "deleted",
  "dead",
  "parts",
  "poll",
  "batch",
  "item_index",
] as const

export type Value = string | number | null

export const addItemValues = (values: Array<Value>, { batch, index, item }: ItemOfBatch) => {
  values.push(
    item.hnId,
    item.type,
    item.by ?? null,
    item.time ?? 0,
    item.text ?? null,
    item.url ?? null,
    item.title ?? null,
    item.score ?? null,
    item.kids === undefined ? null : JSON.stringify(item.kids),
    item.parent ?? null,
    item.descendants ?? null,
    item.deleted === undefined ? null : Number(item.deleted),
    item.dead === undefined ? null : Number(item.dead),
    item.parts === undefined ? null : JSON.stringify(item.parts),
    item.poll ?? null,
    batch,
    index,
  )
}

/** The assignments that replace an existing item. */
export const replacedColumns = itemColumns.slice(1).map((column) => `${column} = excluded.${column}`)
