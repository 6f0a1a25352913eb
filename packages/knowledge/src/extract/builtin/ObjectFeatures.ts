/**
 * The features that score a candidate as the object of a property: evidence from examples, words of the property's label
 * nearby, the fit of the candidate to the range, and whether its boundaries cut a name.
 */
import { isVerbLike } from "../../text/Stem.ts"
import type { Candidate } from "./Candidates.ts"
import { beginOfDescription, beginOfList, isQuote, tokenLeadingTo, verbsBefore } from "./Evidence.ts"
import { organisationWords, type PropertyView, type Trigger, type WorldNames } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"
import { isEndOfSpan } from "./SubjectFeatures.ts"

/**
 * The initial weights of training, and the weights without examples. Rounded from fits to sentences of several unrelated
 * ontologies; the last eight, for descriptions, verbs and the kind of the subject, and those for roles and for the noun before a name
 * are plain round numbers.
 */
export const objectPrior = {
  choice: -0.05,
  "evidence before": 0.3,
  "evidence trigger": 0.15,
  "evidence lead": 0.15,
  "evidence after": 0.2,
  "evidence shape": 0.5,
  "evidence first": 0.25,
  "evidence last": 0.4,
  "evidence whole": 0.35,
  "evidence role": 0.5,
  "evidence sentence": 0.35,
  "evidence about": 0.2,
  "property is frequent": 1.7,
  "label before": 0.85,
  "label after": 0.6,
  "label anywhere": 0.35,
  "label just before": 1.05,
  "related before": 1.35,
  "related just before": 0.4,
  "other label just before": -0.25,
  "compound before": 1.6,
  "label inside": 0.7,
  "range near": 0.35,
  "range just before": 1.2,
  "other range just before": -0.5,
  "doer after by": 0.4,
  "other after by": -0.65,
  "date for date": 0.95,
  "date for other": -1.05,
  "other for date": -1.4,
  "number for number": 0.75,
  "number for other": -1,
  "person for person": 0.55,
  "other for person": -1.45,
  "country for country": 2.05,
  "country mismatch": -1.9,
  "language for language": 0.8,
  "language mismatch": -1.9,
  "place after in": 1.2,
  "organisation for organisation": 1.15,
  "organisation for person": -1.1,
  "known as range": 1.5,
  "known as other": -1.5,
  "plain words": -1.55,
  "plain words for name": -1.15,
  "plain words with verb": -0.4,
  "plain words with adverb": -0.55,
  "plain words cut at left": 0,
  "names and plain words": -1.95,
  "begins sentence": -1.9,
  "begins longer name": -1.1,
  "ends longer name": -1.1,
  "cut at right": -1.1,
  "cut at left": -1.4,
  "holds and": -1.1,
  "holds preposition": -0.6,
  "holds date": -1.1,
  "begins with article": -0.25,
  "begins with number": -1.05,
  "describes a name": -1.5,
  "verb of another": -1,
  "foreign verb with by": -1,
  "foreign verb": -0.3,
  "date of a life": -1,
  "domain said": 0.4,
  "other domain said": -0.4,
  "person as other subject": -2,
} as const satisfies Record<string, number>

export type ObjectFeature = keyof typeof objectPrior
export const objectFeatures = Object.keys(objectPrior) as ReadonlyArray<ObjectFeature>
const position = Object.fromEntries(objectFeatures.map((name, at) => [name, at])) as Readonly<Record<ObjectFeature, number>>
export const objectFeature = (name: ObjectFeature): number => position[name]

/** The traits of a candidate that do not depend on the property, computed once. */
export interface ObjectTraits {
  readonly row: Float64Array
  readonly date: boolean
  readonly number: boolean
  readonly person: boolean
  readonly organisation: boolean
  readonly plain: boolean
  readonly country: boolean
  readonly language: boolean
  /** The first token of the list that contains it; its own first token if it is in no list. */
  readonly listBegin: number
  /** The first token of the list's description: "American" in "the American novelist Ada Sol". */
  readonly described: number
  /** The word before the description, skipping articles and quotation marks. */
  readonly before: string
  /** The stems of the verbs that lead up to it: "written and illustrated by". */
  readonly verbs: ReadonlyArray<string>
  /** Whether one of the verbs occurs in a property's label. */
  readonly verbOfLabel: boolean
  /** The stem of the noun right before the name or its list: "album" in "the album Dawn". Empty when there is none. */
  readonly noun: string
  /** Whether the noun occurs in the label of a property or of a range. */
  readonly nounOfOntology: boolean
}

