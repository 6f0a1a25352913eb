/** A review list as people and programs see it: its facts, how many are decided on, and what a decision came to. */
import * as Schema from "effect/Schema"
import { DocumentId } from "../storage/Identity.ts"

/** A fact of which validation refused the acceptance is open again. */
export const ReviewStatus = Schema.Literals(["open", "accepted", "rejected"])
export type ReviewStatus = typeof ReviewStatus.Type

/** What a reviewer decided on a fact. A decision that is reversed leaves it open: `reopened`. */
export const ReviewVerdict = Schema.Literals(["accepted", "rejected", "reopened"])
export type ReviewVerdict = typeof ReviewVerdict.Type

/** One decision on a fact. */
export const ReviewedOnce = Schema.Struct({
  verdict: ReviewVerdict,
  by: Schema.String,
  /** In milliseconds since 1970. */
  at: Schema.Int,
})
export type ReviewedOnce = typeof ReviewedOnce.Type

export const ReviewCounts = Schema.Struct({ open: Schema.Int, accepted: Schema.Int, rejected: Schema.Int })
export type ReviewCounts = typeof ReviewCounts.Type

/** A fact of a review list, as people see it. */
export const ReviewItem = Schema.Struct({
  factId: Schema.String,
  status: ReviewStatus,
  documentId: DocumentId,
  /** Where the document is, and what it is called. */
  source: Schema.String,
  title: Schema.optionalKey(Schema.String),
  subject: Schema.String,
  property: Schema.String,
  /** The words of an entity, or a value in the form of its datatype. */
  object: Schema.String,
  /** Of a value; an entity has none. */
  datatype: Schema.optionalKey(Schema.String),
  /** The words that say so, and where they stand in the text of the document. */
  quote: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
  confidence: Schema.Finite,
  extractor: Schema.String,
  /** Why it is on the list. */
  why: Schema.String,
  decidedBy: Schema.optionalKey(Schema.String),
  /** In milliseconds since 1970. */
  decidedAt: Schema.optionalKey(Schema.Int),
  /** Why accepting it was refused. The fact is open. */
  refused: Schema.optionalKey(Schema.String),
  /** Every decision on it, the first one first; absent where there was none. */
  history: Schema.optionalKey(Schema.Array(ReviewedOnce)),
})
export type ReviewItem = typeof ReviewItem.Type

export const ReviewOutcome = Schema.Struct({
  batchId: Schema.String,
  namespace: Schema.String,
  /** How many facts were decided, or reopened, now. */
  decided: Schema.Int,
  /** How many had this decision before. */
  unchanged: Schema.Int,
  /** Facts that are not decided so, and why. */
  refused: Schema.Array(Schema.Struct({ factId: Schema.String, problem: Schema.String })),
  /**
   * Of the selection, how many facts are still open, or still decided where they were to be reopened: those that were refused, and those
   * beyond the ten thousand that one request decides.
   */
  remaining: Schema.Int,
  /** Of the whole list. */
  review: ReviewCounts,
})
export type ReviewOutcome = typeof ReviewOutcome.Type
