/**
 * The features that score a candidate as the subject of the sentence, and the traits that the sentence gives the subject in passing:
 * whether it is a person, and what kind of thing it is.
 */
import { baseForm, isVerbLike, stem, withoutPlural } from "../../text/Stem.ts"
import { determiners, isFunctionWord, nameConnectors, prepositions, titlesOfPersons } from "../../text/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { isQuote } from "./Evidence.ts"
import { organisationWords } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"

/** The initial weights of training; see {@link objectPrior}. */
export const subjectPrior = {
  choice: 0,
  "evidence shape": 0.25,
  "evidence before": 0.1,
  "evidence after": 0.15,
  "evidence first": 0.25,
  "evidence last": 0.15,
  "evidence opening": 0.15,
  "article as in examples": 0.7,
  "known by name": 2,
  "begins sentence": 1.25,
  quotation: 0.75,
  title: 0,
  name: 0.25,
  "plain words": -0.25,
  date: -0.5,
  number: -0.5,
  "sentence begins with pronoun": -0.5,
  "sentence begins with plain noun": -1,
  "before is": 0.75,
  "before verb": 1.25,
  "occurs again": 0.25,
  whole: 0.25,
  "begins longer name": -0.75,
  "in brackets": -1,
  "one word": -1.25,
  "share of plain words": -1.5,
  "holds comma": -1.75,
  "ends in plain word": -1.25,
  "article before number": -0.5,
  "article before one word": -1.25,
  "article before organisation": -0.5,
  "holds possessive": 0,
  "owns what is spoken of": 1,
  "ends in what it owns": -1.5,
  "article and plain words": -1,
  "begins with title": -1,
  "begins with preposition": -1,
  "begins with linking word": -0.25,
  "begins with participle": -1,
  "after preposition": 0.25,
  "after comma": 1,
  "cut at right": -1.25,
  "cut at left": -0.75,
  "begins with article": -1,
  "stood before": -1.5,
  "stood before pronoun": 3,
  "stood before plain noun": 2,
} as const satisfies Record<string, number>

export type SubjectFeature = keyof typeof subjectPrior
export const subjectFeatures = Object.keys(subjectPrior) as ReadonlyArray<SubjectFeature>
const position = Object.fromEntries(subjectFeatures.map((name, at) => [name, at])) as Readonly<Record<SubjectFeature, number>>
export const subjectFeature = (name: SubjectFeature): number => position[name]

/** Returns one feature row per candidate of the sentence. */
export const describeSubjects = (view: SentenceView, candidates: ReadonlyArray<Candidate>): ReadonlyArray<Float64Array> => {
  const names = candidates.filter(
    (candidate) =>
      candidate.kind !== "phrase" && (candidate.kind !== "title" || shareOfPlainWords(view, candidate.first, candidate.last) === 0),
  )
  return candidates.map((candidate) => describeSubject(view, candidate, names))
}

