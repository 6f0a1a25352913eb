/**
 * Which terms of an ontology a text could speak of. A small ontology is kept whole; of a large one, what the words of the
 * text name comes first, then what they may mean, then the most general terms.
 */

import { stem } from "../extract/language/Stem.ts"
import { relatedStems } from "../extract/language/VerbLexicon.ts"
import { fold, isFunctionWord, tokenize } from "../extract/language/Words.ts"
import { xsd } from "../rdf/Vocabulary.ts"
import type { ClassExpression } from "./Ontology.ts"

export interface RelevanceOptions {
  /** How many classes, and how many properties, at most; what these need besides is added. */
  readonly most?: number
}

/** Providers limit how many names an answer's schema may hold, and a model overlooks what stands in too long a list. */
export const defaultMost = 80

/** What the choice asks of an ontology. `OntologyIndex` answers it. */
export interface Terms {
  readonly classes: ReadonlyMap<string, unknown>
  readonly properties: ReadonlyMap<string, unknown>
  ancestors(iri: string): ReadonlySet<string>
  propertyAncestors(iri: string): ReadonlySet<string>
  generality(iri: string): number
  domainOf(property: string): ClassExpression
  rangeOf(property: string): ClassExpression
  datatypesOf(property: string): ReadonlyArray<string>
  nameStems(iri: string): ReadonlyArray<ReadonlyArray<string>>
}

export interface RelevantTerms {
  readonly classes: ReadonlySet<string>
  readonly properties: ReadonlySet<string>
}

export const relevantTerms = (index: Terms, text: string, { most = defaultMost }: RelevanceOptions = {}): RelevantTerms => {
  const said = stemsOf(text)
  const properties = best(
    [...index.properties.keys()],
    (iri) => named(index, iri, said) + 0.3 * shownByValues(index, iri, text),
    (iri) => index.generality(iri),
    most,
  )
  // A property is of no use without the classes it holds between.
  const needed = properties.flatMap((iri) => [...index.domainOf(iri).flat(), ...index.rangeOf(iri).flat()])
  const classes = best(
    [...index.classes.keys()],
    (iri) => named(index, iri, said),
    (iri) => index.generality(iri),
    most,
  )
  return {
    classes: withAncestors(
      [...classes, ...needed].filter((iri) => index.classes.has(iri)),
      (iri) => index.ancestors(iri),
    ),
    properties: withAncestors(properties, (iri) => index.propertyAncestors(iri)),
  }
}

const stemsOf = (text: string): ReadonlySet<string> =>
  new Set(
    tokenize(text)
      .filter((token) => token.kind === "word")
      .flatMap((token) => fold(token.text).split("-"))
      .filter((word) => !isFunctionWord(word))
      .map(stem),
  )

/** How much of the best of a term's names stands in the text; a word of like meaning is half the word. */
const named = (index: Terms, iri: string, said: ReadonlySet<string>): number =>
  index.nameStems(iri).reduce((highest, stems) => {
    const found = stems.reduce(
      (sum, one) => sum + (said.has(one) ? 1 : [...relatedStems(one)].some((other) => said.has(other)) ? 0.5 : 0),
      0,
    )
    return Math.max(highest, stems.length === 0 ? 0 : found / stems.length)
  }, 0)

/** Whether the text has values of the kind the property takes. */
const shownByValues = (index: Terms, iri: string, text: string): number => {
  const datatypes = index.datatypesOf(iri)
  if (datatypes.length === 0 || !/\d/.test(text)) return 0
  const dated = datatypes.some((datatype) => datatype === xsd.date || datatype === xsd.dateTime || datatype === xsd.gYear)
  return dated && !/\b1\d{3}\b|\b20\d\d\b/.test(text) ? 0 : 1
}

const best = (
  iris: ReadonlyArray<string>,
  score: (iri: string) => number,
  generality: (iri: string) => number,
  most: number,
): ReadonlyArray<string> => {
  if (iris.length <= most) return iris
  const scores = new Map(iris.map((iri) => [iri, score(iri)]))
  return iris
    .toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0) || generality(b) - generality(a) || (a < b ? -1 : 1))
    .slice(0, most)
}

const withAncestors = (iris: ReadonlyArray<string>, ancestors: (iri: string) => ReadonlySet<string>): ReadonlySet<string> =>
  new Set(iris.flatMap((iri) => [iri, ...ancestors(iri)]))
