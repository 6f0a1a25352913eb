/** Why an item was not stored. The reason is for counting and grouping, the message for the user who corrects the item. */
import * as Schema from "effect/Schema"

export const ProblemReason = Schema.Literals([
  /** It is not JSON. */
  "not_json",
  /** It is JSON, but not an object. */
  "not_an_object",
  /** Its bytes are not UTF-8, or its text has a character that the database cannot store. */
  "not_text",
  /** It exceeds the size limit of items. */
  "too_large",
  /** The row of a table has a broken quote, too few or too many cells, or is the header once more. */
  "bad_row",
  "missing_id",
  "invalid_id",
  /** A field that its schema requires is missing. */
  "missing_field",
  /** The value of a field does not fit its schema. */
  "invalid_field",
  /** An earlier item of the batch has the same id. */
  "duplicate",
  /** The check of its definition refused it. */
  "rejected",
  /** Reading it exceeded the limit of time or memory twice. It is read again when it is corrected or the limit is raised. */
  "limit_exceeded",
])
export type ProblemReason = typeof ProblemReason.Type

export const ItemProblem = Schema.Struct({ reason: ProblemReason, message: Schema.String })
export type ItemProblem = typeof ItemProblem.Type

/** Another item of the batch has the id. */
export const duplicateProblem = (first: number, id: string | undefined): ItemProblem => ({
  reason: "duplicate",
  message: `item ${first} of the batch has the same id ${id}`,
})
