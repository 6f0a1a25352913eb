/** What stands in and around a candidate, as words and signs that examples can be counted by. */
import { determiners, isFunctionWord, prepositions } from "../language/FunctionWords.ts"
import type { Candidate } from "./Candidates.ts"
import type { SentenceView } from "./SentenceView.ts"

/** The clues to a candidate's being the object of a relation. */
export const objectClues = ["before", "trigger", "after", "shape", "first", "last", "whole"] as const
export type ObjectClue = (typeof objectClues)[number]

/** A clue of the sentence as a whole: the stems of its plain words. */
export const sentenceClue = "sentence"

export const objectCluesOf = (view: SentenceView, candidate: Candidate): Readonly<Record<ObjectClue, string>> => {
  const before = tokenBefore(view, candidate)
  const after = tokenAfter(view, candidate)
  return {
    before: before < 0 ? "^" : (view.stems[before] ?? "^"),
    trigger: triggerBefore(view, before),
    after: view.stems[after] ?? "$",
    shape: shapeOf(view, candidate),
    first: view.stems[candidate.first] ?? "",
    last: view.stems[candidate.last] ?? "",
    whole: view.words.slice(candidate.first, candidate.last + 1).join(" "),
  }
}

/** A clue of what the sentence is about: the shape of its name. A season is no person, whatever stands beside it. */
export const aboutClue = "about"

export const sentenceStems = (view: SentenceView): ReadonlyArray<string> => [
  ...new Set(view.stems.filter((_, at) => view.content[at] && !view.capital[at])),
]

/** The clues to a candidate's being what the sentence is about. */
export const subjectClues = ["shape", "before", "after", "first", "last", "opening"] as const
export type SubjectClue = (typeof subjectClues)[number]

export const subjectCluesOf = (view: SentenceView, candidate: Candidate): Readonly<Record<SubjectClue, string>> => {
  const place = candidate.first <= view.begin + 1 ? "begin" : "later"
  const opening = view.words[view.begin] ?? ""
  const after = isQuote(view, candidate.last + 1) ? candidate.last + 2 : candidate.last + 1
  return {
    shape: `${place} ${shapeOf(view, candidate)}`,
    before: candidate.first > 0 ? (view.stems[candidate.first - 1] ?? "^") : "^",
    after: `${place} ${view.stems[after] ?? "$"}`,
    first: view.stems[candidate.first] ?? "",
    last: view.stems[candidate.last] ?? "",
    opening: `${place} ${isFunctionWord(opening) ? opening : "other"}`,
  }
}

export const isQuote = (view: SentenceView, at: number): boolean => /^["“”„«»]$/.test(view.words[at] ?? "")

/**
 * The token before a candidate, over quotation marks and articles. In a list it is the one before the list: what holds for
 * the first member holds for all.
 */
export const tokenBefore = (view: SentenceView, candidate: Candidate): number => {
  let at = beginOfList(view, candidate) - 1
  if (isQuote(view, at)) at--
  while (at >= 0 && determiners.has(view.words[at] ?? "")) at--
  return at
}

const tokenAfter = (view: SentenceView, candidate: Candidate): number =>
  isQuote(view, candidate.last + 1) ? candidate.last + 2 : candidate.last + 1

const longestList = 8

/** Where the list begins that a candidate is a member of; where it begins itself, if it is of none. */
export const beginOfList = (view: SentenceView, candidate: Candidate): number => {
  let begin = candidate.first
  if (!view.capital[begin] && candidate.kind !== "quotation") return begin
  for (let members = 0; members < longestList; members++) {
    let at = isQuote(view, begin - 1) ? begin - 2 : begin - 1
    if (!isSeparator(view.words[at])) return begin
    while (isSeparator(view.words[at]) || view.words[at] === "the") at--
    if (!isMemberPart(view, at)) return begin
    while (at > 0 && (isMemberPart(view, at) || (joinsMember(view.words[at]) && isMemberPart(view, at - 1)))) at--
    begin = at + 1
  }
  return begin
}

const isSeparator = (word: string | undefined): boolean => word === "," || word === "and" || word === "or" || word === "&"
const joinsMember = (word: string | undefined): boolean => /^(?:of|the|de|for)$/.test(word ?? "")
const isMemberPart = (view: SentenceView, at: number): boolean =>
  view.capital[at] === true || /\d/.test(view.words[at] ?? "") || isQuote(view, at)

/** The nearest plain word before, with the preposition or mark that leads from it: "direct|by". */
const triggerBefore = (view: SentenceView, before: number): string => {
  const link = view.words[before] ?? ""
  const joined = prepositions.has(link) || view.tokens[before]?.kind === "mark" ? link : ""
  for (let at = before; at >= 0 && at > before - 8; at--) {
    if (view.content[at] && !view.capital[at]) return `${view.stems[at]}|${joined}`
  }
  return `^|${joined}`
}

export const shapeOf = (view: SentenceView, candidate: Candidate): string => {
  const { kind, first, last, date, text } = candidate
  if (date !== undefined) return date.day !== undefined ? "day" : date.month !== undefined ? "month" : "year"
  if (kind === "number" || kind === "quotation") return kind
  const words = last - first + 1
  if (!view.capital[first] && kind !== "title") return `plain${Math.min(words, 3)}`
  if (words === 1 && text.length > 1 && /^[\p{Lu}\d.&-]+$/u.test(text)) return "acronym"
  const digits = /\d/.test(text) ? "digits " : ""
  const mixed = view.tokens.slice(first, last + 1).some((token, at) => token.kind === "word" && !view.capital[first + at]) ? "mixed " : ""
  return `${digits}${mixed}name${Math.min(words, 4)}`
}