/**
 * The traits of each candidate of a sentence. `labels` are the positions of words that occur in a property's label, `nouns` the stems of
 * the words in labels of properties and ranges.
 */
export const allTraits = (
  view: SentenceView,
  candidates: ReadonlyArray<Candidate>,
  world: WorldNames,
  labels: ReadonlySet<number>,
  nouns: ReadonlySet<string>,
): ReadonlyArray<ObjectTraits> => {
  const names = candidates.filter((candidate) => isOneName(view, candidate))
  return candidates.map((candidate) => traitsOf(view, candidate, names, world, labels, nouns))
}

const traitsOf = (
  view: SentenceView,
  candidate: Candidate,
  names: ReadonlyArray<Candidate>,
  world: WorldNames,
  labels: ReadonlySet<number>,
  nouns: ReadonlySet<string>,
): ObjectTraits => {
  const row = new Float64Array(objectFeatures.length)
  const mark = (name: ObjectFeature, holds: boolean) => {
    if (holds) row[position[name]] = 1
  }
  const { first, last, kind } = candidate
  const capitalised = view.capital[first] === true || kind === "name"
  const plain = kind === "phrase" && view.capital[first] !== true
  const inner = view.words.slice(first + 1, last)
  const isCapitalWord = (at: number) => view.capital[at] === true && view.tokens[at]?.kind === "word"
  row[position.choice] = 1
  mark("plain words", plain)
  mark("plain words with verb", plain && [first, last].some((at) => isVerbLike(view.words[at] ?? "")))
  mark("plain words with adverb", plain && [first, last].some((at) => /ly$/.test(view.words[at] ?? "")))
  mark("plain words cut at left", plain && view.content[first - 1] === true && view.capital[first - 1] !== true)
  mark("names and plain words", kind === "phrase" && view.capital[first] === true)
  mark("begins sentence", first <= 1)
  mark(
    "begins longer name",
    names.some((other) => other.first === first && other.last > last),
  )
  mark(
    "ends longer name",
    names.some((other) => other.first < first && other.last >= last),
  )
  const initial = view.words[last + 1] === "." && (view.tokens[last]?.text.length ?? 9) <= 2 && isCapitalWord(last + 2)
  mark("cut at right", capitalised && (isCapitalWord(last + 1) || initial))
  mark("cut at left", capitalised && first > 1 && isCapitalWord(first - 1) && view.content[first - 1] === true)
  mark("holds and", capitalised && inner.some((word) => word === "and" || word === "or" || word === "&" || word === ","))
  mark("holds preposition", capitalised && inner.some((word) => /^(?:in|for|at|from|by|with|on|to)$/.test(word)))
  mark("holds date", kind !== "date" && view.dates.some((date) => date.first > first && date.last <= last))
  mark("begins with article", view.words[first] === "the")
  mark("begins with number", kind === "name" && last > first && view.tokens[first]?.kind === "number")
  mark("describes a name", capitalised && kind !== "date" && describesName(view, last))
  mark("date of a life", kind === "date" && isEndOfSpan(view, first, last))
  const listBegin = beginOfList(view, candidate)
  const described = capitalised ? beginOfDescription(view, listBegin) : listBegin
  // `describeTriggers` clears it if the label is that of the property in question.
  mark("other label just before", isLedUpTo(view, listBegin, described, labels))
  const lead = tokenLeadingTo(view, described)
  const verbs = verbsBefore(view, lead)
  const noun = capitalised ? nounBefore(view, listBegin) : ""
  const key = view.words.slice(view.words[first] === "the" ? first + 1 : first, last + 1).join(" ")
  return {
    row,
    date: kind === "date",
    number: kind === "number",
    person: looksLikePerson(view, candidate),
    organisation: capitalised && view.stems.slice(first, last + 1).some((one) => organisationWords.has(one)),
    plain,
    country: world.countries.has(key),
    language: world.languages.has(key),
    listBegin,
    described,
    before: view.words[lead] ?? "",
    verbs: verbs.map((at) => view.stems[at] ?? ""),
    verbOfLabel: verbs.some((at) => labels.has(at)),
    noun,
    nounOfOntology: nouns.has(noun),
  }
}

