/** A fact that the extractor was too unsure of for the graph: what it says, where it stands, and why it is on the review list. */
import * as Schema from "effect/Schema"
import type { Fact, Mention } from "../extract/Fact.ts"
import { type FactSource, statementOf } from "../rdf/FactGraph.ts"
import { DocumentId, RunId } from "../storage/Identity.ts"

const Span = Schema.Struct({ start: Schema.Int, end: Schema.Int })

const StoredMention = Schema.Struct({
  type: Schema.String,
  text: Schema.String,
  span: Span,
  confidence: Schema.Finite,
  name: Schema.optionalKey(Schema.String),
}) satisfies Schema.Codec<Mention, unknown>

/** A fact in the form that a run stores it in. */
export const StoredFact = Schema.Struct({
  subject: StoredMention,
  property: Schema.String,
  object: Schema.Union([
    Schema.TaggedStruct("Entity", { mention: StoredMention }),
    Schema.TaggedStruct("Value", { text: Schema.String, span: Span, datatype: Schema.String, lexical: Schema.String }),
  ]),
  quote: Schema.String,
  span: Span,
  confidence: Schema.Finite,
}) satisfies Schema.Codec<Fact, unknown>

export const ReviewFact = Schema.Struct({
  documentId: DocumentId,
  /** Of the version of the document; empty where the run did not store it. */
  contentHash: Schema.String,
  /** Where the document is, and what it is called. */
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