const describeSubject = (view: SentenceView, candidate: Candidate, names: ReadonlyArray<Candidate>): Float64Array => {
  const row = new Float64Array(subjectFeatures.length)
  const mark = (name: SubjectFeature, holds: boolean) => {
    if (holds) row[position[name]] = 1
  }
  const { first, last, kind, text } = candidate
  const next = view.words[last + 1] ?? ""
  const words = view.words.slice(first, last + 1)
  row[position.choice] = 1
  mark("begins sentence", beginsSentence(view, first))
  mark("quotation", kind === "quotation")
  mark("title", kind === "title")
  mark("name", kind === "name")
  mark("plain words", kind === "phrase" && !view.capital[first])
  mark("date", kind === "date")
  mark("number", kind === "number")
  mark("sentence begins with pronoun", beginsWithPronoun(view))
  mark("sentence begins with plain noun", beginsWithPlainNoun(view))
  mark("before is", /^(?:is|was|are|were|has|had)$/.test(view.words[tokenAfterBrackets(view, last)] ?? ""))
  mark("before verb", !view.capital[last + 1] && ((/(?:ed|s)$/.test(next) && next.length > 3) || baseForm(next) !== undefined))
  mark("occurs again", view.text.indexOf(text) !== view.text.lastIndexOf(text))
  const around = namesAround(candidate, names)
  mark("whole", !around.any)
  mark("begins longer name", around.sameBegin)
  mark("in brackets", (view.depth[first] ?? 0) > 0)
  // "the ferry Nordlys": the noun before the name makes up for its shortness.
  mark("one word", first === last && !(view.content[first - 1] && !view.capital[first - 1]))
  row[position["share of plain words"]] = shareOfPlainWords(view, first, last)
  mark("holds comma", words.includes(","))
  mark("ends in plain word", !view.capital[last] && !/\d/.test(view.words[last] ?? ""))
  mark("article before number", view.words[first] === "the" && /\d/.test(view.words[first + 1] ?? ""))
  mark("article before one word", view.words[first] === "the" && last === first + 1 && view.capital[last] === true)
  mark(
    "article before organisation",
    view.words[first] === "the" &&
      view.stems.slice(first + 1, last + 1).some((stem, at) => view.capital[first + 1 + at] && organisationWords.has(stem)),
  )
  mark("holds possessive", words.includes("'s"))
  mark("owns what is spoken of", kind === "name" && beginsSentence(view, first) && next === "'s" && !view.capital[last + 2])
  mark("ends in what it owns", words.includes("'s") && isPlainAfter(view, first + words.lastIndexOf("'s"), last))
  mark("article and plain words", determiners.has(words[0] ?? "") && isPlainAfter(view, first, last))
  mark("begins with title", first < last && isTitleOfPerson(view, first) && view.capital[first + 1] === true)
  mark("begins with preposition", prepositions.has(view.words[first] ?? ""))
  mark("begins with linking word", isLinkingWord(view.words[first] ?? ""))
  mark("begins with participle", /(?:ed|ing|en)$/.test(view.words[first] ?? "") && prepositions.has(view.words[first + 1] ?? ""))
  mark("after preposition", prepositions.has(view.words[first - 1] ?? ""))
  mark("after comma", view.words[first - 1] === ",")
  mark("cut at right", view.capital[last + 1] === true || (/^(?:of|for|and|the|in)$/.test(next) && view.capital[last + 2] === true))
  mark("cut at left", first > 0 && isCapitalWord(view, first - 1) && !isTitleOfPerson(view, first - 1))
  mark("begins with article", view.words[first] === "the")
  return row
}

/** Whether tokens follow `after` up to `last`, and none of them is capitalised or a number. */
const isPlainAfter = (view: SentenceView, after: number, last: number): boolean => {
  for (let at = after + 1; at <= last; at++) if (view.capital[at] || view.tokens[at]?.kind === "number") return false
  return last > after
}

/** Whether other names contain the candidate, and whether one of them begins with it. */
const namesAround = (candidate: Candidate, names: ReadonlyArray<Candidate>): { readonly any: boolean; readonly sameBegin: boolean } => {
  let any = false
  for (const other of names) {
    if (other === candidate || other.first > candidate.first || other.last < candidate.last) continue
    if (other.first === candidate.first && other.last > candidate.last) return { any: true, sameBegin: true }
    any = true
  }
  return { any, sameBegin: false }
}

const isCapitalWord = (view: SentenceView, at: number): boolean => view.capital[at] === true && view.content[at] === true

/** In "Captain Ada Sol" the title "Captain" is not part of the name. */
const isTitleOfPerson = (view: SentenceView, at: number): boolean => isCapitalWord(view, at) && titlesOfPersons.has(view.words[at] ?? "")

/** "When", "Today", "So": words that precede a subject more often than they are part of one. */
const isLinkingWord = (word: string): boolean => isFunctionWord(word) && !determiners.has(word) && !prepositions.has(word)

/** Whether only words that introduce a name stand before the candidate: "The French novelist Jules Verne …". */
const beginsSentence = (view: SentenceView, first: number): boolean => {
  if (first === view.begin || (first === view.begin + 1 && isTitleOfPerson(view, view.begin))) return true
  const opening = view.words[view.begin] ?? ""
  // "In May 1901 Verran Lines", "Since Verran Lines was founded"
  const opened = isDate(view, view.begin + 1, first - 1) || (first === view.begin + 1 && subordinators.has(opening))
  if (prepositions.has(opening) && view.capital[first] && opened) return true
  if (first > view.begin + 4 || !(determiners.has(opening) || isLinkingWord(opening))) return false
  for (let at = view.begin + 1; at < first; at++) if (!view.content[at] || isVerbLike(view.words[at] ?? "")) return false
  return true
}

