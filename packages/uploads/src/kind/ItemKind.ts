/** A kind of items, for the work on batches and for the store: how an item is read, stored and found. The types of items are erased. */

import type { Mapping, TargetField } from "@detent/tables"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Notice } from "../batch/BatchWork.ts"
import type { DeliverOptions } from "./DeliverOptions.ts"
import type { ItemColumn } from "./ItemColumns.ts"
import type { ReadItem } from "./ReadItem.ts"

/** An item as JSON. */
export interface JsonObject {
  readonly [field: string]: Schema.Json
}

/** The stored and indexed content of an item, as plain data. */
export interface ItemContent {
  readonly id: string
  readonly time: number
  /** Its JSON. */
  readonly content: string
  /** The text that is searched for words. */
  readonly text: string
  /** One token for each value of a searched field: letters and digits. */
  readonly tokens: ReadonlyArray<string>
}

/** What extraction compares to check that a file has not changed since validation. */
export type Integrity = "size" | "time" | "hash"

/** The mapping of a file, with the columns of a table. */
export interface FileMapping {
  readonly mapping: Mapping
  /** Undefined for a file of JSON. */
  readonly columns: ReadonlyArray<string> | undefined
}

export interface ItemKind {
  readonly name: string
  /** Reads the JSON value of an item. */
  readonly read: (value: unknown) => ReadItem<object>
  /** Reads the cells of a row of a table, which are texts and, in sheets, also numbers. */
  readonly readCells: (value: unknown) => ReadItem<object>
  /** Whether `read` reads rows of a table. */
  readonly isTable: boolean
  /** The field of the id; undefined where it is computed. */
  readonly idField: string | undefined
  /** The fields that a mapping can fill; undefined where it can be any. */
  readonly targets: ReadonlyArray<TargetField> | undefined
  /** The mapping of its definition, for files that have one of its columns. */
  readonly mapping: Mapping | undefined
  /** The mapping of the file that is read. */
  readonly fileMapping?: FileMapping | undefined
  /** The unknown keys of a JSON value, as text, with the nearest known name. */
  readonly unknownKeys: (value: object) => string | undefined
  /** The JSON value of an item. */
  readonly encode: (item: object) => JsonObject
  readonly decode: (stored: unknown) => object
  readonly contentOf: (item: object) => ItemContent
  /** Fields that searches can use. */
  readonly fields: ReadonlyArray<string>
  /** The columns of its SQL view. */
  readonly columns: ReadonlyArray<ItemColumn>
  /** The address of the module that exports the definition. With a module, worker processes read the items. */
  readonly module: string | undefined
  readonly check: ((item: object) => string | undefined) | undefined
  readonly notify: ((notice: Notice) => Effect.Effect<void, unknown>) | undefined
  readonly deliver: DeliverOptions<object> | undefined
  readonly integrity: Integrity
}
