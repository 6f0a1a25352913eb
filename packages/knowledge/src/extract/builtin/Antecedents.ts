/**
 * What a clause is about where the sentence as a whole does not tell: what a pronoun refers to, the name before a relative clause,
 * and the doer of an active verb.
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
  /** Whether its sentence was about it. */
  readonly subject: boolean
  readonly sentence: number
}

/** Older ones are forgotten, except what a sentence was about. */
const memory = 2

/**
 * What a pronoun or "the company" at the beginning of a sentence refers to: the latest name of a fitting kind, and of several
 * the one that its sentence was about. In "Ada Sol was born in Kell. She founded Verran Lines." that is Ada Sol, not Kell.
 */
export class Referents {
  private readonly ontology: OntologyIndex
  private known: ReadonlyArray<Referent> = []
  private sentence = 0

  constructor(ontology: OntologyIndex, heading: Place | undefined) {
    this.ontology = ontology
    if (heading !== undefined) this.known = [{ place: heading, subject: true, sentence: 0 }]
  }

  /** The possible antecedents of a sentence, best first; without a pronoun or such, the subject of the last sentence. */
  referredTo(view: SentenceView): ReadonlyArray<Place> {
    const subjects = this.known.filter(({ subject }) => subject)
    const reference = referenceOf(view)
    if (reference === undefined) return subjects.slice(0, 1).map(({ place }) => place)
    const ranked = this.known
      .map((referent, at) => ({ referent, at, fit: this.fit(referent.place, reference) }))
      .filter(({ fit }) => fit >= 0)
      .sort((one, other) => other.fit - one.fit || Number(other.referent.subject) - Number(one.referent.subject) || one.at - other.at)
      .map(({ referent }) => referent.place)
    // A ship is "she", too.
    return ranked.length > 0 ? ranked : subjects.slice(0, 1).map(({ place }) => place)
  }

  /** Remembers a sentence: what it was about, and the other names in it. */
  note(subject: Place | undefined, others: ReadonlyArray<Place>) {
    this.sentence++
    const here = [
      ...(subject === undefined ? [] : [{ place: subject, subject: true, sentence: this.sentence }]),
      ...others.filter((place) => place.start !== subject?.start).map((place) => ({ place, subject: false, sentence: this.sentence })),
    ]
    const recent = this.known.filter((referent) => this.sentence - referent.sentence < memory)
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

/** "The shipping line was": the line. */
const lastOfNoun = (view: SentenceView, first: number): number => {
  let last = first
  while (last < first + 3 && view.content[last + 1] && !view.capital[last + 1] && !/(?:ed|s)$/.test(view.words[last + 1] ?? "")) last++
  return last
}

// What a relative clause or an apposition is about: in "The Halcyon, which is captained by Ada Sol" and in "Baltmar, a shipping
// line based in Elsing" the name before the comma, regardless of the subject of the whole sentence.

const relatives: ReadonlySet<string> = new Set(["who", "which", "whose", "where"])
const articles: ReadonlySet<string> = new Set(["a", "an", "the"])

/** Farther back there is mostly another clause between. */
const farthest = 14

/** The candidate that the clause of a place is about; undefined when it is the clause of the whole sentence. */
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

// Sentences that state the inverse of a property: an ontology has "founded by", the text "Piet Marsh founded
// Tidewater". There the doer stands first, and is the object of the property.

export interface Reversal {
  readonly property: number
  /** The candidate that did it, or `earlier` for "she" and "it". */
  readonly doer: number | "earlier"
  /** The candidate it was done to. */
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

const forms = /^(?:is|was|are|were|be|been|being|by)$/

/** "founded", but not "was founded", "founded by" or the noun "founder". */
const isActive = (view: SentenceView, at: number): boolean =>
  !view.capital[at] &&
  (isVerbLike(view.words[at] ?? "") || /[^s]s$/.test(view.words[at] ?? "")) &&
  ![at - 2, at - 1, at + 1].some((near) => forms.test(view.words[near] ?? ""))

const longest = (view: SentenceView, candidates: ReadonlyArray<Candidate>, fits: (candidate: Candidate) => boolean): number | undefined => {
  let found: number | undefined
  candidates.forEach((candidate, at) => {
    if (!isOneName(view, candidate) || candidate.kind === "date" || !fits(candidate)) return
    if (found === undefined || candidate.last - candidate.first > candidates[found]!.last - candidates[found]!.first) found = at
  })
  return found
}

/** The name or pronoun that the clause of a word is about, as its verb has it. */
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

/** Over words like "has", "also" and "later". */
const nameEndingBefore = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | "earlier" | undefined => {
  let last = verb - 1
  const leadsUp = (word: string) => isFunctionWord(word) && !conjunctions.has(word) && !subjectPronoun.test(word)
  while (last > verb - 4 && leadsUp(view.words[last] ?? "") && !view.capital[last]) last--
  if (subjectPronoun.test(view.words[last] ?? "")) return "earlier"
  return longest(view, candidates, (candidate) => candidate.last === last && !isFunctionWord(view.words[candidate.first] ?? ""))
}

/** Over an article and what describes the name: "the novel Emma", "his first opera". */
const nameBeginningAfter = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | undefined => {
  let first = verb + 1
  while (first < verb + 5 && !view.capital[first] && (determiners.has(view.words[first] ?? "") || view.content[first])) first++
  if (/^["“„«]$/.test(view.words[first] ?? "")) first++
  return longest(view, candidates, (candidate) => candidate.first === first)
}
