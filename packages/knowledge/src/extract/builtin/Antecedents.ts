/**
 * Finds the subject of a clause where it is not the subject of the sentence: the antecedent of a pronoun, the name before a relative
 * clause, and the agent of an active verb.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { isVerbLike, stem } from "../language/Stem.ts"
import { conjunctions, determiners, isFunctionWord, labelKey, prepositions, pronouns } from "../language/Words.ts"
import type { Candidate } from "./Candidates.ts"
import type { Place } from "./FoundFact.ts"
import { isOneName } from "./ObjectFeatures.ts"
import { organisationWords, type PropertyView, personWords, type Trigger } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"

interface Referent {
  readonly place: Place
  /** Whether it was the subject of its sentence. */
  readonly subject: boolean
  readonly sentence: number
}

/** The names of this many sentences stay referents. The last subject stays one for longer. */
const rememberedSentences = 2

/**
 * Resolves a pronoun or "the company" at the beginning of a sentence: among the names of a fitting kind, subjects come first, then the
 * latest. In "Ada Sol was born in Kell. She founded Verran Lines." the antecedent is Ada Sol, not Kell.
 */
export class Referents {
  private readonly ontology: OntologyIndex
  private known: ReadonlyArray<Referent> = []
  private sentence = 0

  constructor(ontology: OntologyIndex, heading: Place | undefined) {
    this.ontology = ontology
    if (heading !== undefined) this.known = [{ place: heading, subject: true, sentence: 0 }]
  }

  /** The possible antecedents of a sentence, best first. Without a pronoun or a noun like "the company": the last subject. */
  referredTo(view: SentenceView): ReadonlyArray<Place> {
    const subjects = this.known.filter(({ subject }) => subject)
    const reference = referenceOf(view)
    if (reference === undefined) return subjects.slice(0, 1).map(({ place }) => place)
    const ranked = this.known
      .map((referent, at) => ({ referent, at, fit: this.fit(referent.place, reference) }))
      .filter(({ fit }) => fit >= 0)
      .sort((one, other) => other.fit - one.fit || Number(other.referent.subject) - Number(one.referent.subject) || one.at - other.at)
      .map(({ referent }) => referent.place)
    // No kind fits: a ship is "she", too.
    return ranked.length > 0 ? ranked : subjects.slice(0, 1).map(({ place }) => place)
  }

  /** Records the subject of a sentence and the other names in it. */
  note(subject: Place | undefined, others: ReadonlyArray<Place>) {
    this.sentence++
    const here = [
      ...(subject === undefined ? [] : [{ place: subject, subject: true, sentence: this.sentence }]),
      ...others.filter((place) => place.start !== subject?.start).map((place) => ({ place, subject: false, sentence: this.sentence })),
    ]
    const recent = this.known.filter((referent) => this.sentence - referent.sentence < rememberedSentences)
    const lastSubject = this.known.find((referent) => referent.subject)
    this.known = [...here, ...recent, ...(lastSubject === undefined || recent.includes(lastSubject) ? [] : [lastSubject])]
  }

  /** 1 for a kind that fits, 0 for an unknown one, -1 for one that does not fit. */
  private fit(place: Place, reference: Reference): number {
    if (reference === "any") return 0
    const person = this.isPerson(place)
    if (reference === "person") return person === undefined ? 0 : person ? 1 : -1
    if (reference === "thing") return person === undefined ? 0 : person ? -1 : 1
    const words = [place.text, ...[...place.said, ...place.known].flatMap((iri) => [...this.ontology.names(iri)])].join(" ")
    return labelKey(words)
      .split(" ")
      .some((word) => stem(word) === reference.noun)
      ? 1
      : 0
  }

  private isPerson({ text, said, known }: Place): boolean | undefined {
    const classes = [...said, ...known].filter((iri) => this.ontology.classes.has(iri))
    if (classes.length > 0) {
      const all = classes.flatMap((iri) => [iri, ...this.ontology.ancestors(iri)])
      return all.some((iri) => this.ontology.names(iri).some((name) => personWords.has(stem(labelKey(name)))))
    }
    const stems = labelKey(text).split(" ").map(stem)
    if (/^the\s/i.test(text) || /\d/.test(text) || stems.some((one) => organisationWords.has(one))) return false
    return undefined
  }
}

type Reference = "person" | "thing" | "any" | { readonly noun: string }

const references: Readonly<Record<string, "person" | "thing" | "any">> = {
  he: "person",
  she: "person",
  his: "person",
  her: "person",
  it: "thing",
  its: "thing",
  this: "thing",
  they: "any",
  their: "any",
  these: "any",
}

/** "She …", "In 2012 she …", "The company …" */
const referenceOf = (view: SentenceView): Reference | undefined => {
  const { begin, words } = view
  const opening = words[begin] ?? ""
  if (opening === "the" && view.capital[begin + 1] === false && view.content[begin + 1] === true) {
    return { noun: view.stems[lastOfNoun(view, begin + 1)] ?? "" }
  }
  if (Object.hasOwn(references, opening)) return references[opening]
  if (!prepositions.has(opening) && view.content[begin] === true) return undefined
  for (let at = begin + 1; at < begin + 8; at++) {
    const word = words[at] ?? ""
    if (/^(?:he|she|it|they)$/.test(word)) return references[word]
    if (view.capital[at] && !view.dates.some((date) => date.first <= at && at <= date.last)) return undefined
  }
  return undefined
}

/** The last token of a noun that begins at `first`: "line" in "The shipping line was". */
const lastOfNoun = (view: SentenceView, first: number): number => {
  let last = first
  while (last < first + 3 && view.content[last + 1] && !view.capital[last + 1] && !/(?:ed|s)$/.test(view.words[last + 1] ?? "")) last++
  return last
}

