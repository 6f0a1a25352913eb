/**
 * Finds the subject of a clause where it is not the subject of the sentence: the antecedent of a pronoun, the name before a relative
 * clause, and the agent of an active verb.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { type Gender, givenNames } from "../../text/GivenNames.ts"
import { isVerbLike, stem, withoutPlural } from "../../text/Stem.ts"
import { conjunctions, determiners, isFunctionWord, labelKey, prepositions, pronouns, wordSet } from "../../text/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { beginOfDescription } from "./Evidence.ts"
import type { Place } from "./FoundFact.ts"
import { isOneName } from "./ObjectFeatures.ts"
import { organisationWords, type PropertyView, personWords, type Trigger } from "./OntologyView.ts"
import { namesPerson, predicative } from "./QualifiedNames.ts"
import type { SentenceView } from "./SentenceView.ts"

/** A name that a pronoun can refer to. */
export interface Named extends Place {
  /** Undefined if neither the text nor the given name tells. */
  readonly gender: Gender | undefined
  /** Whether the text mentions it as a place: "in Kell". */
  readonly isPlace: boolean
}

interface Referent {
  readonly named: Named
  /** Whether it was the subject of its sentence. */
  readonly subject: boolean
  readonly sentence: number
  readonly isHeading: boolean
}

export interface Antecedent {
  readonly place: Place
  /** The factor for the confidence of facts about it. */
  readonly share: number
}

/** What a sentence leaves for the pronouns of the next ones. */
export interface Mentioned {
  readonly subjects: ReadonlyArray<Named>
  readonly others: ReadonlyArray<Named>
  /** The genders of persons without a name: "her brother". `any` for one whose gender the text does not tell. */
  readonly unnamed: ReadonlyArray<Gender | "any">
}

/** The names of this many sentences stay referents. The last subject stays one for longer. */
const rememberedSentences = 2

/** A heading is a title, a section or a name. Without a word that tells which, facts about it need a review. */
const shareOfHeading = 0.6

/**
 * Resolves a pronoun or "the company" at the beginning of a sentence. "It" takes, among the names of a fitting kind, subjects first, then
 * the latest: in "Ada Sol was born in Kell. She founded Verran Lines." the antecedent is Ada Sol, not Kell. "He" and "she" take the one
 * person of that gender, or none if several names can be that person.
 */
export class Referents {
  private readonly ontology: OntologyIndex
  private known: ReadonlyArray<Referent> = []
  private unnamed: ReadonlyArray<{ readonly gender: Gender | "any"; readonly sentence: number }> = []
  private sentence = 0

  constructor(ontology: OntologyIndex, heading: Place | undefined) {
    this.ontology = ontology
    if (heading === undefined) return
    const named = { ...heading, gender: genderOfName(labelKey(heading.text).split(" ")), isPlace: false }
    this.known = [{ named, subject: true, sentence: 0, isHeading: true }]
  }

  /** The possible antecedents of a sentence, best first. Without a pronoun or a noun like "the company": the last subject. */
  referredTo(view: SentenceView): ReadonlyArray<Antecedent> {
    const reference = referenceOf(view)
    if (reference === undefined) {
      // "Ada Sol left; she now works for Halcyon": the pronoun refers to a name of its own sentence.
      if (view.words.some((word, at) => at > view.begin && /^(?:he|she|they)$/.test(word))) return []
      return this.known
        .filter(({ subject }) => subject)
        .slice(0, 1)
        .map((referent) => this.antecedent(referent))
    }
    if (reference === "female" || reference === "male") return this.person(reference)
    return this.known
      .map((referent, at) => ({ referent, at, fit: this.fit(referent.named, reference) }))
      .filter(({ fit }) => fit >= 0)
      .sort((one, other) => other.fit - one.fit || Number(other.referent.subject) - Number(one.referent.subject) || one.at - other.at)
      .map(({ referent }) => this.antecedent(referent))
  }