/** The stem of the plain noun right before a name; empty when there is none. */
const nounBefore = (view: SentenceView, name: number): string => {
  const at = isQuote(view, name - 1) ? name - 2 : name - 1
  return view.content[at] && !view.capital[at] && !isVerbLike(view.words[at] ?? "") ? (view.stems[at] ?? "") : ""
}

/** In "the Elsing novelist Ada Sol" Elsing describes Ada Sol. */
const describesName = (view: SentenceView, last: number): boolean => {
  const describes = (at: number) => {
    const word = view.words[at] ?? ""
    return view.content[at] === true && !view.capital[at] && !isVerbLike(word) && !/[^s]s$/.test(word)
  }
  let at = last + 1
  while (at <= last + 4 && describes(at)) at++
  return at > last + 1 && view.capital[at] === true
}

/** Whether a candidate is one name, not to be split: "Bank of England", but not "Marx and Engels in London". */
export const isOneName = (view: SentenceView, { kind, first, last }: Candidate): boolean => {
  if (kind === "quotation" || kind === "date") return true
  return kind === "name" && !view.words.slice(first + 1, last).some((word) => looseConnectors.has(word))
}

const looseConnectors: ReadonlySet<string> = new Set(["and", "or", "&", ",", "for", "in", "on", "to", "at", "from", "with", "by", "'s"])

const looksLikePerson = (view: SentenceView, { first, last, text }: Candidate): boolean => {
  if (last === first || last - first > 4 || /\d/.test(text)) return false
  for (let at = first; at <= last; at++) {
    if (!view.capital[at] && view.words[at] !== "." && !/^(?:de|van|von|der|la|di|da|del|bin|ibn|al)$/.test(view.words[at] ?? ""))
      return false
  }
  return true
}

/** Sets the features that depend on the property. The caller passes `row` as a copy of the candidate's traits. */
export const describeFor = (
  row: Float64Array,
  view: SentenceView,
  candidate: Candidate,
  traits: ObjectTraits,
  property: PropertyView,
  triggers: ReadonlyArray<Trigger>,
) => {
  const mark = (name: ObjectFeature, holds: boolean) => {
    if (holds) row[position[name]] = 1
  }
  describeTriggers(row, view, candidate, traits, triggers)
  const { expects } = property
  const ending = view.stems[candidate.last] ?? ""
  mark("label inside", property.rangeStems.has(ending) || property.stems.has(ending))
  mark("range near", isNear(view, candidate, property.rangeStems))
  // "the album Dawn" names an album, so it is no singer.
  const isOfRange = property.rangeStems.has(traits.noun) || property.stems.has(traits.noun)
  mark("range just before", isOfRange)
  mark("other range just before", traits.nounOfOntology && !isOfRange)
  mark("doer after by", property.agentive && traits.before === "by")
  mark("other after by", traits.before === "by" && !property.agentive && !expects.person && !expects.organisation)
  if (traits.verbs.length > 0) describeVerbs(row, traits, property)
  mark("date for date", traits.date && expects.date)
  mark("date for other", traits.date && !expects.date)
  mark("other for date", !traits.date && expects.date)
  mark("number for number", traits.number && expects.number)
  mark("number for other", traits.number && !expects.number)
  mark("person for person", traits.person && expects.person)
  mark("other for person", !traits.person && expects.person)
  mark("country for country", traits.country && expects.country)
  mark("country mismatch", traits.country ? !expects.country && !expects.place : expects.country)
  mark("language for language", traits.language && expects.language)
  mark("language mismatch", traits.language !== expects.language)
  mark("organisation for organisation", traits.organisation && expects.organisation)
  mark("organisation for person", traits.organisation && expects.person)
  mark("place after in", expects.place && /^(?:in|at|near|from|to)$/.test(traits.before))
  mark("plain words for name", traits.plain && (expects.person || expects.country || expects.place))
}