// The subject of a relative clause or an apposition is the name before the comma, regardless of the subject of the sentence: "The
// Halcyon, which is captained by Ada Sol", "Baltmar, a shipping line based in Elsing".

const relatives: ReadonlySet<string> = new Set(["who", "which", "whose", "where"])
const articles: ReadonlySet<string> = new Set(["a", "an", "the"])

/** In tokens. Farther back, another clause mostly stands between. */
const farthest = 14

/** The candidate that is the subject of the relative clause or apposition around a token; undefined for a token of the main clause. */
export const antecedentOf = (view: SentenceView, candidates: ReadonlyArray<Candidate>, place: number): number | undefined => {
  for (let at = place - 1; at > 0 && at > place - farthest; at--) {
    const word = view.words[at] ?? ""
    // "Elsing, where she lives": the clause has a subject of its own.
    if (relatives.has(word) && pronouns.has(view.words[at + 1] ?? "")) return undefined
    if (relatives.has(word)) return nameEnding(view, candidates, view.words[at - 1] === "," ? at - 2 : at - 1)
    // "Kell, the Netherlands" is a list; "Kell, the port" says what Kell is.
    if (word === "," && articles.has(view.words[at + 1] ?? "") && !view.capital[at + 2]) return nameEnding(view, candidates, at - 1)
    if (word === "," || word === ";") return undefined
  }
  return undefined
}

/** The longest name that ends at a token. */
const nameEnding = (view: SentenceView, candidates: ReadonlyArray<Candidate>, last: number): number | undefined => {
  let found: number | undefined
  candidates.forEach((candidate, at) => {
    if (candidate.last !== last || !isOneName(view, candidate) || candidate.kind === "date") return
    if (found === undefined || candidate.first < candidates[found]!.first) found = at
  })
  return found
}

// Sentences in the active voice state the inverse of a property: the ontology has "founded by", the text "Piet Marsh founded
// Tidewater". The agent stands first and is the object of the property.

export interface Reversal {
  readonly property: number
  /** The agent of the verb: a candidate, or `earlier` for "she" and "it". */
  readonly doer: number | "earlier"
  /** The candidate that the verb acts on. */
  readonly done: number
}

export const findReversals = (
  view: SentenceView,
  candidates: ReadonlyArray<Candidate>,
  properties: ReadonlyArray<PropertyView>,
  triggers: ReadonlyMap<number, ReadonlyArray<Trigger>>,
): ReadonlyArray<Reversal> =>
  [...triggers].flatMap(([property, found]) =>
    properties[property]?.agentive !== true
      ? []
      : found.flatMap(({ at, strength }) => {
          if (strength !== "label" || !isActive(view, at)) return []
          const doer = nameEndingBefore(view, candidates, at) ?? subjectOfClause(view, candidates, at)
          const done = nameBeginningAfter(view, candidates, at)
          return doer === undefined || done === undefined ? [] : [{ property, doer, done }]
        }),
  )

const passiveMarkers = /^(?:is|was|are|were|be|been|being|by)$/

/** "founded", but not "was founded", "founded by" or the noun "founder". */
const isActive = (view: SentenceView, at: number): boolean =>
  !view.capital[at] &&
  (isVerbLike(view.words[at] ?? "") || /[^s]s$/.test(view.words[at] ?? "")) &&
  ![at - 2, at - 1, at + 1].some((near) => passiveMarkers.test(view.words[near] ?? ""))

const longest = (view: SentenceView, candidates: ReadonlyArray<Candidate>, fits: (candidate: Candidate) => boolean): number | undefined => {
  let found: number | undefined
  candidates.forEach((candidate, at) => {
    if (!isOneName(view, candidate) || candidate.kind === "date" || !fits(candidate)) return
    if (found === undefined || candidate.last - candidate.first > candidates[found]!.last - candidates[found]!.first) found = at
  })
  return found
}

/** The grammatical subject of the clause that contains a token: a candidate, or `earlier` for a pronoun. */
export const subjectOfClause = (view: SentenceView, candidates: ReadonlyArray<Candidate>, at: number): number | "earlier" | undefined => {
  const words = view.clauses.subjectOf(at)
  if (
    words.every((word) => !view.capital[word] || word === view.begin) &&
    words.some((word) => subjectPronoun.test(view.words[word] ?? ""))
  ) {
    return "earlier"
  }
  const within = new Set(words)
  const isWhole = (first: number) => !(view.capital[first - 1] && view.content[first - 1])
  return longest(
    view,
    candidates,
    ({ first, last }) => within.has(first) && within.has(last) && isWhole(first) && !prepositions.has(view.words[first - 1] ?? ""),
  )
}

const subjectPronoun = /^(?:he|she|it|they)$/

/** The name or pronoun before a verb, skipping words like "has", "also" and "later". */
const nameEndingBefore = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | "earlier" | undefined => {
  let last = verb - 1
  const leadsUp = (word: string) => isFunctionWord(word) && !conjunctions.has(word) && !subjectPronoun.test(word)
  while (last > verb - 4 && leadsUp(view.words[last] ?? "") && !view.capital[last]) last--
  if (subjectPronoun.test(view.words[last] ?? "")) return "earlier"
  return longest(view, candidates, (candidate) => candidate.last === last && !isFunctionWord(view.words[candidate.first] ?? ""))
}

/** The name after a verb, skipping an article and words that describe the name: "the novel Emma", "his first opera". */
const nameBeginningAfter = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | undefined => {
  let first = verb + 1
  while (first < verb + 5 && !view.capital[first] && (determiners.has(view.words[first] ?? "") || view.content[first])) first++
  if (/^["“„«]$/.test(view.words[first] ?? "")) first++
  return longest(view, candidates, (candidate) => candidate.first === first)
}