  /** Records the names and the unnamed persons of a sentence. */
  note({ subjects, others, unnamed }: Mentioned) {
    this.sentence++
    const { sentence } = this
    const isSubject = ({ start }: Named) => subjects.some((subject) => subject.start === start)
    const here = [
      ...subjects.map((named) => ({ named, subject: true, sentence, isHeading: false })),
      ...others.filter((named) => !isSubject(named)).map((named) => ({ named, subject: false, sentence, isHeading: false })),
    ]
    const isRecent = (one: { readonly sentence: number }) => sentence - one.sentence < rememberedSentences
    const recent = this.known.filter(isRecent)
    const lastSubject = this.known.find((referent) => referent.subject)
    this.known = [...here, ...recent, ...(lastSubject === undefined || recent.includes(lastSubject) ? [] : [lastSubject])]
    this.unnamed = [...unnamed.map((gender) => ({ gender, sentence })), ...this.unnamed.filter(isRecent)]
  }

  private antecedent({ named, isHeading }: Referent): Antecedent {
    const isTold = named.said.length > 0 || named.gender !== undefined || this.isPerson(named) !== undefined
    return { place: named, share: isHeading && !isTold ? shareOfHeading : 1 }
  }

  private person(gender: Gender): ReadonlyArray<Antecedent> {
    const other: Gender = gender === "female" ? "male" : "female"
    if (this.unnamed.some((one) => one.gender !== other)) return []
    const fitting = this.known.filter(({ named }) => !named.isPlace && named.gender !== other && this.isPerson(named) !== false)
    const inText = fitting.filter(({ isHeading }) => !isHeading)
    const possible = inText.length > 0 ? inText : fitting
    const persons = possible.filter((one, at) => !possible.some(({ named }, index) => index < at && isSameName(named.text, one.named.text)))
    return persons.length === 1 ? persons.map((referent) => this.antecedent(referent)) : []
  }

  /** 1 for a kind that fits, 0 for an unknown one, -1 for one that does not fit. */
  private fit(named: Named, reference: Exclude<Reference, Gender>): number {
    if (reference === "any") return 0
    const person = this.isPerson(named)
    if (reference === "thing") return person === undefined ? 0 : person ? -1 : 1
    const words = [named.text, ...[...named.said, ...named.known].flatMap((iri) => [...this.ontology.names(iri)])].join(" ")
    const isNamed = labelKey(words)
      .split(" ")
      .some((word) => stem(word) === reference.stem)
    if (isNamed) return 1
    // "The company" is no person.
    return person !== undefined && person !== namesPerson(reference.noun) ? -1 : 0
  }

  private isPerson({ text, said, known, gender }: Named): boolean | undefined {
    const classes = [...said, ...known].filter((iri) => this.ontology.classes.has(iri))
    if (classes.length > 0) {
      const all = classes.flatMap((iri) => [iri, ...this.ontology.ancestors(iri)])
      return all.some((iri) => this.ontology.names(iri).some((name) => personWords.has(stem(labelKey(name)))))
    }
    const stems = labelKey(text).split(" ").map(stem)
    if (/^the\s/i.test(text) || /\d/.test(text) || stems.some((one) => organisationWords.has(one))) return false
    return gender === undefined ? undefined : true
  }
}

/** Whether all words of one name occur in the other: "Sol" and "Ada Sol". */
const isSameName = (one: string, other: string): boolean => {
  const [fewer = [], more = []] = [one, other].map((name) => labelKey(name).split(" ")).sort((left, right) => left.length - right.length)
  return fewer.every((word) => more.includes(word))
}

/** The noun of "The company …", or the kind of name that a pronoun takes. */
type Reference = Gender | "thing" | "any" | { readonly noun: string; readonly stem: string }

