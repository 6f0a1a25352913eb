/** What a diff of two versions of a graph lists: facts with the words that state them, by document. */
import * as Schema from "effect/Schema"

export const DiffFact = Schema.Struct({
  subject: Schema.String,
  subjectLabel: Schema.optionalKey(Schema.String),
  property: Schema.String,
  /** An IRI, or the text of a value. */
  object: Schema.String,
  objectLabel: Schema.optionalKey(Schema.String),
  /** Of a value; an IRI has none. */
  datatype: Schema.optionalKey(Schema.String),
  /** The words that say so. */
  quote: Schema.String,
})
export type DiffFact = typeof DiffFact.Type

export const DocumentDiff = Schema.Struct({
  documentId: Schema.String,
  /** Where it is; absent where the graph does not say. */
  source: Schema.optionalKey(Schema.String),
  added: Schema.Array(DiffFact),
  removed: Schema.Array(DiffFact),
})
export type DocumentDiff = typeof DocumentDiff.Type

export const GraphDiff = Schema.Struct({
  /** How many statements of documents the graph gained and lost, listed or not. */
  added: Schema.Int,
  removed: Schema.Int,
  documents: Schema.Array(DocumentDiff),
})
export type GraphDiff = typeof GraphDiff.Type
