/**
 * The data of an item's instance, of any kind. The content of a stored item is a row in the table of items, written in
 * the same transaction; here it would be there twice.
 */
import * as Schema from "effect/Schema"
import { ItemProblem } from "./ItemProblem.ts"
import type { ReadContent } from "./ReadContent.ts"

export const HNItemEntity = Schema.Struct({
  batchId: Schema.String,
  /** Its place among the items of the file, counted from 0. */
  itemIndex: Schema.Int,
  sourceType: Schema.Literal("BULK_UPLOAD"),
  hnId: Schema.optionalKey(Schema.Int),
  type: Schema.optionalKey(Schema.String),
  /** Its id, where it is not an item of Hacker News. */
  itemId: Schema.optionalKey(Schema.String),
  /** The problem that reading found. */
  problem: Schema.optionalKey(ItemProblem),
  /** The item of the same batch that has its id, and came first. */
  duplicateOf: Schema.optionalKey(Schema.Int),
  /** How often it was tried. */
  attempts: Schema.Int,
  /** When it was read from its file, or given again, in milliseconds since 1970. */
  ingestedAt: Schema.optionalKey(Schema.Finite),
  /** When it was checked and found to be good. */
  validatedAt: Schema.optionalKey(Schema.Finite),
  storedAt: Schema.optionalKey(Schema.Finite),
  failedAt: Schema.optionalKey(Schema.Finite),
})
export type HNItemEntity = typeof HNItemEntity.Type

/** The input of a try: the item as it was read, and whether its id is a duplicate. */
export const Reading = Schema.Struct({
  hnId: Schema.optionalKey(Schema.Int),
  type: Schema.optionalKey(Schema.String),
  itemId: Schema.optionalKey(Schema.String),
  problem: Schema.optionalKey(ItemProblem),
  duplicateOf: Schema.optionalKey(Schema.Int),
  ingestedAt: Schema.optionalKey(Schema.Finite),
  validatedAt: Schema.optionalKey(Schema.Finite),
})
export type Reading = typeof Reading.Type

/** When an item was read, and when it was checked. */
export interface ReadTimes {
  readonly ingestedAt: number
  readonly validatedAt: number
}

export const readingOf = (read: ReadContent, duplicateOf: number | undefined, { ingestedAt, validatedAt }: ReadTimes): Reading => {
  if (read._tag === "Bad") {
    const { _tag, unchecked, ...known } = read
    return { ...known, ingestedAt }
  }
  const known = { ...read.known, ingestedAt, validatedAt }
  return duplicateOf === undefined ? known : { ...known, duplicateOf }
}

/** The id of an item's instance: ids of a batch sort like its items. */
export const itemInstanceId = (batchId: string, itemIndex: number): string => `${batchId}/${String(itemIndex).padStart(9, "0")}`
