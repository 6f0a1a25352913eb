/**
 * Sentences that say the other way round what a property says: an ontology has "founded by", the text "Piet Marsh founded
 * Tidewater". There the doer stands first, and is the object of the property.
 */
import { conjunctions, determiners, isFunctionWord, prepositions } from "../language/FunctionWords.ts"
import { isVerbLike } from "../language/Verbs.ts"
import type { Candidate } from "./Candidates.ts"
import { isOneName } from "./ObjectFeatures.ts"
import type { PropertyView } from "./PropertyView.ts"
import type { SentenceView } from "./SentenceView.ts"
import type { Trigger } from "./Triggers.ts"

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