/** Prepositions that open a clause. The others also open titles: "For Scent-imental Reasons". */
const subordinators: ReadonlySet<string> = new Set(["since", "after", "before", "until"])

/** Whether the tokens from `first` to `last` are a date, or a date and a comma. */
const isDate = (view: SentenceView, first: number, last: number): boolean =>
  view.dates.some((date) => date.first === first && (date.last === last || (date.last === last - 1 && view.words[last] === ",")))

const shareOfPlainWords = (view: SentenceView, first: number, last: number): number => {
  let [content, plain] = [0, 0]
  for (let at = first; at <= last; at++) {
    if (!view.content[at] || nameConnectors.has(view.words[at] ?? "")) continue
    content++
    if (!view.capital[at]) plain++
  }
  return content === 0 ? 0 : plain / content
}

/** The row of an earlier sentence's subject, to which this sentence can refer with a pronoun or a plain noun at its beginning. */
export const describeEarlierSubject = (view: SentenceView): Float64Array => {
  const row = new Float64Array(subjectFeatures.length)
  row[position["stood before"]] = 1
  if (beginsWithPronoun(view)) row[position["stood before pronoun"]] = 1
  if (beginsWithPlainNoun(view)) row[position["stood before plain noun"]] = 1
  return row
}

const referring: ReadonlySet<string> = new Set(["he", "she", "it", "they", "his", "her", "its", "their", "this", "these"])

/** "She was …", "In 2012 she was …" */
const beginsWithPronoun = (view: SentenceView): boolean => {
  const opening = view.words[view.begin] ?? ""
  if (referring.has(opening)) return true
  if (!prepositions.has(opening) && !isLinkingWord(opening)) return false
  for (let at = view.begin + 1; at < view.begin + 8; at++) {
    if (/^(?:he|she|it|they)$/.test(view.words[at] ?? "")) return true
    if (view.capital[at] && !view.dates.some((date) => date.first <= at && at <= date.last)) return false
  }
  return false
}

/** "The company was …": the noun refers to an earlier sentence. */
const beginsWithPlainNoun = (view: SentenceView): boolean =>
  view.words[view.begin] === "the" && view.capital[view.begin + 1] === false && view.content[view.begin + 1] === true

const tokenAfterQuote = (view: SentenceView, last: number): number => (isQuote(view, last + 1) ? last + 2 : last + 1)

const tokenAfterBrackets = (view: SentenceView, last: number): number => endOfBrackets(view, tokenAfterQuote(view, last))

export interface SubjectTraits {
  /** Whether the sentence says that it was born or died, or gives its life dates in brackets. */
  readonly person: boolean
  /** The stems of the nouns that say what it is: "film" and "director" in "a film director". */
  readonly kinds: ReadonlyArray<string>
}

export const subjectTraits = (view: SentenceView, { last }: Candidate): SubjectTraits => {
  const begin = tokenAfterQuote(view, last)
  const end = endOfBrackets(view, begin)
  const at = view.words[end] === "," ? end + 1 : end
  const is = /^(?:is|was|are|were)$/.test(view.words[at] ?? "")
  const person = hasLife(view, begin, end) || (is && view.words[at + 1] === "born")
  return { person, kinds: kindsFrom(view, is ? at + 1 : at) }
}

/** The token after the brackets that open at `begin`; `begin` itself if none open there. */
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

/** Whether a date is the start or the end of a period in brackets: two dates with a dash between. */
export const isEndOfSpan = (view: SentenceView, first: number, last: number): boolean => {
  if ((view.depth[first] ?? 0) === 0) return false
  const isDash = (at: number) => /^[-–—]$/.test(view.tokens[at]?.text ?? "")
  const [after, before] = [isDash(last + 1), isDash(first - 1)]
  return (after || before) && view.dates.some((other) => (after && other.first === last + 2) || (before && other.last === first - 2))
}

const mostKinds = 10

/** The stems of the plain nouns after an article, up to the first other word: "film" of "a 1950 Norwegian film directed by". */
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
