/**
 * Finds names and values that a sentence mentions without making them an end of a fact: the owner of a noun ("the widow of Ada Sol",
 * "Ada Sol's company"), one of several alternatives ("Ada Sol or Jon Bray"), two names joined to one ("Ada Sol and Jon Bray"), and the
 * limit of a place or a time ("near Kell", "before 1970").
 */
import { givenNames } from "../../text/GivenNames.ts"
import { isVerbLike, stem, withoutPlural } from "../../text/Stem.ts"
import { determiners, prepositions, wordSet } from "../../text/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { beginOfDescription, beginOfList, isQuote, tokenLeadingTo } from "./Evidence.ts"
import { organisationWords, type PropertyView, placeWords } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"

// Owners

/** Persons by their relation to another, in addition to those with an ending of {@link agentNoun}. */
const relatives = wordSet(`widow widower wife husband spouse bride fiance fiancé fiancée brother sister sibling twin mother father parent
  mum mom dad son daughter child children kid grandson granddaughter grandchild grandchildren nephew niece aunt uncle cousin relative heir
  heiress ancestor descendant friend boyfriend girlfriend lover colleague neighbour neighbor boss aide ally guest fan pupil apprentice
  disciple nurse maid cook chef coach guard agent clerk deputy successor student namesake family clan people men women man woman crew
  staff secretary accountant assistant attorney servant tenant client patient ghost killer`)

/** "lawyer", "biographer", "guardian", "trustee". */
const agentNoun = /(?:[^e]er|or|ist|ian|yee|tee|man|woman|men|women)$/

/** Nouns with such an ending that name a thing. */
const things = wordSet(`number chapter cover centre center layer border river order paper power tower water weather winter summer corner
  quarter headquarter letter character theater theatre chamber poster banner folder trailer cylinder motor factor sector
  floor door interior exterior error colour color honour honor labour labor harbour harbor
  list mist master`)

/** Whether a noun names a person by a relation or a role. */
export const namesPerson = (word: string): boolean => {
  const single = withoutPlural(word)
  return relatives.has(word) || relatives.has(single) || (agentNoun.test(single) && !things.has(single))
}

interface Owned {
  /** The first word of the noun phrase with the owner. */
  readonly begin: number
  /** The words of the noun that the owner owns. */
  readonly nouns: ReadonlyArray<number>
  readonly by: "of" | "'s"
}

/** The noun that a name owns: "widow" in "the widow of the merchant Ada Sol", "elder brother" in "Ada Sol's elder brother". */
const ownedBy = (view: SentenceView, candidate: Candidate): Owned | undefined => {
  const list = beginOfList(view, candidate)
  const isPlain = (at: number) => view.content[at] === true && !view.capital[at]
  const possessive = view.words[candidate.last + 1] ?? ""
  if (possessive === "'s" || (possessive === "'" && /s$/.test(view.words[candidate.last] ?? ""))) {
    const nouns: Array<number> = []
    for (let at = candidate.last + 2; nouns.length < 4 && (isPlain(at) || view.words[at] === "-"); at++) {
      if (nouns.length > 0 && isVerbLike(view.words[at] ?? "")) break
      nouns.push(at)
    }
    return { begin: list, nouns, by: "'s" }
  }
  const described = beginOfDescription(view, list)
  const lead = tokenLeadingTo(view, described)
  const of = view.words[lead] === "of" ? lead : -1
  if (of === -1 || !isPlain(of - 1)) return undefined
  let begin = of - 1
  while (begin > 0 && of - begin < 5 && (isPlain(begin - 1) || determiners.has(view.words[begin - 1] ?? ""))) begin--
  return { begin, nouns: [of - 1], by: "of" }
}

/** Words after which a noun phrase says what a name is: "Ada Sol is the widow of", "Ada Sol, a friend of". */
export const predicative = wordSet("is was are were be been being became become remained remains as , ( named called")

/**
 * Whether a name only owns the noun that the sentence is about, so that no fact of the property is about the name itself. A noun that
 * triggers the property is what the property asks for: "the founder of Verran Lines". `classes` are the stems of the ontology's classes.
 */
