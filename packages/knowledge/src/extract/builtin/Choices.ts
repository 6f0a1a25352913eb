/** The choices a sentence offers: every candidate as the object of every property it fits, and as the subject. */

import type { Span } from "../Fact.ts"
import { type Candidate, findCandidates } from "./Candidates.ts"
import {
  aboutClue,
  type Evidence,
  type ObjectClue,
  objectClues,
  objectCluesOf,
  type SubjectClue,
  sentenceClue,
  sentenceStems,
  subjectClues,
  subjectCluesOf,
} from "./Evidence.ts"
import type { Gazetteer } from "./Gazetteer.ts"
import { allTraits, describeFor, type ObjectTraits, objectFeature, objectFeatures } from "./ObjectFeatures.ts"
import { fits, type OntologyView, placesOfLabels, type Trigger, triggersOf } from "./OntologyView.ts"
import { type SentenceView, viewSentence } from "./SentenceView.ts"
import { describeEarlierSubject, describeSubjects, subjectFeature } from "./SubjectFeatures.ts"
import { subjectTraits } from "./SubjectTraits.ts"

const evidenceFeatures = objectClues.map((clue) => objectFeature(`evidence ${clue}`))
const frequency = objectFeature("property is frequent")
const sentenceFeature = objectFeature("evidence sentence")
const aboutFeature = objectFeature("evidence about")
const domainSaid = objectFeature("domain said")
const otherDomainSaid = objectFeature("other domain said")
const personForOther = objectFeature("person as other subject")
const knownAsRange = objectFeature("known as range")
const knownAsOther = objectFeature("known as other")

/**
 * Calls `visit` for each candidate as the object of each property, in a sentence that is likely `about` one of them. The row of features is the same array every time, with
 * other content: a sentence has hundreds of choices, and an array for each would be garbage at once.
 */
export const visitObjectChoices = (
  read: ReadSentence,
  ontology: OntologyView,
  evidence: Evidence,
  gazetteer: Gazetteer | undefined,
  about: number | undefined,
  visit: (candidate: number, property: number, row: Float64Array) => void,
) => {
  const { properties } = ontology
  const sentence = sentenceEvidence(read, evidence, properties.length)
  const aboutOdds = about === undefined ? undefined : evidence.odds(aboutClue, read.objectClues[about]!.shape)
  const frequencies = evidence.frequencies()
  const subject = about === undefined ? undefined : subjectTraits(read.view, read.candidates[about]!)
  const kinds = subject?.kinds.filter((kind) => ontology.domainKinds.has(kind)) ?? []
  const possible = possibleProperties(read, properties.length, evidence)
  const row = new Float64Array(objectFeatures.length)
  read.candidates.forEach((candidate, at) => {
    const traits = read.traits[at]!
    const clues = read.objectClues[at]!
    const odds = objectClues.map((clue) => evidence.odds(clue, clues[clue]))
    const types = gazetteer?.typesOf(read.view.words.slice(candidate.first, candidate.last + 1)) ?? []
    for (const property of possible) {
      const view = properties[property]!
      if (!fits(candidate, view)) continue
      row.set(traits.row)
      describeFor(row, read.view, candidate, traits, view, triggersOf(read.triggers, property))
      for (let clue = 0; clue < odds.length; clue++) row[evidenceFeatures[clue]!] = odds[clue]![property]!
      row[sentenceFeature] = sentence[property]!
      if (aboutOdds !== undefined) row[aboutFeature] = aboutOdds[property]!
      row[frequency] = frequencies[property]!
      if (kinds.length > 0) row[kinds.some((kind) => view.domainKinds.has(kind)) ? domainSaid : otherDomainSaid] = 1
      if (subject?.person === true && view.excludesPersons) row[personForOther] = 1
      if (types.length > 0) row[types.some((type) => ontology.ontology.acceptsObject(view.iri, type)) ? knownAsRange : knownAsOther] = 1
      visit(at, property, row)
    }
  })
}

const fewProperties = 64

/** Of many properties only those that a word of the sentence or an example speaks for; the others would never win. */
const possibleProperties = (read: ReadSentence, count: number, evidence: Evidence): ReadonlyArray<number> => {
  const all = Array.from({ length: count }, (_, property) => property)
  return count <= fewProperties ? all : all.filter((property) => read.triggers.has(property) || evidence.positivesOf(property) > 0)
}

/** What the two most telling words of the sentence say for each property. */
const sentenceEvidence = (read: ReadSentence, evidence: Evidence, properties: number): Float64Array => {
  const best = new Float64Array(properties).fill(Number.NEGATIVE_INFINITY)
  const second = best.slice()
  for (const stem of read.stems) {
    const odds = evidence.odds(sentenceClue, stem)
    for (let property = 0; property < properties; property++) {
      const value = odds[property]!
      if (value > best[property]!) {
        second[property] = best[property]!
        best[property] = value
      } else if (value > second[property]!) second[property] = value
    }
  }
  return best.map((value, property) => {
    const next = second[property] ?? 0
    return Number.isFinite(value) ? value + (Number.isFinite(next) ? 0.5 * next : 0) : 0
  })
}

const subjectEvidence = subjectClues.map((clue) => [clue, subjectFeature(`evidence ${clue}`)] as const)
const knownByName = subjectFeature("known by name")

/** One row for each candidate and, with an earlier subject to go back to, one more. */
export const subjectRows = (
  read: ReadSentence,
  evidence: Evidence,
  gazetteer: Gazetteer | undefined,
  hasEarlier: boolean,
): ReadonlyArray<Float64Array> => {
  const rows = describeSubjects(read.view, read.candidates)
  rows.forEach((row, at) => {
    const { first, last } = read.candidates[at]!
    if (gazetteer?.typesOf(read.view.words.slice(first, last + 1)) !== undefined) row[knownByName] = 1
    for (const [clue, feature] of subjectEvidence) row[feature] = evidence.odds(clue, read.subjectClues[at]![clue])[0] ?? 0
  })
  return hasEarlier ? [...rows, describeEarlierSubject(read.view)] : rows
}

// A sentence with everything that scoring needs of it.

export interface ReadSentence {
  readonly view: SentenceView
  readonly candidates: ReadonlyArray<Candidate>
  readonly traits: ReadonlyArray<ObjectTraits>
  readonly objectClues: ReadonlyArray<Readonly<Record<ObjectClue, string>>>
  readonly subjectClues: ReadonlyArray<Readonly<Record<SubjectClue, string>>>
  readonly stems: ReadonlyArray<string>
  readonly triggers: ReadonlyMap<number, ReadonlyArray<Trigger>>
}

/** Finds the places of known names among the words of a sentence. */
export type KnownNames = Pick<Gazetteer, "occurrences">

/** `spans` are places of the document that are candidates in any case. */
export const readSentence = (
  text: string,
  offset: number,
  ontology: OntologyView,
  known: KnownNames,
  spans: ReadonlyArray<Span> = [],
): ReadSentence => {
  const view = viewSentence(text, offset)
  const candidates = findCandidates(view, known, spans)
  const triggers = ontology.triggers.find(view)
  return {
    view,
    candidates,
    traits: allTraits(view, candidates, ontology.world, placesOfLabels(triggers)),
    objectClues: candidates.map((candidate) => objectCluesOf(view, candidate)),
    subjectClues: candidates.map((candidate) => subjectCluesOf(view, candidate)),
    stems: sentenceStems(view),
    triggers,
  }
}
