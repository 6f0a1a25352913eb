/**
 * Takes from a model's answer what holds: names and quotes that are in the text, classes and properties that are in the ontology
 * and fit each other, values that say what the text says. Everything else is rejected, with the reason.
 */

import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { xsd } from "../../rdf/Vocabulary.ts"
import type { Chunk, KnownEntity } from "../Extractor.ts"
import type { Fact, FactObject, Mention, Span } from "../Fact.ts"
import type { SaidEntity, SaidFact } from "./AnswerReading.ts"
import type { Vocabulary } from "./ChunkVocabulary.ts"
import { lexicalOf } from "./Lexical.ts"
import { QuoteFinder } from "./QuoteFinder.ts"
import { type Rejection, type RejectionReason, rejectionOf } from "./Rejection.ts"

export interface Checked<A> {
  readonly taken: ReadonlyArray<A>
  readonly rejected: ReadonlyArray<Rejection>
}

/** A model that does not say how sure it is counts as undecided. */
const unsaid = 0.5

export const checkEntities = (
  said: ReadonlyArray<SaidEntity>,
  chunk: Chunk,
  classes: Vocabulary,
  known: ReadonlyArray<KnownEntity> = [],
): Checked<Mention> => {
  const finder = new QuoteFinder(chunk.text)
  const types = new Map(classes.map(({ key, iri }) => [key, iri]))
  const taken: Array<Mention> = []
  const rejected: Array<Rejection> = []
  const used = new Map<string, number>()
  for (const entity of said) {
    const type = types.get(entity.class)
    if (type === undefined) {
      rejected.push(rejectionOf("entity", "UnknownClass", entity))
      continue
    }
    // A name given twice stands for the second place, a name given more often than it is there for nothing.
    const turn = used.get(entity.quote) ?? 0
    const places = finder.findAll(entity.quote)
    const span = places[turn]
    if (span === undefined) {
      if (places.length === 0) rejected.push(rejectionOf("entity", "QuoteNotFound", entity))
      continue
    }
    used.set(entity.quote, turn + 1)
    const name = nameOf(entity, type, known)
    taken.push({
      type,
      text: textAt(chunk, span),
      span: inDocument(chunk, span),
      confidence: confidenceOf(entity),
      ...(name === undefined ? {} : { name }),
    })
  }
  return { taken, rejected }
}

/** One of another class is another entity, whatever the model says. */
const nameOf = (entity: SaidEntity, type: string, known: ReadonlyArray<KnownEntity>): string | undefined => {
  const same = entity.known === undefined || entity.known === null ? undefined : known[entity.known - 1]
  return same?.types.includes(type) ? same.label : undefined
}

export const checkFacts = (
  said: ReadonlyArray<SaidFact>,
  chunk: Chunk,
  mentions: ReadonlyArray<Mention>,
  properties: Vocabulary,
  ontology: OntologyIndex,
): Checked<Fact> => {
  const finder = new QuoteFinder(chunk.text)
  const byKey = new Map(properties.map(({ key, iri }) => [key, iri]))
  const taken: Array<Fact> = []
  const rejected: Array<Rejection> = []
  for (const item of said) {
    const outcome = checkFact(item, { chunk, mentions, byKey, ontology, finder })
    if (typeof outcome === "string") rejected.push(rejectionOf("fact", outcome, item))
    else taken.push(outcome)
  }
  return { taken, rejected }
}

interface Grounds {
  readonly chunk: Chunk
  readonly mentions: ReadonlyArray<Mention>
  readonly byKey: ReadonlyMap<string, string>
  readonly ontology: OntologyIndex
  readonly finder: QuoteFinder
}

const checkFact = (said: SaidFact, grounds: Grounds): Fact | RejectionReason => {
  const { chunk, mentions, byKey, ontology, finder } = grounds
  const property = byKey.get(said.property)
  if (property === undefined) return "UnknownProperty"
  const subject = mentions[said.subject - 1]
  if (subject === undefined) return "UnknownEntity"
  if (!ontology.acceptsSubject(property, subject.type)) return "DomainMismatch"
  const span = nearest(finder.findAll(said.quote), subject.span.start - chunk.offset)
  if (span === undefined) return "QuoteNotFound"
  const object = checkObject(said, property, span, grounds)
  if (typeof object === "string") return object
  return { subject, property, object, quote: textAt(chunk, span), span: inDocument(chunk, span), confidence: confidenceOf(said) }
}

const checkObject = (said: SaidFact, property: string, quote: Span, grounds: Grounds): FactObject | RejectionReason => {
  const { mentions, ontology } = grounds
  if (said.object === undefined || said.object === null) return checkValue(said, property, quote, grounds)
  const mention = mentions[said.object - 1]
  if (mention === undefined) return "UnknownEntity"
  return ontology.acceptsObject(property, mention.type) ? { _tag: "Entity", mention } : "RangeMismatch"
}

const checkValue = (said: SaidFact, property: string, quote: Span, { chunk, ontology, finder }: Grounds): FactObject | RejectionReason => {
  if (said.value === undefined || said.value === null) return "Malformed"
  const span = nearest(finder.findAll(said.value), quote.start)
  if (span === undefined) return "QuoteNotFound"
  const text = textAt(chunk, span)
  const possible = ontology.datatypesOf(property)
  for (const datatype of possible.length === 0 ? [xsd.string] : possible) {
    if (!ontology.acceptsValue(property, datatype)) continue
    const lexical = lexicalOf(datatype, text, said.normalized ?? said.value)
    if (lexical !== undefined) return { _tag: "Value", text, span: inDocument(chunk, span), datatype, lexical }
  }
  return possible.some((datatype) => ontology.acceptsValue(property, datatype)) ? "InvalidValue" : "RangeMismatch"
}

/** Of several places the one closest to where it is spoken of. */
const nearest = (places: ReadonlyArray<Span>, to: number): Span | undefined =>
  places.toSorted((a, b) => distance(a, to) - distance(b, to) || a.start - b.start)[0]

const distance = ({ start, end }: Span, to: number): number => (to < start ? start - to : Math.max(0, to - end))

const textAt = (chunk: Chunk, { start, end }: Span): string => chunk.text.slice(start, end)

const inDocument = (chunk: Chunk, { start, end }: Span): Span => ({ start: start + chunk.offset, end: end + chunk.offset })

const confidenceOf = ({ confidence }: { readonly confidence?: number | null }): number => Math.min(1, Math.max(0, confidence ?? unsaid))
