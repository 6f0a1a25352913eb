/** Turns a statement into a fact: gives subject and object their classes or value, and rejects a statement the ontology does not allow. */

import type { Fact, FactObject, Mention } from "../../fact/Fact.ts"
import type { ClassExpression } from "../../ontology/Ontology.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { isVerbLike, withoutPlural } from "../../text/Stem.ts"
import { labelKey, nameKey } from "../../text/Words.ts"
import { isNumeric, valueOf } from "../Values.ts"
import type { Candidate } from "./Candidates.ts"
import type { Gazetteer } from "./Gazetteer.ts"
import { classesMeeting } from "./OntologyView.ts"
import { type SentenceView, viewSentence } from "./SentenceView.ts"
import type { Piece } from "./Structure.ts"

/** A span of the text that may be an entity, with the classes that the text (`said`) and the gazetteer (`known`) give it. */
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
  /** Whether the object is the whole value of a field or a cell, rather than a part of a sentence. */
  readonly isField?: boolean
}

export interface Source {
  readonly text: string
  /** Where the text begins in the document. */
  readonly offset: number
  readonly language?: string
}

export const factOf = (ontology: OntologyIndex, labels: ClassLabels, source: Source, statement: Statement): Fact | undefined => {
  const { subject, property, confidence } = statement
  const object = statement.isField ? statement.object : inSentence(ontology, source, statement)
  if (object === undefined || nameKey(subject.text) === nameKey(object.text)) return undefined
  const type = labels.meeting(ontology.domainOf(property), subject.said, subject.known)
  const end = type === undefined ? undefined : objectOf(ontology, labels, { ...statement, object }, source.language)
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

/** The object of a statement from a sentence: a number as a whole. Undefined if the object is a part of a number, but no number. */
const inSentence = (ontology: OntologyIndex, source: Source, statement: Statement): Place | undefined => {
  const { object } = statement
  if (isNumber(ontology, statement)) return wholeNumber(source, object)
  const end = object.end - source.offset
  const isPart = object.kind === "date" && /^\d[.,]\d/.test(source.text.slice(end - 1, end + 2))
  return isPart ? undefined : object
}

/** The rest of a number after its first digits, with a unit or a scale: ".5MW" of "407.5MW", "–110 m" of "105–110 m", " million". */
const restOfNumber =
  /(?:[.,'’]\d+)*(?:\s?[–—/×-]\s?\d[\d.,]*)?(?:[\p{L}%°]+|\s(?:million|billion|trillion|thousand|bn|mio|mrd)(?!\p{L}))?/uy

/** The longest text after a place that can belong to its number. */
const longestRest = 40

/**
 * The place with the whole number of a sentence: the words of a sentence can end within one, such as "407" in "407.5MW". Undefined if the
 * place begins within a number.
 */
const wholeNumber = ({ text, offset }: Source, place: Place): Place | undefined => {
  if (!/^\p{Sc}?\d/u.test(place.text)) return place
  const [from, to] = [place.start - offset, place.end - offset]
  const before = text.slice(Math.max(0, from - 4), from)
  if (/\d(?:[.,'’]|\s?[–—/×-]\s?)$/.test(before)) return undefined
  const sign = /\p{Sc}$/u.exec(before)?.[0].length ?? 0
  restOfNumber.lastIndex = 0
  const rest = /\d$/.test(place.text) ? (restOfNumber.exec(text.slice(to, to + longestRest))?.[0].length ?? 0) : 0
  return { ...place, text: text.slice(from - sign, to + rest), start: place.start - sign, end: place.end + rest }
}

/** Whether the property has numbers; without datatypes, whether the object is one. */
const isNumber = (ontology: OntologyIndex, { property, object }: Statement): boolean => {
  const datatypes = ontology.datatypesOf(property)
  return datatypes.length === 0 ? object.kind === "number" : datatypes.some(isNumeric)
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

/** Whether the text or the gazetteer gives the place a class that is disjoint with `type`. */
const excludes = (ontology: OntologyIndex, { said, known }: Place, type: string): boolean =>
  [...said, ...known].some((iri) => ontology.areDisjoint(iri, type))

export const isValue = (ontology: OntologyIndex, property: string, object: Place): boolean => {
  const kind = ontology.properties.get(property)?.kind
  const range = ontology.rangeOf(property).flat()
  if (kind === "datatype") return true
  const looksLikeValue = object.kind === "date" || object.kind === "number"
  if (range.length === 0) return looksLikeValue || (kind === "any" && object.kind === "phrase" && !/^\p{Lu}/u.test(object.text))
  const literal = range.filter((iri) => ontology.isDatatype(iri)).length
  return literal === range.length || (literal > 0 && looksLikeValue)
}

/**
 * The facts that are consistent with each other, best first: of a functional property only the surest, and no two disjoint
 * classes for one span.
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

// Matches facts to the mentions that another step, or another extractor, found.

/** The facts between given mentions, with the classes of the mentions. */
export const between = (facts: ReadonlyArray<Fact>, mentions: ReadonlyArray<Mention>, ontology: OntologyIndex): ReadonlyArray<Fact> => {
  const bySpan = Map.groupBy(mentions, (mention) => spanKey(mention.span))
  return facts.flatMap((fact): ReadonlyArray<Fact> => {
    const subject = preferred(bySpan.get(spanKey(fact.subject.span)), fact.subject.type, (type) =>
      ontology.acceptsSubject(fact.property, type),
    )
    if (subject === undefined) return []
    const { object } = fact
    if (object._tag === "Value") return [{ ...fact, subject }]
    const mention = preferred(bySpan.get(spanKey(object.mention.span)), object.mention.type, (type) =>
      ontology.acceptsObject(fact.property, type),
    )
    return mention === undefined ? [] : [{ ...fact, subject, object: { _tag: "Entity", mention } }]
  })
}

const preferred = (mentions: ReadonlyArray<Mention> | undefined, type: string, accepts: (type: string) => boolean): Mention | undefined =>
  mentions?.find((mention) => mention.type === type) ?? mentions?.find((mention) => accepts(mention.type))

// The class of an entity: the one that the property asks for, or a narrower one from the text ("Emma is a novel", "the novelist Jane
// Austen") or from the gazetteer.

/** A class label that stands in a sentence. */
interface NamedClass {
  readonly iri: string
  readonly first: number
  readonly last: number
}

export class ClassLabels {
  private readonly byFirstWord = new Map<string, Array<{ readonly words: ReadonlyArray<string>; readonly iri: string }>>()
  private readonly ontology: OntologyIndex

  constructor(ontology: OntologyIndex) {
    this.ontology = ontology
    for (const iri of ontology.classes.keys()) {
      for (const name of ontology.names(iri)) {
        const words = labelKey(name).split(" ").map(withoutPlural)
        const [first] = words
        if (first === undefined || first === "") continue
        const known = this.byFirstWord.get(first)
        if (known === undefined) this.byFirstWord.set(first, [{ words, iri }])
        else known.push({ words, iri })
      }
    }
  }

  /** The class labels in clauses that assert something: "if it is a novel" makes nothing a novel. */
  find(view: SentenceView): ReadonlyArray<NamedClass> {
    const singular = view.words.map(withoutPlural)
    return singular.flatMap((first, at) =>
      (this.byFirstWord.get(first) ?? []).flatMap(({ words, iri }) =>
        view.clauses.stated[at] && words.every((one, index) => singular[at + index] === one)
          ? [{ iri, first: at, last: at + words.length - 1 }]
          : [],
      ),
    )
  }

  /** The classes that the text gives a candidate, the most specific first, and last those in its own name. */
  saidOf(view: SentenceView, candidate: Candidate, found: ReadonlyArray<NamedClass>): ReadonlyArray<string> {
    const predicate = predicateOf(view, candidate.last)
    const said = found.filter(
      ({ first, last }) =>
        isApposition(view, candidate, first, last) ||
        (predicate !== undefined && first >= predicate[0] && last <= predicate[1] && isHead(view, last)),
    )
    const inName = found.filter(
      ({ first, last }) =>
        view.capital[first] && (first === candidate.first || last === candidate.last) && first >= candidate.first && last <= candidate.last,
    )
    return [...said.toSorted(moreTelling), ...inName.toSorted(moreTelling)].map(({ iri }) => iri)
  }

  /** The classes whose labels occur in a name: "Sor Observatory". */
  inName(name: string): ReadonlyArray<string> {
    const view = viewSentence(name)
    return this.find(view)
      .filter(({ first, last }) => view.capital[first] && (first === 0 || last === view.words.length - 1))
      .map(({ iri }) => iri)
  }

  /** The class of an entity that must satisfy an expression. */
  meeting(expression: ClassExpression, said: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined {
    const meets = (iri: string) => expression.every((members) => members.some((member) => this.ontology.isA(iri, member)))
    return [...said, ...known].find((iri) => this.ontology.classes.has(iri) && meets(iri)) ?? classesMeeting(this.ontology, expression)[0]
  }
}

/** In "a film director" the head is "director", not "film". */
const isHead = (view: SentenceView, last: number): boolean => !view.content[last + 1] || isVerbLike(view.words[last + 1] ?? "")

/** "comedy film": the longer label says more, and of equally long ones the later is the head. */
const moreTelling = (one: NamedClass, other: NamedClass): number =>
  other.last - other.first - (one.last - one.first) || other.last - one.last

export const knownTypes = (gazetteer: Gazetteer | undefined, view: SentenceView, { first, last }: Candidate): ReadonlyArray<string> =>
  gazetteer?.typesOf(view.words.slice(first, last + 1)) ?? []

/** "the novelist Jane Austen", "Jane Austen, novelist" */
const isApposition = (view: SentenceView, candidate: Candidate, first: number, last: number): boolean => {
  if (last === candidate.first - 1) return !view.capital[last]
  const from = view.words[candidate.last + 1] === "," ? candidate.last + 2 : -1
  return from !== -1 && (first === from || (first === from + 1 && /^(?:a|an|the)$/.test(view.words[from] ?? "")))
}

const longestPredicate = 12

/** The tokens of "a novel" in "Emma (1815) is a novel by …". */
const predicateOf = (view: SentenceView, last: number): readonly [number, number] | undefined => {
  let at = /^["”»]$/.test(view.words[last + 1] ?? "") ? last + 2 : last + 1
  if (view.words[at] === "(") {
    const depth = view.depth[at] ?? 0
    at++
    while (at < view.words.length && ((view.depth[at] ?? 0) > depth || view.words[at] === ")")) at++
  }
  if (!/^(?:is|was|are|were)$/.test(view.words[at] ?? "") || !/^(?:a|an|the|one)$/.test(view.words[at + 1] ?? "")) return undefined
  let end = at + 2
  while (
    end < view.words.length &&
    end < at + longestPredicate &&
    !/^(?:of|by|in|that|which|who|from|for|and|,|;|\.)$/.test(view.words[end] ?? "")
  )
    end++
  return [at + 2, end - 1]
}