export const isOwner = (
  view: SentenceView,
  candidate: Candidate,
  end: "subject" | "object" | "agent",
  classes: ReadonlySet<string>,
  triggers: (at: number) => boolean,
): boolean => {
  const owned = ownedBy(view, candidate)
  if (owned === undefined || owned.nouns.some(triggers)) return false
  const before = view.words[owned.begin - 1] ?? ""
  if (owned.begin > view.begin && predicative.has(before)) return false
  const words = owned.nouns.map((at) => view.words[at] ?? "")
  if (words.some(namesPerson)) return true
  const isAgent = end === "agent" || before === "by"
  if (end === "object" && !isAgent) return false
  // "Ada Sol's Verran Lines": the name that is owned is the subject.
  if (owned.nouns.length === 0)
    return owned.by === "'s" && view.capital[candidate.last + 2] === true && view.content[candidate.last + 2] === true
  return words.some((word) => {
    const key = stem(withoutPlural(word))
    // "the city of Kell" is Kell.
    if (owned.by === "of" && placeWords.has(key)) return false
    return organisationWords.has(key) || classes.has(key)
  })
}

/** The same for the antecedent of "his" and "its" at the beginning of a sentence: "Her company is …". */
export const isEarlierOwner = (view: SentenceView, classes: ReadonlySet<string>, triggers: (at: number) => boolean): boolean => {
  if (!/^(?:his|her|its|their)$/.test(view.words[view.begin] ?? "")) return false
  for (let at = view.begin + 1; at < view.begin + 5 && view.content[at] && !view.capital[at]; at++) {
    const word = view.words[at] ?? ""
    if (triggers(at)) return false
    const key = stem(withoutPlural(word))
    if (namesPerson(word) || organisationWords.has(key) || classes.has(key)) return true
    if (isVerbLike(word)) return false
  }
  return false
}

// Alternatives

const afterOr = /^(?:later|newer|higher|above|earlier|older|lower|greater|more|less|shine|worse)$/

/** Whether a name or value is one of several that "or" joins. */
export const isAlternative = (view: SentenceView, { first, last }: Candidate): boolean => {
  const isPart = (at: number) => view.capital[at] === true || view.tokens[at]?.kind === "number" || isQuote(view, at)
  const isLink = (at: number) => determiners.has(view.words[at] ?? "") || prepositions.has(view.words[at] ?? "")
  // "A or B", "A, B or C", "in A or in B"
  let at = isQuote(view, last + 1) ? last + 2 : last + 1
  for (let members = 0; members < longestList; members++) {
    const word = view.words[at]
    if (word === "or" || (word === "," && view.words[at + 1] === "or")) {
      const next = word === "or" ? at + 1 : at + 2
      return !afterOr.test(view.words[next] ?? "")
    }
    if (word !== "," || !isPart(at + 1)) break
    const member = ++at
    while (isPart(at) && at < member + longestName) at++
  }
  let before = first - 1
  while (before > 0 && first - before < 4 && (isLink(before) || isQuote(view, before))) before--
  if (view.words[before] === "either") return true
  if (view.words[before] !== "or") return false
  const joined = view.words[before - 1] === "," ? before - 2 : before - 1
  return isPart(joined)
}

const longestList = 12
const longestName = 15

/** Whether "or" joins a verb or noun to another: "founded or bought". */
export const isAlternativeWord = (view: SentenceView, at: number): boolean =>
  (view.words[at + 1] === "or" && view.content[at + 2] === true && !view.capital[at + 2]) ||
  (view.words[at - 1] === "or" && view.content[at - 2] === true && !view.capital[at - 2])

// Pairs

/** Whether a candidate joins the names of two persons: "Ada Sol and Jon Bray", but not "Marks and Spencer". */
export const joinsPersons = (view: SentenceView, { kind, first, last }: Candidate): boolean => {
  if (kind !== "name" && kind !== "title") return false
  for (let and = first + 1; and < last; and++) {
    if (view.words[and] === "and" && isPersonName(view, first, and - 1) && isPersonName(view, and + 1, last)) return true
  }
  return false
}