/** "edited by Ada Sol" counts against a publisher, the more so if the ontology has editors, too. */
const describeVerbs = (row: Float64Array, { verbs, verbOfLabel, before }: ObjectTraits, { stems, related }: PropertyView) => {
  if (verbs.some((verb) => stems.has(verb))) return
  if (verbOfLabel) row[position["verb of another"]] = 1
  else if (!verbs.some((verb) => related.has(verb))) row[position[before === "by" ? "foreign verb with by" : "foreign verb"]] = 1
}

const farthestBefore = 8
const farthestAfter = 5

const describeTriggers = (
  row: Float64Array,
  view: SentenceView,
  candidate: Candidate,
  { listBegin, described }: ObjectTraits,
  triggers: ReadonlyArray<Trigger>,
) => {
  let nearest: Trigger | undefined
  for (const trigger of triggers) {
    const { at, strength } = trigger
    if (at >= candidate.first && at <= candidate.last) continue
    const before = at < candidate.first
    // A word that leads up to a list leads up to each of its members.
    const begin = at < listBegin ? listBegin : candidate.first
    const distance = before ? begin - at : at - candidate.last
    const closeness = distance > (before ? farthestBefore : farthestAfter) ? 0 : 1 / (1 + 0.25 * (distance - 1))
    if (strength === "label") {
      row[position["label anywhere"]] = 1
      raise(row, before ? "label before" : "label after", closeness)
    } else if (before) raise(row, strength === "related" ? "related before" : "compound before", closeness)
    if (at < listBegin && listBegin - at <= farthestBefore + 1 && strength !== "compound" && !view.capital[at]) nearest = trigger
  }
  if (nearest === undefined || standsBetween(view, nearest.at, nearest.at < described ? described : listBegin)) return
  row[position["other label just before"]] = 0
  row[position[nearest.strength === "label" ? "label just before" : "related just before"]] = 1
}

const raise = (row: Float64Array, name: ObjectFeature, value: number) => {
  if (value > (row[position[name]] ?? 0)) row[position[name]] = value
}

/** Whether the nearest label word before the list leads up to it. */
const isLedUpTo = (view: SentenceView, listBegin: number, described: number, labels: ReadonlySet<number>): boolean => {
  for (let at = listBegin - 1; at >= 0 && at >= listBegin - farthestBefore - 1; at--) {
    if (labels.has(at) && !view.capital[at]) return !standsBetween(view, at, at < described ? described : listBegin)
  }
  return false
}

/**
 * Whether another name or another verb stands between a word and a candidate, so that the word refers to something else. Verbs
 * joined to the word do not count: "written, illustrated and published by".
 */
const standsBetween = (view: SentenceView, word: number, first: number): boolean => {
  let joined = isVerbLike(view.words[word] ?? "")
  for (let at = word + 1; at < first; at++) {
    if (view.dates.some((date) => date.first <= at && at <= date.last)) continue
    if (view.capital[at] && !(view.capital[first] && touches(view, at, first))) return true
    const verb = view.content[at] && !view.capital[at] && isVerbLike(view.words[at] ?? "")
    if (verb && !joined) return true
    joined &&= verb || /^(?:and|or|&|,|\w+ly)$/.test(view.words[at] ?? "")
  }
  return false
}

/** Whether only capitalised words lie between two tokens, so that both belong to one name. */
const touches = (view: SentenceView, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) if (!view.capital[at]) return false
  return true
}

const isNear = (view: SentenceView, { first, last }: Candidate, stems: ReadonlySet<string>): boolean => {
  for (const at of [first - 1, first - 2, first - 3, last + 1, last + 2]) if (stems.has(view.stems[at] ?? "")) return true
  return false
}
