/**
 * Predicts the facts of a sentence. The choices are every candidate as the object of every property it fits, and every candidate as the
 * subject. Their scores decide which candidate is the subject, which are the objects of which properties, and how sure that is.
 */
import type { Span } from "../../fact/Fact.ts"
import { antecedentOf, findReversals, subjectOfClause } from "./Antecedents.ts"
import { chancesOf, score } from "./BuiltInModel.ts"
import { type Candidate, findCandidates, overlaps } from "./Candidates.ts"
import {
  aboutClue,
  articleOdds,
  articleOf,
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
import { findPlainFacts } from "./PlainSentences.ts"
import { isAlternative, isAlternativeWord, isEarlierOwner, isLimit, isOwner, joinsPersons } from "./QualifiedNames.ts"
import { type SentenceView, viewSentence } from "./SentenceView.ts"
import { describeEarlierSubject, describeSubjects, subjectFeature, subjectTraits } from "./SubjectFeatures.ts"

export interface Weights {
  readonly object: Float64Array
  readonly subject: Float64Array
}

/** Rules that an evaluation can leave out, to show their effect. */
export const ruleGroups = [
  /** Sentences of a plain form around the label of a property. */
  "plain sentences",
  /** Verbs in the active voice, whose label is in the passive. */
  "active voice",
  /** What examples teach of objects and subjects, and what words are like. */
  "likeness to examples",
  /** Members of a list of names are as likely as its first. */
  "lists of names",
  /** Negation, hearsay, conditions and names in another role. */
  "hedges and roles",
  /** Pronouns, and sentences about the subject of an earlier one. */
  "earlier subjects",
  /** Tables, fields and headings. */
  "tables and fields",
  /** Prose in German, French and Spanish. */
  "other languages",
] as const
export type RuleGroup = (typeof ruleGroups)[number]

export interface Judge {
  readonly ontology: OntologyView
  readonly objectEvidence: Evidence
  readonly subjectEvidence: Evidence
  readonly weights: Weights
  readonly gazetteer: Gazetteer | undefined
  /** Whether sentences of a plain form give facts of properties without examples. Training measures the scores alone. */
  readonly readsPlainSentences: boolean
  readonly without: ReadonlySet<RuleGroup>
}

export interface Prediction {
  /** A candidate, or `earlier` for the subject of an earlier sentence. */
  readonly subject: number | "earlier"
  readonly property: number
  /** A candidate, or `earlier` for the antecedent of a pronoun: "She founded …". */
  readonly object: number | "earlier"
  /** How likely it is that the sentence states this; not yet calibrated. */
  readonly chance: number
}

const mostPredictions = 24
const longestList = 12

/**
 * The weight of a choice's chance among overlapping candidates, against its chance in the whole sentence. A sentence may state
 * several facts, so its choices do not exclude each other; but examples seldom name all of them, and the best choice is the surest.
 */
const shareOfPlace = 0.85

/** How much other properties of the same object count against a property. */
const rivalry = 0.3

export interface Judgement {
  /** Best first. */
  readonly predictions: ReadonlyArray<Prediction>
  /** The likeliest subjects, best first. */
  readonly subjects: ReadonlyArray<{ readonly subject: number | "earlier"; readonly chance: number }>
}

export const predict = (judge: Judge, read: ReadSentence, hasEarlier: boolean): Judgement => {
  const choices: Array<{ readonly candidate: number; readonly property: number }> = []
  const scores: Array<number> = []
  const subjects = rankSubjects(judge, read, hasEarlier)
  const about = subjects[0]?.subject === "earlier" ? undefined : subjects[0]?.subject
  visitObjectChoices(read, judge.ontology, judge.objectEvidence, judge.gazetteer, about, (candidate, property, row) => {
    choices.push({ candidate, property })
    scores.push(score(judge.weights.object, row))
  })
  const inSentence = chancesOf(scores)
  const inPlace = chancesInPlace(read, choices, scores)
  const likely = choices
    .map(({ candidate, property }, at) => ({
      candidate,
      property,
      chance: inPlace[at]! ** shareOfPlace * inSentence[at]! ** (1 - shareOfPlace),
    }))
    .filter(({ chance }) => chance > 1e-3)
    .sort((one, other) => other.chance - one.chance)
  const { without } = judge
  const raised = without.has("lists of names") ? likely : raiseListMembers(read, likely)
  const ranked = without.has("likeness to examples") ? [] : raised.toSorted((one, other) => other.chance - one.chance)
  const reversals = without.has("active voice") ? [] : findReversals(read.view, read.candidates, judge.ontology.properties, read.triggers)
  const isSaid = (fact: Omit<Prediction, "chance">, role: "object" | "agent") =>
    without.has("hedges and roles") || isStated(judge.ontology, read, fact, role)
  const isTaught = (property: number) => !judge.readsPlainSentences || judge.objectEvidence.positivesOf(property) > 0
  const ofPlainForm = without.has("plain sentences")
    ? []
    : findPlainFacts(judge.ontology, read.view, read.candidates, read.triggers, isTaught)
  const plain = ofPlainForm.filter(
    (fact) => isSaid(fact, "object") && (hasEarlier || (fact.subject !== "earlier" && fact.object !== "earlier")),
  )
  const ofActiveVoice: ReadonlyArray<Prediction> = reversals
    .flatMap(({ property, doer, done }) => (doer === undefined ? [] : [{ subject: done, property, object: doer, chance: activeVoice }]))
    .filter((reversal) => isSaid(reversal, "agent") && (hasEarlier || reversal.object !== "earlier"))
  const taken: Array<Prediction> = []
  for (const one of [...plain, ...ofActiveVoice]) {
    const isKnown = taken.some(
      (other) =>
        one.property === other.property && isSameEnd(read, one.subject, other.subject) && isSameEnd(read, one.object, other.object),
    )
    if (!isKnown) taken.push(one)
  }
  for (const { candidate, property, chance } of ranked) {
    if (taken.length >= mostPredictions) break
    const object = read.candidates[candidate]!
    const rival = taken.some(
      (other) => other.property === property && other.object !== "earlier" && overlaps(read.candidates[other.object]!, object),
    )
    const reversed = reversals.some((other) => other.property === property && overlaps(read.candidates[other.done]!, object))
    if (rival || reversed) continue
    const found = subjectFor(read, subjects, candidate)
    if (found === undefined) continue
    const inverse = plain.some(
      (other) => other.property === property && (isSameEnd(read, other.subject, candidate) || isSameEnd(read, other.object, found.subject)),
    )
    if (inverse) continue
    const prediction = { subject: found.subject, property, object: candidate, chance: chance * found.chance }
    if (isSaid(prediction, "object")) taken.push(prediction)
  }
  return { predictions: taken, subjects }
}

const isSameEnd = ({ candidates }: ReadSentence, one: number | "earlier", other: number | "earlier"): boolean =>
  one === other || (one !== "earlier" && other !== "earlier" && overlaps(candidates[one]!, candidates[other]!))

/**
 * Whether the sentence asserts the fact. The later of subject and object stands in the clause that asserts it, since the subject
 * of a relative clause stands before the clause. If all words of the property's label are negated, so is the fact. Neither end may be
 * a name that the sentence mentions in another role.
 */
const isStated = (
  ontology: OntologyView,
  read: ReadSentence,
  { subject, property, object }: Omit<Prediction, "chance">,
  role: "object" | "agent",
): boolean => {
  if (isQualified(ontology, read, property, subject, "subject") || isQualified(ontology, read, property, object, role)) return false
  const { stated, excluded } = read.view.clauses
  const ends = [subject, object].flatMap((at) => (at === "earlier" ? [] : [read.candidates[at]!.first]))
  if (ends.some((at) => excluded[at]) || !stated[Math.max(...ends)]) return false
  const labels = triggersOf(read.triggers, property).filter(({ strength }) => strength === "label")
  return labels.length === 0 || labels.some(({ at }) => stated[at] && !excluded[at] && !isAlternativeWord(read.view, at))
}

const isQualified = (
  ontology: OntologyView,
  { view, candidates, triggers }: ReadSentence,
  property: number,
  at: number | "earlier",
  end: "subject" | "object" | "agent",
): boolean => {
  const own = triggersOf(triggers, property)
  const isTrigger = (token: number) => own.some((trigger) => trigger.at === token)
  if (at === "earlier") return end === "subject" && isEarlierOwner(view, ontology.classNouns, isTrigger)
  const candidate = candidates[at]!
  return (
    joinsPersons(view, candidate) ||
    isAlternative(view, candidate) ||
    isLimit(view, candidate, ontology.properties[property]!) ||
    isOwner(view, candidate, end, ontology.classNouns, isTrigger)
  )
}

interface Choice {
  readonly candidate: number
  readonly property: number
  readonly chance: number
}

/**
 * Of "for the Amiga, the Atari ST and the C64" all or none hold. Every member of a list gets the geometric mean of its chance and that
 * of the surest member. `choices` come best first, so that of overlapping candidates only the best is a member.
 */
const raiseListMembers = (read: ReadSentence, choices: ReadonlyArray<Choice>): ReadonlyArray<Choice> => {
  const lists = new Map<string, Array<Choice>>()
  return choices.map((choice) => {
    const key = `${choice.property} ${read.traits[choice.candidate]!.listBegin}`
    const members = lists.get(key)
    if (members === undefined) {
      lists.set(key, [choice])
      return choice
    }
    const object = read.candidates[choice.candidate]!
    const isMember = members.every(({ candidate }) => !overlaps(read.candidates[candidate]!, object)) && members.length < longestList
    if (!isMember) return choice
    members.push(choice)
    return { ...choice, chance: Math.sqrt(choice.chance * members[0]!.chance) }
  })
}

/** The chance that a property holds between the agent before an active verb and the name after it. */
const activeVoice = 0.6

/** The chance that the subject of an object's own clause is the subject of the fact. */
const clauseSubject = 0.75

const subjectFor = (read: ReadSentence, subjects: Judgement["subjects"], candidate: number): Judgement["subjects"][number] | undefined => {
  const object = read.candidates[candidate]!
  const fits = (subject: number | "earlier") => subject === "earlier" || !overlaps(read.candidates[subject]!, object)
  const antecedent = antecedentOf(read.view, read.candidates, read.traits[candidate]!.listBegin)
  if (antecedent !== undefined && fits(antecedent)) return { subject: antecedent, chance: clauseSubject }
  // "Kell has a port, and Elsing lies in Norway": the second clause has a subject of its own.
  const own = subjectOfClause(read.view, read.candidates, object.first)
  const best = subjects[0]?.subject
  const isLater = typeof own === "number" && typeof best === "number" && read.candidates[own]!.first > read.candidates[best]!.last
  if (isLater && fits(own)) return { subject: own, chance: clauseSubject }
  return subjects.find(({ subject }) => fits(subject))
}

/**
 * The chance of each choice among overlapping candidates, which exclude each other. Other properties of the same candidate
 * compete only in part, since one person can write and direct a film.
 */
const chancesInPlace = (
  read: ReadSentence,
  choices: ReadonlyArray<{ readonly candidate: number }>,
  scores: ReadonlyArray<number>,
): ReadonlyArray<number> => {
  const powers = scores.map((one) => Math.exp(Math.min(one, 50)))
  const own = new Float64Array(read.candidates.length)
  choices.forEach(({ candidate }, at) => {
    own[candidate] = own[candidate]! + powers[at]!
  })
  const others = read.candidates.map((one, index) =>
    read.candidates.reduce((sum, other, at) => (at !== index && overlaps(one, other) ? sum + own[at]! : sum), 0),
  )
  return choices.map(({ candidate }, at) => {
    const power = powers[at]!
    return power / (1 + power + rivalry * (own[candidate]! - power) + others[candidate]!)
  })
}

const rankSubjects = (judge: Judge, read: ReadSentence, hasEarlier: boolean): Judgement["subjects"] => {
  const rows = subjectRows(read, judge.subjectEvidence, judge.gazetteer, hasEarlier)
  const chances = chancesOf(rows.map((row) => score(judge.weights.subject, row)))
  return chances
    .map((chance, at) => ({ subject: at < read.candidates.length ? at : ("earlier" as const), chance }))
    .sort((one, other) => other.chance - one.chance)
    .slice(0, 4)
}

// The choices, each as a row of features.

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
 * Calls `visit` for each candidate as the object of each property; `about` is the likely subject of the sentence. The row of features is
 * the same array on every call: a sentence has hundreds of choices, and an array for each would be garbage immediately.
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

/** Of many properties only those with a trigger word in the sentence or with positive examples; the others would never win. */
const possibleProperties = (read: ReadSentence, count: number, evidence: Evidence): ReadonlyArray<number> => {
  const all = Array.from({ length: count }, (_, property) => property)
  return count <= fewProperties ? all : all.filter((property) => read.triggers.has(property) || evidence.positivesOf(property) > 0)
}

/** For each property, the log odds of its two strongest words in the sentence, the second at half weight. */
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
const articleAsInExamples = subjectFeature("article as in examples")

/** One row for each candidate, and one more if there is an earlier subject to refer to. */
export const subjectRows = (
  read: ReadSentence,
  evidence: Evidence,
  gazetteer: Gazetteer | undefined,
  hasEarlier: boolean,
): ReadonlyArray<Float64Array> => {
  const rows = describeSubjects(read.view, read.candidates)
  const known =
    gazetteer === undefined
      ? []
      : read.candidates.filter(({ first, last }) => gazetteer.typesOf(read.view.words.slice(first, last + 1)) !== undefined)
  rows.forEach((row, at) => {
    const candidate = read.candidates[at]!
    for (const [clue, feature] of subjectEvidence) row[feature] = evidence.odds(clue, read.subjectClues[at]![clue])[0] ?? 0
    if (known.includes(candidate)) row[knownByName] = 1
    // A known name is given with its article or without, whatever the examples do.
    const article = known.some((other) => overlaps(other, candidate)) ? undefined : articleOf(read.view, candidate)
    if (article !== undefined) row[articleAsInExamples] = articleOdds(evidence, article)
  })
  return hasEarlier ? [...rows, describeEarlierSubject(read.view)] : rows
}

// A sentence with everything that scoring needs.

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

/** `spans` are places of the document that always become candidates. */
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
    traits: allTraits(view, candidates, ontology.world, placesOfLabels(triggers), ontology.objectNouns),
    objectClues: candidates.map((candidate) => objectCluesOf(view, candidate)),
    subjectClues: candidates.map((candidate) => subjectCluesOf(view, candidate)),
    stems: sentenceStems(view),
    triggers,
  }
}