const isPersonName = (view: SentenceView, first: number, last: number): boolean => {
  for (let at = first; at <= last; at++) {
    if (!view.capital[at] || !view.content[at] || organisationWords.has(view.stems[at] ?? "")) return false
  }
  return last > first ? last - first < 4 : givenNames.has(view.words[first] ?? "")
}

// Limits

const nearPlace = wordSet("near nearby outside around beyond off opposite towards toward past")
const beforeTime = wordSet("before after between")
const directions = wordSet(`north south east west northeast northwest southeast southwest north-east north-west south-east south-west
  northern southern eastern western upstream downstream`)
const distances = wordSet("km kilometre kilometres kilometer kilometers mile miles m metre metres meters minutes hours far away")

/** Whether a place or time is only a limit: "near Kell", "40 km from Kell", "north of Kell", "before 1970". */
export const isLimit = (view: SentenceView, candidate: Candidate, { expects, stems }: PropertyView): boolean => {
  const list = beginOfList(view, candidate)
  const lead = tokenLeadingTo(view, candidate.kind === "date" ? candidate.first : beginOfDescription(view, list))
  const word = view.words[lead] ?? ""
  const before = view.words[lead - 1] ?? ""
  if (candidate.kind === "date") {
    if (word === "and" && view.words.slice(Math.max(0, lead - 6), lead).includes("between")) return true
    return (
      (beforeTime.has(word) && !(word === "after" && /^(?:shortly|soon)$/.test(before))) ||
      (word === "to" && before === "prior") ||
      (word === "than" && /^(?:earlier|later)$/.test(before))
    )
  }
  if (!expects.place || stems.has(stem("near"))) return false
  return (
    nearPlace.has(word) ||
    word === "between" ||
    (word === "and" && view.words[tokenLeadingTo(view, list)] === "between") ||
    (word === "to" && /^(?:close|next|near|adjacent)$/.test(before)) ||
    (word === "from" && (distances.has(before) || directions.has(before))) ||
    (word === "of" && (directions.has(before) || distances.has(before) || /^(?:outskirts|vicinity|suburbs?)$/.test(before)))
  )
}

// Approximations

const approximators = wordSet(`about around roughly approximately approx circa c ca nearly almost over under above below some`)
const estimates = wordSet("estimated approximate rough projected provisional")

/** How many words before a value an adjective may stand: "an estimated population of 50,000". */
const longestEstimate = 5

/** Whether a sentence gives a number or a date only roughly: "about 640", "more than 640", "circa 1921", "an estimated 640", "640 or so". */
export const isApproximate = (view: SentenceView, { kind, first, last }: Candidate): boolean => {
  if (kind !== "number" && kind !== "date") return false
  const word = (at: number) => view.words[at] ?? ""
  if (word(last + 1) === "or" && /^(?:so|more|less|thereabouts)$/.test(word(last + 2))) return true
  const lead = /^[.~≈]$/.test(word(first - 1)) ? first - 2 : first - 1
  if (/^[~≈]$/.test(word(first - 1)) || approximators.has(word(lead))) return true
  const before = word(lead - 1)
  if (word(lead) === "than") return /^(?:more|less|fewer|greater|higher|lower|larger|smaller|better|later|earlier)$/.test(before)
  if (/^(?:least|most)$/.test(word(lead)) && before === "at") return true
  if (word(lead) === "to" && /^(?:up|close)$/.test(before)) return true
  for (let at = lead; at > lead - longestEstimate && view.content[at] !== undefined && !isVerbBefore(view, at); at--)
    if (estimates.has(word(at))) return true
  return false
}

const isVerbBefore = (view: SentenceView, at: number): boolean =>
  view.words[at] === "," || (view.content[at] === true && !estimates.has(view.words[at] ?? "") && isVerbLike(view.words[at] ?? ""))
