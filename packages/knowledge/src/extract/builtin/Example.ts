/** Texts with the facts they state, written by hand or taken from elsewhere: what the built-in extractor learns from. */
import * as Schema from "effect/Schema"

export const ExampleTriple = Schema.Struct({
  sub: Schema.String,
  /** The label or the IRI of a property. */
  rel: Schema.String,
  obj: Schema.String,
})
export type ExampleTriple = typeof ExampleTriple.Type

/** One line of an examples file. */
export const Example = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  sent: Schema.String,
  triples: Schema.Array(ExampleTriple),
})
export type Example = typeof Example.Type
