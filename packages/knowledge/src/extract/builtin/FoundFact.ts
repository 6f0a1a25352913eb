/** From a judged statement to a fact: gives subject and object their classes or value, or refuses what the ontology does not allow. */

import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import type { Fact, FactObject, Mention } from "../Fact.ts"
import type { Candidate } from "./Candidates.ts"
import type { Piece } from "./Lines.ts"
import { nameKey } from "./TrainingSentence.ts"
import type { ClassLabels } from "./Typing.ts"
import { valueOf } from "./Values.ts"

/** A place of the text that may be an entity, with the classes that text and gazetteer name for it. */
export interface Place extends Piece {
  readonly kind: Candidate["kind"]
  readonly said: ReadonlyArray<string>
  readonly known: ReadonlyArray<string>
}

export interface Statement {
  readonly subject: Place
  readonly property: string
  readonly object: Place
  readonly confidence: number
}

export interface Source {
  readonly text: string
  /** Where the text begins in the document. */
  readonly offset: number
  readonly language?: string
}

export const factOf = (ontology: OntologyIndex, labels: ClassLabels, source: Source, statement: Statement): Fact | undefined => {
  const { subject, property, object, confidence } = statement
  if (nameKey(subject.text) === nameKey(object.text)) return undefined
  const type = labels.meeting(ontology.domainOf(property), subject.said, subject.known)
  const end = type === undefined ? undefined : objectOf(ontology, labels, statement, source.language)
  if (type === undefined || end === undefined || excludes(ontology, subject, type)) return undefined
  const span = { start: Math.min(subject.start, object.start), end: Math.max(subject.end, object.end) }
  return {
    subject: mentionOf(subject, type, confidence),
    property,
    object: end,
    quote: source.text.slice(span.start - source.offset, span.end - source.offset),
    span,
    confidence,
  }
}

const mentionOf = ({ text, start, end }: Place, type: string, confidence: number): Mention => ({
  type,
  text,
  span: { start, end },
  confidence,
})

const objectOf = (
  ontology: OntologyIndex,
  labels: ClassLabels,
  { property, object, confidence }: Statement,
  language: string | undefined,
): FactObject | undefined => {
  if (isValue(ontology, property, object)) {
    const value = valueOf(ontology, property, object.text, language)
    if (value === undefined) return undefined
    return { _tag: "Value", text: object.text, span: { start: object.start, end: object.end }, ...value }
  }
  const type = labels.meeting(
    ontology.rangeOf(property).map((members) => members.filter((iri) => !ontology.isDatatype(iri))),
    object.said,
    object.known,
  )
  if (type === undefined || excludes(ontology, object, type)) return undefined
  return { _tag: "Entity", mention: mentionOf(object, type, confidence) }
}

/** Whether the text says that something is of a class which the other class excludes. */
const excludes = (ontology: OntologyIndex, { said, known }: Place, type: string): boolean =>
  [...said, ...known].some((iri) => ontology.areDisjoint(iri, type))

const isValue = (ontology: OntologyIndex, property: string, object: Place): boolean => {
  const kind = ontology.properties.get(property)?.kind
  const range = ontology.rangeOf(property).flat()
  if (kind === "datatype") return true
  const looksLikeValue = object.kind === "date" || object.kind === "number"
  if (range.length === 0) return looksLikeValue || (kind === "any" && object.kind === "phrase" && !/^\p{Lu}/u.test(object.text))
  const literal = range.filter((iri) => ontology.isDatatype(iri)).length
  return literal === range.length || (literal > 0 && looksLikeValue)
}

/**
 * The facts that can stand together, best first: of a property that has one value only the surest, and for one place of
 * the text no two classes that exclude each other.
 */
export const compatible = (ontology: OntologyIndex, facts: ReadonlyArray<Fact>): ReadonlyArray<Fact> => {
  const types = new Map<string, ReadonlyArray<string>>()
  const taken = new Set<string>()
  const allows = (mention: Mention) => !(types.get(spanKey(mention.span)) ?? []).some((type) => ontology.areDisjoint(type, mention.type))
  const note = (mention: Mention) => {
    const key = spanKey(mention.span)
    types.set(key, [...(types.get(key) ?? []), mention.type])
  }
  const ranked = [...facts].sort((one, other) => other.confidence - one.confidence || one.span.start - other.span.start)
  return ranked.filter((fact) => {
    const mentions = fact.object._tag === "Entity" ? [fact.subject, fact.object.mention] : [fact.subject]
    const functional = ontology.properties.get(fact.property)?.traits.includes("functional") ?? false
    const subject = nameKey(fact.subject.text)
    const key = functional ? `${subject} ${fact.property}` : `${subject} ${fact.property} ${nameKey(objectText(fact.object))}`
    if (taken.has(key) || !mentions.every(allows)) return false
    taken.add(key)
    mentions.forEach(note)
    return true
  })
}

export const objectText = (object: FactObject): string => (object._tag === "Entity" ? object.mention.text : object.text)

export const spanKey = ({ start, end }: { readonly start: number; readonly end: number }): string => `${start}-${end}`
