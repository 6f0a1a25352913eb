/**
 * The data of an item's instance, for every kind. It does not contain the content of a stored item, which is a row in the table of
 * items, written in the same transaction.
 */
import * as Schema from "effect/Schema"
import { ItemProblem } from "./ItemProblem.ts"

/** The input of an attempt: the result of reading the item, and whether its id is a duplicate. */
export const Reading = Schema.Struct({
  itemId: Schema.optionalKey(Schema.String),
  /** The problem that reading found. */
  problem: Schema.optionalKey(ItemProblem),
  /** The index of the first item of the batch with the same id. */
  duplicateOf: Schema.optionalKey(Schema.Int),
  /** When the item was read from its file, or retried, in milliseconds since 1970. */
  ingestedAt: Schema.optionalKey(Schema.Finite),
  /** When the item was found to be valid. */
  validatedAt: Schema.optionalKey(Schema.Finite),
})
export type Reading = typeof Reading.Type

export const ItemEntity = Schema.Struct({
  batchId: Schema.String,
  /** The position of the item in its file, counted from 0. */
  itemIndex: Schema.Int,
  sourceType: Schema.Literal("BULK_UPLOAD"),
  ...Reading.fields,
  /** The number of attempts. */
  attempts: Schema.Int,
  storedAt: Schema.optionalKey(Schema.Finite),
  failedAt: Schema.optionalKey(Schema.Finite),
})
export type ItemEntity = typeof ItemEntity.Type

/** The id of an item's instance. The ids of a batch sort in the order of its items. */
export const itemInstanceId = (batchId: string, itemIndex: number): string => `${batchId}/${String(itemIndex).padStart(9, "0")}`
