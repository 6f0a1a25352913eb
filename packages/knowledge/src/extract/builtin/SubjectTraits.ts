/** What a sentence says of its subject by the way: whether it is a person, and what kind of thing it is. */
import { isVerbLike, stem, withoutPlural } from "../language/Stem.ts"
import { determiners } from "../language/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { isQuote } from "./Evidence.ts"
import type { SentenceView } from "./SentenceView.ts"

export interface SubjectTraits {
  /** Whether it was born or died, or a span of life stands in brackets after it. */
  readonly person: boolean
  /** The stems of the nouns that say what it is: "film" and "director" in "a film director". */
  readonly kinds: ReadonlyArray<string>
}

export const subjectTraits = (view: SentenceView, { last }: Candidate): SubjectTraits => {
  const begin = isQuote(view, last + 1) ? last + 2 : last + 1
  const end = endOfBrackets(view, begin)
  const at = view.words[end] === "," ? end + 1 : end
  const is = /^(?:is|was|are|were)$/.test(view.words[at] ?? "")
  const person = hasLife(view, begin, end) || (is && view.words[at + 1] === "born")
  return { person, kinds: kindsFrom(view, is ? at + 1 : at) }
}

/** The token after brackets that open at a token; the token itself, where none open. */
const endOfBrackets = (view: SentenceView, begin: number): number => {
  if (view.words[begin] !== "(") return begin
  const depth = view.depth[begin] ?? 0
  let at = begin + 1
  while (at < view.words.length && ((view.depth[at] ?? 0) > depth || view.words[at] === ")")) at++
  return at
}

const hasLife = (view: SentenceView, begin: number, end: number): boolean => {
  for (let at = begin; at < end; at++) if (/^(?:born|died)$/.test(view.words[at] ?? "")) return true
  return view.dates.some(({ first, last, day }) => day !== undefined && first > begin && last < end && isEndOfSpan(view, first, last))
}

/** Whether a date is one of two in brackets with a dash between: from when to when something was. */
export const isEndOfSpan = (view: SentenceView, first: number, last: number): boolean => {
  if ((view.depth[first] ?? 0) === 0) return false
  const isDash = (at: number) => /^[-–—]$/.test(view.tokens[at]?.text ?? "")
  const [after, before] = [isDash(last + 1), isDash(first - 1)]
  return (after || before) && view.dates.some((other) => (after && other.first === last + 2) || (before && other.last === first - 2))
}

const mostKinds = 10

/** The plain nouns after an article, up to what is no noun: "film" of "a 1950 Norwegian film directed by". */
const kindsFrom = (view: SentenceView, article: number): ReadonlyArray<string> => {
  const kinds: Array<string> = []
  if (!determiners.has(view.words[article] ?? "")) return kinds
  for (let at = article + 1; at < view.words.length && kinds.length < mostKinds; at++) {
    const word = view.words[at] ?? ""
    if (view.capital[at] || view.tokens[at]?.kind === "number" || /^(?:-|and|'s|first|last|new)$/.test(word)) continue
    if (!view.content[at] || isVerbLike(word)) break
    kinds.push(stem(withoutPlural(word)))
  }
  return kinds
}
