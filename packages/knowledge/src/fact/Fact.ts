/**
 * The findings of an extractor in a text: mentions of entities, and facts between them. Each finding has the exact words it rests
 * on, so that a reader can check it, and a fact whose words are not in the text can be rejected.
 */
import * as Schema from "effect/Schema"

/** A range of the document, in UTF-16 code units: `document.slice(start, end)` is the quote. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Where a part of the text comes from. */
export const Place = Schema.Union([
  /** A range of characters of the decoded source. */
  Schema.TaggedStruct("Characters", { start: Schema.Int, end: Schema.Int }),
  /** A value in JSON: `/employees/0/name`. */
  Schema.TaggedStruct("Pointer", { pointer: Schema.String }),
  /** A record of a table, counted from 1, and the column's name. `sheet`: of a workbook. */
  Schema.TaggedStruct("Cell", { record: Schema.Int, column: Schema.String, sheet: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("Page", { page: Schema.Int }),
])
export type Place = typeof Place.Type

/** An entity as one place of the text names it. */
export interface Mention {
  /** The IRI of its class in the ontology. */
  readonly type: string
  /** The words of the text. */
  readonly text: string
  readonly span: Span
  /** From 0 to 1. */
  readonly confidence: number
  /** Set where the words are another name of an entity: the name under which earlier chunks of the document know it. */
  readonly name?: string
  /** The identifier of the entity, where its record has one: namesakes with different identifiers are different entities. */
  readonly identifier?: string
}

/** The object of a fact: another mention, or a value with its datatype. */
export type FactObject =
  | { readonly _tag: "Entity"; readonly mention: Mention }
  | {
      readonly _tag: "Value"
      readonly text: string
      readonly span: Span
      /** The IRI of the datatype; `xsd:string` if the ontology names none. */
      readonly datatype: string
      /** The value in the lexical form of the datatype: `1984-05-02` for "2 May 1984". */
      readonly lexical: string
      /** The language of a text, as a tag. Default: that of the document. */
      readonly language?: string
    }

export interface Fact {
  readonly subject: Mention
  /** The IRI of the property in the ontology. */
  readonly property: string
  readonly object: FactObject
  /** The words that state the fact: they contain subject and object, or stand near them. */
  readonly quote: string
  readonly span: Span
  readonly confidence: number
}

/**
 * A value of a table or a field that does not fit the datatype of its property, such as "about two million" for an integer; or a row or a
 * record of which no cell is surely a name, with the first property that it has a value of.
 */
export interface Misfit {
  /** The IRI of the property. */
  readonly property: string
  readonly text: string
  readonly span: Span
}

const StoredSpan = Schema.Struct({ start: Schema.Int, end: Schema.Int })

/** A mention in the form in which runs store it. */
export const StoredMention = Schema.Struct({
  type: Schema.String,
  text: Schema.String,
  span: StoredSpan,
  confidence: Schema.Finite,
  name: Schema.optionalKey(Schema.String),
  identifier: Schema.optionalKey(Schema.String),
}) satisfies Schema.Codec<Mention, unknown>

/** A fact in the form in which runs store it. */
export const StoredFact = Schema.Struct({
  subject: StoredMention,
  property: Schema.String,
  object: Schema.Union([
    Schema.TaggedStruct("Entity", { mention: StoredMention }),
    Schema.TaggedStruct("Value", {
      text: Schema.String,
      span: StoredSpan,
      datatype: Schema.String,
      lexical: Schema.String,
      language: Schema.optionalKey(Schema.String),
    }),
  ]),
  quote: Schema.String,
  span: StoredSpan,
  confidence: Schema.Finite,
}) satisfies Schema.Codec<Fact, unknown>

export interface SplitFacts {
  readonly accepted: ReadonlyArray<Fact>
  readonly review: ReadonlyArray<Fact>
}

/** Splits facts into those for the graph and those for the review list. */
export const splitByConfidence = (facts: ReadonlyArray<Fact>, threshold: number): SplitFacts => {
  const accepted: Array<Fact> = []
  const review: Array<Fact> = []
  for (const fact of facts) (surenessOf(fact) >= threshold ? accepted : review).push(fact)
  return { accepted, review }
}

/** The least of the confidences of the fact, its subject and its object. */
export const surenessOf = ({ subject, object, confidence }: Fact): number =>
  Math.min(confidence, subject.confidence, object._tag === "Entity" ? object.mention.confidence : 1)
