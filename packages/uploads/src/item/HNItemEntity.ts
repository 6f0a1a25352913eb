/**
 * What the instance of an item knows of it. The content of a stored item is a row in the table of items, written in the
 * same transaction; here it would be there twice.
 */
import * as Schema from "effect/Schema"
import { ItemProblem } from "./ItemProblem.ts"
import type { ReadItem } from "./ReadItem.ts"

export const HNItemEntity = Schema.Struct({
  batchId: Schema.String,
  /** Its place among the items of the file, counted from 0. */
  itemIndex: Schema.Int,
  sourceType: Schema.Literal("BULK_UPLOAD"),
  hnId: Schema.optionalKey(Schema.Int),
  type: Schema.optionalKey(Schema.String),
  /** What reading it found wrong. */
  problem: Schema.optionalKey(ItemProblem),
  /** The item of the same batch that has its id, and came first. */
  duplicateOf: Schema.optionalKey(Schema.Int),
  /** How often it was tried. */
  attempts: Schema.Int,
  storedAt: Schema.optionalKey(Schema.Finite),
  failedAt: Schema.optionalKey(Schema.Finite),
})
export type HNItemEntity = typeof HNItemEntity.Type

/** What a try is about: the item as it was read, and whether it is a second of its id. */
export const Reading = Schema.Struct({
  hnId: Schema.optionalKey(Schema.Int),
  type: Schema.optionalKey(Schema.String),
  problem: Schema.optionalKey(ItemProblem),
  duplicateOf: Schema.optionalKey(Schema.Int),
})
export type Reading = typeof Reading.Type

export const readingOf = (read: ReadItem, duplicateOf: number | undefined): Reading => {
  if (read._tag === "Good") {
    const { hnId, type } = read.item
    return duplicateOf === undefined ? { hnId, type } : { hnId, type, duplicateOf }
  }
  const { _tag, ...known } = read
  return known
}

/** The id of an item's instance: ids of a batch sort like its items. */
export const itemInstanceId = (batchId: string, itemIndex: number): string => `${batchId}/${String(itemIndex).padStart(9, "0")}`
