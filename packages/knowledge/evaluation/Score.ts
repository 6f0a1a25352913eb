/** Precision, recall and their mean, counted in two ways, and two checks that need no expected facts. */
import { objectText } from "../src/extract/builtin/FoundFact.ts"
import type { Fact } from "../src/fact/Fact.ts"
import type { OntologyIndex } from "../src/ontology/OntologyIndex.ts"
import type { Notation } from "./Notation.ts"

/** One text with what was expected of it and what was found. */
export interface Scored {
  readonly text: string
  readonly expected: ReadonlyArray<Triple>
  readonly found: ReadonlyArray<FoundTriple>
}

export interface Figures {
  readonly precision: number
  readonly recall: number
  readonly f1: number
}

export interface Scores {
  readonly texts: number
  readonly expected: number
  readonly found: number
  /** Over all expected and found facts. */
  readonly strict: Figures
  /** Text by text, only with relations that are expected there, then the mean. */
  readonly paper: Figures
  /** Strict, of facts that are sure enough not to be looked at. */
  readonly highPrecision: Figures
  /** Of the facts found, how many keep to domain and range. 1 when none was found. */
  readonly conformance: number
  /** Of the facts found, how many have a subject that is not in the text. */
  readonly subjectHallucination: number
}

export const scoresOf = (scored: ReadonlyArray<Scored>, highPrecision: number): Scores => {
  const found = scored.flatMap((one) => one.found)
  const invented = scored.flatMap(({ text, found: facts }) => facts.filter(({ sub }) => !normal(text).includes(normal(sub))))
  return {
    texts: scored.length,
    expected: scored.reduce((sum, one) => sum + distinct(one.expected).size, 0),
    found: found.length,
    strict: strictFigures(scored),
    paper: paperFigures(scored),
    highPrecision: strictFigures(atLeast(scored, highPrecision)),
    conformance: found.length === 0 ? 1 : found.filter(({ conforms }) => conforms).length / found.length,
    subjectHallucination: found.length === 0 ? 0 : invented.length / found.length,
  }
}

/** Of the scores of several ontologies: strict counts over everything, the paper's way over the means. */
export const combined = (groups: ReadonlyArray<ReadonlyArray<Scored>>, highPrecision: number): Scores => {
  const papers = groups.map(paperFigures)
  return {
    ...scoresOf(groups.flat(), highPrecision),
    paper: {
      precision: mean(papers.map(({ precision }) => precision)),
      recall: mean(papers.map(({ recall }) => recall)),
      f1: mean(papers.map(({ f1 }) => f1)),
    },
  }
}

/** Only facts of at least this confidence. */
export const atLeast = (scored: ReadonlyArray<Scored>, confidence: number): ReadonlyArray<Scored> =>
  scored.map((one) => ({ ...one, found: one.found.filter((triple) => triple.confidence >= confidence) }))

const distinct = (triples: ReadonlyArray<Triple>): ReadonlySet<string> => new Set(triples.map(keyOf))

const shared = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => [...one].filter((key) => other.has(key)).length

const strictFigures = (scored: ReadonlyArray<Scored>): Figures => {
  let [right, found, expected] = [0, 0, 0]
  for (const one of scored) {
    const [want, have] = [distinct(one.expected), distinct(one.found)]
    right += shared(want, have)
    found += have.size
    expected += want.size
  }
  return figures(right, found, expected)
}

const paperFigures = (scored: ReadonlyArray<Scored>): Figures => {
  const each = scored.map(({ expected, found }) => {
    const relations = new Set(expected.map(({ rel }) => normal(rel)))
    const [want, have] = [distinct(expected), distinct(found.filter(({ rel }) => relations.has(normal(rel))))]
    return figures(shared(want, have), have.size, want.size)
  })
  return {
    precision: mean(each.map(({ precision }) => precision)),
    recall: mean(each.map(({ recall }) => recall)),
    f1: mean(each.map(({ f1 }) => f1)),
  }
}

const figures = (right: number, found: number, expected: number): Figures => {
  const precision = found === 0 ? 0 : right / found
  const recall = expected === 0 ? 0 : right / expected
  return { precision, recall, f1: right === 0 ? 0 : (2 * precision * recall) / (precision + recall) }
}

const mean = (numbers: ReadonlyArray<number>): number =>
  numbers.length === 0 ? 0 : numbers.reduce((sum, one) => sum + one, 0) / numbers.length

// Facts as the words they are scored by: subject, label of the property, object.

export interface Triple {
  readonly sub: string
  readonly rel: string
  readonly obj: string
}

/** A fact that was found, with what scoring asks of it. */
export interface FoundTriple extends Triple {
  readonly confidence: number
  /** Whether subject and object are what the property asks for. */
  readonly conforms: boolean
}

/** The facts as triples, each once and with its highest confidence. */
export const triplesOf = (facts: ReadonlyArray<Fact>, ontology: OntologyIndex, notation: Notation): ReadonlyArray<FoundTriple> => {
  const found = new Map<string, FoundTriple>()
  for (const fact of facts) {
    const triple = {
      sub: fact.subject.text,
      rel: ontology.label(fact.property),
      obj: fact.object._tag === "Value" ? notation(fact.object) : objectText(fact.object),
      confidence: fact.confidence,
      conforms: conforms(fact, ontology),
    }
    const key = keyOf(triple)
    const known = found.get(key)
    if (known === undefined || known.confidence < triple.confidence) found.set(key, triple)
  }
  return [...found.values()]
}

const conforms = ({ subject, property, object }: Fact, ontology: OntologyIndex): boolean =>
  ontology.acceptsSubject(property, subject.type) &&
  (object._tag === "Entity" ? ontology.acceptsObject(property, object.mention.type) : ontology.acceptsValue(property, object.datatype))

/** How words are compared: case, spaces and underscores make no difference. */
export const normal = (text: string): string => text.toLowerCase().replace(/[\s_]+/g, "")

export const keyOf = ({ sub, rel, obj }: Triple): string => `${normal(sub)}\u0000${normal(rel)}\u0000${normal(obj)}`
