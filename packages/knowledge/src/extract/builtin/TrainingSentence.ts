/** Examples taken apart into sentences, with their facts found among the candidates of each. */
import { splitSentences } from "../../document/Sentences.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { type FoundDate, findDates } from "../language/Dates.ts"
import { fold, tokenize } from "../language/Words.ts"
import type { Candidate } from "./Candidates.ts"
import type { Example, ExampleTriple } from "./Example.ts"
import { Gazetteer } from "./Gazetteer.ts"
import type { OntologyView } from "./OntologyView.ts"
import { type ReadSentence, readSentence } from "./ReadSentence.ts"

/** A fact of an example, as far as the sentence shows it: candidates that are its subject, and candidates that are its object. */
export interface ShownFact {
  readonly property: number
  readonly subjects: ReadonlyArray<number>
  readonly objects: ReadonlyArray<number>
  readonly triple: ExampleTriple
}

export interface TrainingSentence {
  /** Which example it is of. */
  readonly example: number
  readonly read: ReadSentence
  readonly facts: ReadonlyArray<ShownFact>
  /** Whether the text of the example goes on before this sentence with what its facts are about. */
  readonly subjectStoodBefore: boolean
}

/** The property a triple names, by IRI or by label. */
export const propertyNamed = (ontology: OntologyIndex, name: string): string | undefined =>
  ontology.properties.has(name) ? name : ontology.withLabel(name).properties[0]

/** How names are compared: without case, space and underscores. */
export const nameKey = (text: string): string => text.toLowerCase().replace(/[\s_]+/g, "")

export const trainingSentences = (
  ontology: OntologyView,
  examples: ReadonlyArray<Example>,
  given: ReadonlyArray<{ readonly name: string; readonly types: ReadonlyArray<string> }>,
): ReadonlyArray<TrainingSentence> => {
  const counts = new Map<string, number>()
  for (const example of examples) for (const key of objectKeys(example)) counts.set(key, (counts.get(key) ?? 0) + 1)
  const gazetteer = new Gazetteer([...given, ...exampleNames(examples)])
  const givenKeys = new Set(given.map(({ name }) => wordsKey(name)))
  return examples.flatMap((example, index) => {
    const own = objectKeys(example)
    // A name known from this very example would make it look easier than texts to come will be.
    const known = {
      occurrences: (words: ReadonlyArray<string>) =>
        gazetteer.occurrences(words).filter(([first, last]) => {
          const key = words.slice(first, last + 1).join(" ")
          return givenKeys.has(key) || (counts.get(key) ?? 0) > (own.has(key) ? 1 : 0)
        }),
    }
    return sentencesOf(ontology, example, known).map((sentence) => ({ ...sentence, example: index }))
  })
}

/** The names of things that examples mention, which are worth looking for in other texts. */
export const exampleNames = (examples: ReadonlyArray<Example>) =>
  examples.flatMap((example) => example.triples.map((triple) => ({ name: triple.obj, types: [] })))

const wordsKey = (name: string): string =>
  tokenize(name)
    .map((token) => fold(token.text))
    .join(" ")

const objectKeys = (example: Example): ReadonlySet<string> => new Set(example.triples.map((triple) => wordsKey(triple.obj)))

const sentencesOf = (
  ontology: OntologyView,
  example: Example,
  known: Pick<Gazetteer, "occurrences">,
): ReadonlyArray<Omit<TrainingSentence, "example">> => {
  const text = example.sent
  const places = new Map(ontology.properties.map((property, at) => [property.iri, at]))
  const triples = example.triples.flatMap((triple) => {
    const property = places.get(propertyNamed(ontology.ontology, triple.rel) ?? "")
    return property === undefined ? [] : [{ triple, property }]
  })
  const reads = splitSentences(text).map(({ start, end }) => readSentence(text.slice(start, end), start, ontology, known))
  const standsIn = reads.map((read) =>
    triples.map(({ triple }) => ({ subjects: matching(read, triple.sub), objects: matching(read, triple.obj) })),
  )
  return reads.map((read, at) => {
    const facts = triples.flatMap(({ triple, property }, index): ReadonlyArray<ShownFact> => {
      const here = standsIn[at]?.[index]
      if (here === undefined || here.objects.length === 0) return []
      // A sentence with the object alone shows the fact only if no sentence has both.
      const complete = standsIn.some(
        (sentence) => (sentence[index]?.subjects.length ?? 0) > 0 && (sentence[index]?.objects.length ?? 0) > 0,
      )
      return here.subjects.length > 0 || !complete ? [{ property, triple, ...here }] : []
    })
    const subjectStoodBefore = facts.some(
      ({ triple, subjects }) => subjects.length === 0 && reads.slice(0, at).some((earlier) => matching(earlier, triple.sub).length > 0),
    )
    return { read, facts, subjectStoodBefore }
  })
}

const matching = (read: ReadSentence, name: string): ReadonlyArray<number> => {
  const key = nameKey(name)
  const date = dateOf(name)
  return read.candidates.flatMap((candidate, at) =>
    nameKey(candidate.text) === key || (date !== undefined && isSameDate(candidate, date)) ? [at] : [],
  )
}

/** The date a text consists of. */
export const dateOf = (text: string): FoundDate | undefined => {
  const tokens = tokenize(text)
  const [date] = findDates(tokens)
  return date !== undefined && date.first === 0 && date.last === tokens.length - 1 ? date : undefined
}

/** "1984" is the same as "1 January 1984": whoever needs a whole date has to fill it with something. */
const isSameDate = ({ date }: Candidate, whole: FoundDate): boolean =>
  date !== undefined && date.year === whole.year && (date.month ?? 1) === (whole.month ?? 1) && (date.day ?? 1) === (whole.day ?? 1)
