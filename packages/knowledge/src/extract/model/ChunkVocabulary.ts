/**
 * The part of an ontology that one chunk needs. A small ontology is needed whole; of a large one, what the chunk's words speak
 * of comes first. Everything gets a short key, the same for the same ontology and chunk, by which the model names it.
 */

import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import type { Chunk } from "../Extractor.ts"
import type { Mention } from "../Fact.ts"

export interface Entry {
  /** What the model calls it. */
  readonly key: string
  readonly iri: string
  /** Other words for it. */
  readonly names: ReadonlyArray<string>
  readonly comment: string | undefined
}

export type Vocabulary = ReadonlyArray<Entry>

/** Providers limit how many names an answer's schema may hold, and a model overlooks what stands in too long a list. */
const most = 80

/** The classes an entity in the chunk may be of. */
export const classesFor = (chunk: Chunk, ontology: OntologyIndex): Vocabulary => {
  const classes = [...ontology.classes.values()].filter(({ declared, deprecated }) => declared && !deprecated).map(({ iri }) => iri)
  return entriesOf(
    mostRelevant(classes, chunk, ontology, (iri) => ontology.descendants(iri).size),
    ontology,
  )
}

/** The properties that can hold of what was found: between two of the mentions, or of one of them and a value. */
export const propertiesFor = (chunk: Chunk, mentions: ReadonlyArray<Mention>, ontology: OntologyIndex): Vocabulary => {
  const types = [...new Set(mentions.map(({ type }) => type))]
  const possible = [...ontology.properties.values()]
    .filter(({ iri, deprecated, kind }) => {
      if (deprecated || !types.some((type) => ontology.acceptsSubject(iri, type))) return false
      return kind !== "object" || types.some((type) => ontology.acceptsObject(iri, type))
    })
    .map(({ iri }) => iri)
  return entriesOf(
    mostRelevant(possible, chunk, ontology, (iri) => ontology.propertyDescendants(iri).size),
    ontology,
  )
}

const mostRelevant = (
  iris: ReadonlyArray<string>,
  chunk: Chunk,
  ontology: OntologyIndex,
  /** What stands for more comes first among equals. */
  weight: (iri: string) => number,
): ReadonlyArray<string> => {
  if (iris.length <= most) return iris.toSorted(inOrder)
  const words = wordsOf(chunk.text)
  const score = new Map(iris.map((iri) => [iri, sharedWords(words, ontology.names(iri))]))
  return iris
    .toSorted((a, b) => (score.get(b) ?? 0) - (score.get(a) ?? 0) || weight(b) - weight(a) || inOrder(a, b))
    .slice(0, most)
    .sort(inOrder)
}

/** How much of the best of the names stands in the text. */
const sharedWords = (text: ReadonlySet<string>, names: ReadonlyArray<string>): number =>
  Math.max(
    0,
    ...names.map((name) => {
      const words = [...wordsOf(name)]
      return words.length === 0 ? 0 : words.filter((word) => text.has(word)).length / words.length
    }),
  )

export const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])

const entriesOf = (iris: ReadonlyArray<string>, ontology: OntologyIndex): Vocabulary => {
  const taken = new Set<string>()
  return iris.map((iri) => {
    const key = freeKey(keyOf(iri), taken)
    taken.add(key)
    const label = ontology.label(iri)
    const term = ontology.classes.get(iri) ?? ontology.properties.get(iri)
    return { key, iri, names: [label, ...ontology.names(iri).filter((name) => name !== label)], comment: term?.comments[0]?.text }
  })
}

/** The last part of the IRI, which is what people who write ontologies call things. */
const keyOf = (iri: string): string => /[^/#:]+$/.exec(iri)?.[0].replace(/[^\p{L}\p{N}_-]/gu, "_") ?? "term"

const freeKey = (key: string, taken: ReadonlySet<string>): string => {
  let free = key
  for (let number = 2; taken.has(free); number++) free = `${key}_${number}`
  return free
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