const references: Readonly<Record<string, Gender | "thing" | "any">> = {
  he: "male",
  his: "male",
  she: "female",
  her: "female",
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
    const noun = lastOfNoun(view, begin + 1)
    return { noun: words[noun] ?? "", stem: view.stems[noun] ?? "" }
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

// The gender of a name, by a title or noun beside it, a possessive after it, or the given name.

const nounsOfGender: Readonly<Record<Gender, ReadonlySet<string>>> = {
  female: wordSet(`mrs ms miss lady dame madam queen princess empress duchess countess baroness sister mother daughter wife widow aunt niece
    granddaughter grandmother actress heiress girlfriend fiancée woman girl businesswoman spokeswoman chairwoman sportswoman heroine
    hostess waitress nun stepmother stepdaughter bride`),
  male: wordSet(`mr sir lord king prince emperor duke count baron brother father son husband widower uncle nephew grandson grandfather heir
    boyfriend fiancé man boy businessman spokesman chairman sportsman hero monk stepfather stepson groom`),
}

const genderOfNoun = (word: string): Gender | undefined =>
  nounsOfGender.female.has(word) ? "female" : nounsOfGender.male.has(word) ? "male" : undefined

const genderOfName = (words: ReadonlyArray<string>): Gender | undefined => {
  const [first = ""] = words
  return (
    genderOfNoun(first) ??
    (words.length > 1 && !words.some((word) => organisationWords.has(stem(word))) ? givenNames.get(first) : undefined)
  )
}

const possessives: Readonly<Record<string, Gender>> = { his: "male", her: "female" }

/** The gender of the person with a name; undefined if the sentence does not tell. */
export const genderOf = (view: SentenceView, { first, last }: Candidate, isSubject: boolean): Gender | undefined => {
  for (let at = beginOfDescription(view, first); at < first; at++) {
    const gender = genderOfNoun(view.words[at] ?? "")
    if (gender !== undefined) return gender
  }
  const title = genderOfNoun(view.words[view.words[first - 1] === "." ? first - 2 : first - 1] ?? "")
  if (title !== undefined) return title
  const next = view.words[last + 1] ?? ""
  // "Ada Sol and her brother", "Ada Sol, a Norwegian actress"
  if (next === "and" && Object.hasOwn(possessives, view.words[last + 2] ?? "")) return possessives[view.words[last + 2] ?? ""]
  const [from, to] = next === "," ? [last + 2, last + 6] : isSubject && view.predicate !== undefined ? view.predicate : [0, -1]
  for (let at = from; at <= to && view.words[at] !== "," && view.words[at] !== "of"; at++) {
    const gender = genderOfNoun(view.words[at] ?? "")
    if (gender !== undefined) return gender
  }
  return genderOfName(view.words.slice(first, last + 1))
}

/** The genders of the persons that a sentence mentions by a relation to another, without a name: "her brother", "the widow of Ada Sol". */
export const unnamedPersons = (view: SentenceView): ReadonlyArray<Gender | "any"> =>
  view.words.flatMap((word, at) => {
    if (view.capital[at] || !view.content[at] || !namesPerson(word) || view.capital[at + 1] || isVerbLike(word)) return []
    let before = at - 1
    while (before > at - 4 && view.content[before] && !view.capital[before]) before--
    const isOwned = /^(?:his|her|their|'s|')$/.test(view.words[before] ?? "") || view.words[at + 1] === "of"
    const lead = view.words[before - 1] ?? ""
    return isOwned && !predicative.has(lead) ? [genderOfNoun(withoutPlural(word)) ?? "any"] : []
  })

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
  /** The agent of the verb: a candidate, `earlier` for "she" and "it", or undefined if it has no name: "her company". */
  readonly doer: number | "earlier" | undefined
  /** The candidate that the verb acts on. It is never the property's object: who owns Verran Lines is not owned by it. */
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
          const isOfAgent = properties[property]?.verbs.agents.has(view.stems[at] ?? "") === true
          if (strength !== "label" || !isOfAgent || !isActive(view, at)) return []
          const doer = nameEndingBefore(view, candidates, at) ?? subjectOfClause(view, candidates, at)
          const done = nameBeginningAfter(view, candidates, at)
          return done === undefined ? [] : [{ property, doer, done }]
        }),
  )

const passiveMarkers = /^(?:is|was|are|were|be|been|being|by)$/

/** "founded", but not "was founded", "founded by" or the noun "founder". */
const isActive = (view: SentenceView, at: number): boolean =>
  !view.capital[at] &&
  (isVerbLike(view.words[at] ?? "") || (/[^s]s$/.test(view.words[at] ?? "") && !/(?:er|or|ist|ian)s$/.test(view.words[at] ?? ""))) &&
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
