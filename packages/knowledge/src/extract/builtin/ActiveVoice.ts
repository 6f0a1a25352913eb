/**
 * Sentences that say the other way round what a property says: an ontology has "founded by", the text "Piet Marsh founded
 * Tidewater". There the doer stands first, and is the object of the property.
 */
import { determiners, isFunctionWord } from "../language/FunctionWords.ts"
import type { Candidate } from "./Candidates.ts"
import { isNegated, isOneName, isVerbLike } from "./ObjectFeatures.ts"
import type { PropertyView } from "./PropertyView.ts"
import type { SentenceView } from "./SentenceView.ts"
import type { Trigger } from "./Triggers.ts"

export interface Reversal {
  readonly property: number
  /** The candidate that did it. */
  readonly doer: number
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
          if (strength !== "label" || !isActive(view, at) || isNegated(view, at)) return []
          const doer = nameEndingBefore(view, candidates, at)
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

/** Over words like "has", "also" and "later". */
const nameEndingBefore = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | undefined => {
  let last = verb - 1
  while (last > verb - 4 && isFunctionWord(view.words[last] ?? "") && !view.capital[last]) last--
  return longest(view, candidates, (candidate) => candidate.last === last && !isFunctionWord(view.words[candidate.first] ?? ""))
}

/** Over an article and what describes the name: "the novel Emma", "his first opera". */
const nameBeginningAfter = (view: SentenceView, candidates: ReadonlyArray<Candidate>, verb: number): number | undefined => {
  let first = verb + 1
  while (first < verb + 5 && !view.capital[first] && (determiners.has(view.words[first] ?? "") || view.content[first])) first++
  if (/^["“„«]$/.test(view.words[first] ?? "")) first++
  return longest(view, candidates, (candidate) => candidate.first === first)
}
