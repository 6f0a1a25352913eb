/** A kind of item as the work on batches and the store see it: how an item is read, kept and found. The types of items are erased. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Notice } from "../batch/BatchWork.ts"
import type { Identity, ReadItem } from "./ReadItem.ts"

/** A number for Hacker News, a text for every other kind. */
export type ItemId = string | number

/** An item as JSON. */
export interface JsonObject {
  readonly [field: string]: Schema.Json
}

/** What extraction compares to make sure that a file is the one that was validated. */
export type Integrity = "size" | "time" | "hash"

export interface ItemKind {
  readonly name: string
  /** The name of the machine of its items. */
  readonly machine: string
  /** The table of its items: Hacker News has one with a column for each field. */
  readonly storage: "items" | "upload_items"
  readonly idOf: (item: object) => ItemId
  /** What the instance of an item knows of it. */
  readonly identify: (item: object) => Identity
  /** Reads the JSON value of an item. */
  readonly read: (value: unknown) => ReadItem<object>
  /** The JSON value that is stored. */
  readonly encode: (item: object) => JsonObject
  readonly decode: (stored: unknown) => object
  /** The text whose words are found. */
  readonly text: (item: object) => string
  /** Fields that searches compare. */
  readonly fields: ReadonlyArray<string>
  /** What searches are ordered by; 0 where the item has none. */
  readonly time: (item: object) => number
  readonly check: ((item: object) => string | undefined) | undefined
  readonly notify: ((notice: Notice) => Effect.Effect<void, unknown>) | undefined
  readonly integrity: Integrity
}
