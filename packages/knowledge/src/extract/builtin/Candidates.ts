/**
 * The spans of a sentence that could be an entity or a value: names, quotations, the title a sentence begins with, dates, numbers,
 * plain noun phrases, and known names. Generous on purpose: a span that is missing here can never be part of a fact.
 */

import type { Span } from "../../fact/Fact.ts"
import type { FoundDate } from "../../text/Dates.ts"
import { baseForm } from "../../text/Stem.ts"
import { isUnitName } from "../../text/Units.ts"
import { auxiliaries, isFunctionWord, nameConnectors, prepositions } from "../../text/Words.ts"
import type { Gazetteer } from "./Gazetteer.ts"
import { type SentenceView, textBetween } from "./SentenceView.ts"

export type CandidateKind = "name" | "quotation" | "title" | "date" | "number" | "phrase"

export interface Candidate {
  readonly kind: CandidateKind
  /** The first and last token. */
  readonly first: number
  readonly last: number
  readonly text: string
  readonly date?: FoundDate
}

export const findCandidates = (
  view: SentenceView,
  known: Pick<Gazetteer, "occurrences">,
  spans: ReadonlyArray<Span> = [],
): ReadonlyArray<Candidate> => {
  const found = new Map<number, Candidate>()
  const add = (kind: CandidateKind, first: number, last: number, date?: FoundDate) => {
    if (last < first || last - first >= longest) return
    const key = first * 65_536 + last
    if (found.has(key)) return
    // "September" and "25" of a date are not candidates by themselves.
    if (date === undefined && view.dates.some((one) => one.first <= first && last <= one.last)) return
    found.set(key, { kind, first, last, text: textBetween(view, first, last), ...(date === undefined ? {} : { date }) })
  }
  for (const date of view.dates) add("date", date.first, date.last, date)
  for (const [first, last] of view.quotations) add("quotation", first, withoutClosingMark(view, last))
  addNames(view, add)
  addTitles(view, add)
  addNumbers(view, add)
  addPhrases(view, add)
  for (const [first, last] of known.occurrences(view.words)) add(view.capital[first] ? "name" : "phrase", first, last)
  for (const span of spans) {
    const first = view.tokens.findIndex((token) => token.start === span.start)
    const last = view.tokens.findIndex((token) => token.end === span.end)
    if (first !== -1 && last !== -1) add(view.capital[first] ? "name" : "phrase", first, last)
  }
  return [...found.values()]
}

export const overlaps = (one: Candidate, other: Candidate): boolean => one.first <= other.last && other.first <= one.last

type Add = (kind: CandidateKind, first: number, last: number, date?: FoundDate) => void

const longest = 15
const longestPhrase = 4

/** A comma or point before the closing quotation mark belongs to the sentence. */
const withoutClosingMark = (view: SentenceView, last: number): number => (/^[,.;]$/.test(view.words[last] ?? "") ? last - 1 : last)

