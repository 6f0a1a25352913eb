import * as Schema from "effect/Schema"

/** A clause of an answer, and the words that prove it, at their place in the text of a document. */
export const AnswerClause = Schema.Struct({
  text: Schema.String,
  quote: Schema.String,
  documentId: Schema.String,
  source: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  start: Schema.Int,
  end: Schema.Int,
})
export type AnswerClause = typeof AnswerClause.Type
