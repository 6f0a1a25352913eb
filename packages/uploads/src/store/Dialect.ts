/** The differences between SQLite and PostgreSQL in otherwise equal SQL. */
import type * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment, Statement } from "effect/sql/Statement"
import type { Existing } from "../batch/Existing.ts"
import type { ItemColumn } from "../kind/ItemColumns.ts"
import type { ItemContent } from "../kind/ItemKind.ts"
import type { SearchTerm } from "./SearchText.ts"

/** What becomes of a stored item with the id of a written one. `replace` writes it also where it is the same, with its words. */
export type OnConflict = Existing | "replace"

/** An item to write, with its batch and its index. */
export interface ItemOfBatch {
  readonly batch: number
  readonly index: number
  readonly item: ItemContent
}

export interface ViewStatements {
  /** Make or replace it. */
  readonly statements: ReadonlyArray<string>
  /** The text by which the database knows that the view is current. */
  readonly mark: string
}

export interface Dialect {
  /** The client without name transformations that a user may have configured. */
  readonly sql: SqlClient
  readonly batches: Fragment
  readonly entries: Fragment
  readonly items: Fragment
  /** Stands behind the table of entries where a reason is searched for. */
  readonly byReason: Fragment
  /** Items that have exceeded the limit of reading. */
  readonly limits: Fragment
  /** The mappings that are kept for kinds. */
  readonly mappings: Fragment
  /** A JSON array as rows `(value)`. */
  readonly rows: (json: string) => Fragment
  /** A column of such rows as text. */
  readonly textOf: (column: string) => Fragment
  readonly flag: (value: boolean) => Fragment
  /** Writes new entries, each with one attempt. */
  readonly writeEntries: (entries: ReadonlyArray<EntryValues>) => Effect.Effect<void, SqlError>
  /** Writes items of a kind: new ones, and stored ones as `existing` says. Returns the ids of those. */
  readonly writeItems: (
    kind: string,
    items: ReadonlyArray<ItemOfBatch>,
    existing: OnConflict,
  ) => Effect.Effect<ReadonlySet<string>, SqlError>
  /** The view of a kind. */
  readonly view: (view: string, kind: string, columns: ReadonlyArray<ItemColumn>) => ViewStatements
  /** The name of a view, as SQL has it. */
  readonly viewName: (view: string) => string
  /** A query whose column `current` has the mark of a view. */
  readonly viewMark: (view: string) => Statement<unknown & object>
  /** Waits for other processes that change views, in a transaction. */
  readonly lockViews: Effect.Effect<unknown, SqlError>
  /** Whether the item `i` matches all terms and has all tokens. */
  readonly matches: (terms: ReadonlyArray<SearchTerm>, tokens: ReadonlyArray<string>) => Fragment
}

/** The columns of a new entry, in the order of {@link EntryValues}. */
export const entryColumns = ["batch", "item_index", "state", "item_id", "line", "byte_offset", "reason", "message", "content"] as const

export type EntryValues = readonly [
  batch: number,
  index: number,
  state: "stored" | "failed",
  itemId: string | null,
  line: number,
  offset: number,
  reason: string | null,
  message: string | null,
  content: string | null,
]

export type Value = string | number | null