/** A sentence often begins with the name of its subject, including lower-case words: "Up in the Air was …". */
const addTitles = (view: SentenceView, add: Add) => {
  const begin = beginOfSubject(view)
  if (begin === -1 || view.quotations.some(([first]) => first === begin)) return
  const addUpTo = (last: number) => {
    if (!readsLikeTitle(view, begin, last)) return
    add("title", begin, last)
    if (view.words[begin] === "the") add("title", begin + 1, last)
  }
  for (let at = begin + 1; at < Math.min(view.tokens.length, begin + longest); at++) {
    const word = view.words[at] ?? ""
    if (endsTitle.has(word)) addUpTo(at - 1)
    // "The national water polo team represents …": the title ends at the verb, which only its suffix reveals.
    else if (!view.capital[at] && view.content[at] && !view.capital[at - 1] && /(?:[^s']s|ed)$/.test(word)) addUpTo(at - 1)
    if (endsTitle.has(word) && word !== "," && word !== "'s") return
  }
}

/** "Produced by Ada Sol, Dawn is …": the subject of the participle stands after a comma, before the verb. */
const beginOfSubject = (view: SentenceView): number => {
  const { begin, words } = view
  if (!/(?:ed|ing|en|born)$/.test(words[begin] ?? "") || !prepositions.has(words[begin + 1] ?? "")) return begin
  const commas = words.flatMap((word, at) => (word === "," && at > begin && view.capital[at + 1] ? [at] : []))
  return (commas.find((comma) => isBeforeVerb(view, comma + 1)) ?? commas[0] ?? begin - 1) + 1
}

/** Whether the name that begins here is followed by a verb. */
const isBeforeVerb = (view: SentenceView, first: number): boolean => {
  let at = first
  while (at < first + longest && (view.capital[at] || nameConnectors.has(view.words[at] ?? ""))) at++
  const word = view.words[at] ?? ""
  return auxiliaries.has(word) || endsInVerb(view, at) || (view.content[at] === true && /[^s]s$/.test(word))
}

/** Whether a span can be a title: a verb or a pronoun shows that the subject has already ended. */
const readsLikeTitle = (view: SentenceView, first: number, last: number): boolean => {
  if (auxiliaries.has(view.words[first] ?? "") || (isFunctionWord(view.words[last] ?? "") && !view.capital[last])) return false
  if (/^(?:[,;]|'s)$/.test(view.words[last] ?? "")) return false
  if (view.text.slice(view.tokens[first]!.start - view.offset, view.tokens[last]!.end - view.offset).includes("\n")) return false
  if (first === last && isFunctionWord(view.words[first] ?? "")) return false
  for (let at = first + 1; at <= last; at++) {
    if (view.content[at] && endsInVerb(view, at)) return false
    // "The film follows Ada Sol": a verb before a name.
    if (!view.capital[at] && view.content[at] && /[^s']s$/.test(view.words[at] ?? "") && view.capital[at + 1]) return false
    if (view.words[at - 1] === ":" && !view.capital[at]) return false
    if (!view.capital[at] && clauseWords.has(view.words[at] ?? "")) return false
  }
  return true
}

/** Words that open another clause. */
const clauseWords: ReadonlySet<string> = new Set(["that", "who", "which", "whose", "he", "she", "it", "they"])

const endsTitle: ReadonlySet<string> = new Set(["is", "was", "are", "were", "(", ",", "has", "had", "'s", "[", "–", "-"])

const addNames = (view: SentenceView, add: Add) => {
  for (let first = 0; first < view.tokens.length; first++) {
    // "In May 1901 Verran Lines was founded": the name begins after the date.
    if (!beginsName(view, first) || view.dates.some((date) => date.month !== undefined && date.first <= first && first <= date.last))
      continue
    const continues = first > 0 && isNamePart(view, first - 1)
    for (const last of nameEnds(view, first)) {
      // "It", "Our", "When": capitalised because they begin the sentence, not names.
      if (last === first && isFunctionWord(view.words[first] ?? "")) continue
      if (!continues || last - first <= 5) add("name", first, last)
    }
  }
}

const isNamePart = (view: SentenceView, at: number): boolean => {
  const token = view.tokens[at]
  if (token === undefined || token.kind === "mark" || isUnit(view, at)) return false
  return view.capital[at] === true || /\d/.test(token.text)
}

const beginsName = (view: SentenceView, at: number): boolean => {
  if (isUnit(view, at)) return false
  if (view.capital[at]) return true
  // "2009 Paris Open", "iPhone"
  return (
    (isNamePart(view, at) && view.capital[at + 1] === true && !isUnit(view, at + 1)) || /^\p{Ll}+\p{Lu}/u.test(view.tokens[at]?.text ?? "")
  )
}

/** Where a name that begins here can end: at every capitalised word reached directly, after an initial, or across connectors. */
const nameEnds = (view: SentenceView, first: number): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (let at = first; ends.length < 10; ) {
    ends.push(at)
    let next = at + 1
    const text = view.tokens[at]?.text ?? ""
    if (view.words[next] === "." && (text.length <= 2 || abbreviation.test(text))) {
      if (abbreviation.test(text)) ends.push(next)
      next++
    }
    if (endsInMark(view, next)) ends.push(next)
    let over = next
    while (over - next < 3 && (nameConnectors.has(view.words[over] ?? "") || /^[:&/–!-]$/.test(view.words[over] ?? ""))) over++
    if (isNamePart(view, next)) at = next
    // "Lumholm: 140 inhabitants" is not one name.
    else if (over > next && isNamePart(view, over) && !(view.words[next] === ":" && !view.capital[over])) at = over
    else break
  }
  return ends
}

/** "Oklahoma!" keeps its mark, unless the sentence ends with it. */
const endsInMark = (view: SentenceView, at: number): boolean =>
  /^[!?]$/.test(view.words[at] ?? "") && at < view.tokens.length - 1 && view.tokens[at]?.start === view.tokens[at - 1]?.end

const abbreviation = /^(?:Bros|Inc|Ltd|Co|Corp|Jr|Sr|Dr|Mr|Mrs|Ms|St|Mt|No|Vol|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon)$/

/** Whether a word after a number is a unit: "407.5 MW". It belongs to the value, and is neither a name nor a counted noun. */
const isUnit = (view: SentenceView, at: number): boolean =>
  view.tokens[at - 1]?.kind === "number" && isUnitName(view.tokens[at]?.text ?? "")

const addNumbers = (view: SentenceView, add: Add) => {
  view.tokens.forEach((token, at) => {
    if (token.kind !== "number") return
    add("number", at, at)
    if (view.content[at + 1] && !isUnit(view, at + 1)) add("number", at, at + 1)
    if (/^(?:hundred|thousand|million|billion|trillion)$/.test(view.words[at + 1] ?? "") && view.content[at + 2]) add("number", at, at + 2)
  })
}

/** Whether a phrase ends in a verb form: "written", "played". */
const endsInVerb = (view: SentenceView, last: number): boolean => {
  const word = view.words[last] ?? ""
  return !view.capital[last] && (/[^e]ed$/.test(word) || baseForm(word) !== undefined)
}

const addPhrases = (view: SentenceView, add: Add) => {
  for (let first = 0; first < view.tokens.length; first++) {
    if (!view.content[first]) continue
    for (let last = first; last < first + longestPhrase; last++) {
      // "women's football" is one phrase.
      if (view.words[last] === "'s") continue
      if (!view.content[last]) break
      if (!endsInVerb(view, last)) add("phrase", first, last)
    }
  }
}
