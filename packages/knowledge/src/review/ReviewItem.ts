/** A fact of a review list: as people and programs see it, with the decisions on it, and as it is stored, with the reason why it is listed. */
import * as Schema from "effect/Schema"
import { StoredFact } from "../extract/Fact.ts"
import { type FactSource, statementOf } from "../rdf/FactGraph.ts"
import { DocumentId, RunId } from "../storage/Identity.ts"

/** A fact of which validation refused the acceptance is open again. */
export const ReviewStatus = Schema.Literals(["open", "accepted", "rejected"])
export type ReviewStatus = typeof ReviewStatus.Type

/** The decision of a reviewer on a fact. A decision that is reversed leaves it open: `reopened`. */
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
  /** The address and title of the document. */
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

/** A fact that the extractor was too unsure of for the graph, as a review list stores it. */
export const ReviewFact = Schema.Struct({
  documentId: DocumentId,
  /** Of the version of the document; empty where the run did not store it. */
  contentHash: Schema.String,
  /** The address and title of the document. */
  source: Schema.String,
  title: Schema.optionalKey(Schema.String),
  /** Of the document, as BCP 47 has it. */
  language: Schema.optionalKey(Schema.String),
  runId: RunId,
  extractor: Schema.String,
  /** Less sure facts went to the review list. */
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

/** Which part of the fact the extractor was too unsure of. */
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
