/** A fact of a review list: `ReviewItem` is the form for clients, with the decisions on it; `ReviewFact` is the stored form. */
import * as Schema from "effect/Schema"
import { StoredFact } from "../fact/Fact.ts"
import { type FactSource, statementOf } from "../fact/FactGraph.ts"
import { DocumentId, RunId } from "../storage/Identity.ts"

/** A fact is open again when validation refuses its acceptance. */
export const ReviewStatus = Schema.Literals(["open", "accepted", "rejected"])
export type ReviewStatus = typeof ReviewStatus.Type

/** The decision of a reviewer on a fact. `reopened` reverses the earlier decision. */
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

/** A fact of a review list, as clients see it. */
export const ReviewItem = Schema.Struct({
  factId: Schema.String,
  status: ReviewStatus,
  documentId: DocumentId,
  /** The address and title of the document. */
  source: Schema.String,
  title: Schema.optionalKey(Schema.String),
  subject: Schema.String,
  property: Schema.String,
  /** The name of an entity, or the lexical form of a value. */
  object: Schema.String,
  /** The datatype of a value; absent for an entity. */
  datatype: Schema.optionalKey(Schema.String),
  /** The words that state the fact, and their span in the text of the document. */
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
  /** Every decision on the fact, the earliest first; absent when there was none. */
  history: Schema.optionalKey(Schema.Array(ReviewedOnce)),
})
export type ReviewItem = typeof ReviewItem.Type

export const ReviewOutcome = Schema.Struct({
  batchId: Schema.String,
  namespace: Schema.String,
  /** How many facts were decided, or reopened, now. */
  decided: Schema.Int,
  /** How many facts had this decision already. */
  unchanged: Schema.Int,
  /** Facts that were not decided, and why. */
  refused: Schema.Array(Schema.Struct({ factId: Schema.String, problem: Schema.String })),
  /**
   * How many facts of the selection are still open, or still decided after a `reopen`: those that were refused, and those beyond the ten
   * thousand that one request decides.
   */
  remaining: Schema.Int,
  /** The counts of the whole list. */
  review: ReviewCounts,
})
export type ReviewOutcome = typeof ReviewOutcome.Type

/** A fact too uncertain for the graph, as a review list stores it. */
export const ReviewFact = Schema.Struct({
  documentId: DocumentId,
  /** The hash of the document version; empty when the run did not store it. */
  contentHash: Schema.String,
  /** The address and title of the document. */
  source: Schema.String,
  title: Schema.optionalKey(Schema.String),
  /** The language of the document, as a BCP 47 tag. */
  language: Schema.optionalKey(Schema.String),
  runId: RunId,
  extractor: Schema.String,
  /** The confidence below which facts went to the review list. */
  reviewBelow: Schema.Finite,
  fact: StoredFact,
})
export type ReviewFact = typeof ReviewFact.Type

export const ReviewFactJson = Schema.fromJsonString(ReviewFact)

export const sourceOf = ({ documentId, runId, extractor, language }: ReviewFact): FactSource => ({
  documentId,
  runId,
  extractor,
  ...(language === undefined ? {} : { language }),
})

export const statementOfReview = (one: ReviewFact): string => statementOf(one.fact, sourceOf(one))

/** The last part of its statement's IRI: the same fact at the same place of a document, in every run, has the same id. */
export const factIdOf = (one: ReviewFact): string => {
  const statement = statementOfReview(one)
  return statement.slice(statement.lastIndexOf(":") + 1)
}

/** Names the part of the fact with the lowest confidence. */
export const whyInReview = ({ fact, reviewBelow }: ReviewFact): string => {
  const { subject, object, confidence } = fact
  const parts = [
    ["the fact", confidence],
    [`its subject "${subject.text}"`, subject.confidence],
    ...(object._tag === "Entity" ? [[`its object "${object.mention.text}"`, object.mention.confidence] as const] : []),
  ] as const
  const [least, sureness] = parts.reduce((low, one) => (one[1] < low[1] ? one : low))
  return `the confidence of ${least} is ${rounded(sureness)}, less than ${reviewBelow}`
}

const rounded = (sureness: number): number => Number(sureness.toFixed(4))
