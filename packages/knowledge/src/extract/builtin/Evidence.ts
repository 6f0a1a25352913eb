/**
 * Evidence from examples: the smoothed log odds that a clue has a value at an object of a relation rather than at any other
 * candidate. Values are counted, not fitted, so a handful of examples is enough. The weight of each kind of clue is fitted
 * afterwards, on counts without the sentence in question.
 */
import * as Schema from "effect/Schema"
import { isVerbLike } from "../../text/Stem.ts"
import { determiners, isFunctionWord, prepositions } from "../../text/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { organisationWords } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"

export const EvidenceCounts = Schema.Struct({
  /** How many positive examples each relation has. */
  positives: Schema.Array(Schema.Finite),
  clues: Schema.Record(
    Schema.String,
    Schema.Struct({
      /** How many candidates were examined. */
      seen: Schema.Finite,
      /** By value: how many candidates have it, then pairs of a relation and how many of its positive examples have it. */
      values: Schema.Record(Schema.String, Schema.Array(Schema.Finite)),
    }),
  ),
})
export type EvidenceCounts = typeof EvidenceCounts.Type

/** Each relation begins with this many examples that have every value at its overall share. */
const pseudoCount = 1
/** The least share of a value: below it, chance would decide. */
const rarest = 0.004

interface ValueCounts {
  all: number
  readonly by: Map<number, number>
}

interface ClueCounts {
  seen: number
  readonly values: Map<string, ValueCounts>
}

/** The clue that relations with the same kinds of objects share: their objects look alike. */
const sharedClue = "shape"
/** How many examples the other relations of a group count for together, if they have any. */
const sharedCount = 2

export class Evidence {
  private readonly positives: Float64Array
  /** For each relation, the name of its group: relations with the same kinds of objects. Without groups, no relation has others. */
  private readonly groups: ReadonlyArray<string> | undefined
  private readonly clues = new Map<string, ClueCounts>()
  private readonly rows = new Map<string, Map<string, Float64Array>>()
  private unseen: Float64Array | undefined
  private shares: Float64Array | undefined

  constructor(relations: number, groups?: ReadonlyArray<string>) {
    this.positives = new Float64Array(relations)
    this.groups = groups
  }

  /** `places` maps a relation of the counts to its present index; a relation without an index is left out. */
  static fromCounts(
    counts: EvidenceCounts,
    relations: number,
    places: (relation: number) => number | undefined,
    groups?: ReadonlyArray<string>,
  ): Evidence {
    const evidence = new Evidence(relations, groups)
    counts.positives.forEach((count, relation) => {
      const place = places(relation)
      if (place !== undefined) evidence.positives[place] = count
    })
    for (const [clue, { seen, values }] of Object.entries(counts.clues)) {
      const read = Object.entries(values).map(([value, [all = 0, ...pairs]]) => {
        const by = new Map<number, number>()
        for (let at = 0; at + 1 < pairs.length; at += 2) {
          const place = places(pairs[at] ?? 0)
          if (place !== undefined) by.set(place, pairs[at + 1] ?? 0)
        }
        return [value, { all, by }] as const
      })
      evidence.clues.set(clue, { seen, values: new Map(read) })
    }
    return evidence
  }

  /** Leaves out values that no positive example has: all of them get the same odds, however often they were seen. */
  toCounts(): EvidenceCounts {
    const clues = [...this.clues].map(([clue, { seen, values }]) => {
      const kept = [...values].flatMap(([value, { all, by }]) => {
        const pairs = [...by].filter(([, count]) => count > tiny).flatMap(([relation, count]) => [relation, rounded(count)])
        return pairs.length === 0 ? [] : [[value, [rounded(all), ...pairs]] as const]
      })
      return [clue, { seen: rounded(seen), values: Object.fromEntries(kept) }] as const
    })
    return { positives: [...this.positives].map(rounded), clues: Object.fromEntries(clues) }
  }

  /** Counts a candidate with these values. A negative weight takes the count back. */
  see(clue: string, values: ReadonlyArray<string>, weight: number) {
    const counts = this.clueCounts(clue)
    counts.seen += weight
    for (const value of values) valueCounts(counts, value).all += weight
    this.forget()
  }

  /** Counts an object of the relation with these values. */
  support(relation: number, clue: string, values: ReadonlyArray<string>, weight: number) {
    const counts = this.clueCounts(clue)
    for (const value of values) {
      const { by } = valueCounts(counts, value)
      by.set(relation, (by.get(relation) ?? 0) + weight)
    }
    this.forget()
  }

  /** Counts one more positive example of the relation. */
  supported(relation: number, weight: number) {
    this.positives[relation] = (this.positives[relation] ?? 0) + weight
    this.forget()
  }

  positivesOf(relation: number): number {
    return this.positives[relation] ?? 0
  }

  /** How many objects of the relation were counted with the value. */
  supportOf(relation: number, clue: string, value: string): number {
    return Math.max(0, this.clues.get(clue)?.values.get(value)?.by.get(relation) ?? 0)
  }

  /** For each relation, the logarithm of its frequency in examples against the average relation. */
  frequencies(): Float64Array {
    this.shares ??= sharesOf(this.positives)
    return this.shares
  }

  /** For each relation, the log odds that the value gives it. */
  odds(clue: string, value: string): Float64Array {
    const known = this.clues.get(clue)?.values.get(value)
    if (known === undefined || known.by.size === 0) return this.oddsOfUnseen()
    const rows = this.rows.get(clue) ?? new Map<string, Float64Array>()
    this.rows.set(clue, rows)
    const kept = rows.get(value)
    if (kept !== undefined) return kept
    const row = this.computeOdds(clue, known)
    rows.set(value, row)
    return row
  }

  private computeOdds(clue: string, { all, by }: ValueCounts): Float64Array {
    const seen = this.clues.get(clue)?.seen ?? 0
    const share = Math.max(rarest, (all + 0.5) / (seen + 1))
    if (clue === sharedClue && this.groups !== undefined) return this.sharedOdds(this.groups, by, share)
    return this.positives.map((positives, relation) =>
      positives < tiny ? 0 : Math.log(((by.get(relation) ?? 0) + pseudoCount * share) / (positives + pseudoCount) / share),
    )
  }

  /** The same, but each relation begins with the share of the value among the objects of its group's other relations. */
  private sharedOdds(groups: ReadonlyArray<string>, by: ReadonlyMap<number, number>, share: number): Float64Array {
    const positives = new Map<string, number>()
    const having = new Map<string, number>()
    groups.forEach((group, relation) => {
      positives.set(group, (positives.get(group) ?? 0) + this.positives[relation]!)
      having.set(group, (having.get(group) ?? 0) + (by.get(relation) ?? 0))
    })
    return this.positives.map((own, relation) => {
      const group = groups[relation] ?? ""
      const same = by.get(relation) ?? 0
      const others = Math.max(0, (positives.get(group) ?? 0) - own)
      const prior = (Math.max(0, (having.get(group) ?? 0) - same) + pseudoCount * share) / (others + pseudoCount)
      const weight = pseudoCount + sharedCount * Math.min(1, others)
      return Math.log((same + weight * prior) / (own + weight) / share)
    })
  }

  /** A value that no example of the relation has counts against it, the more so the more examples the relation has. */
  private oddsOfUnseen(): Float64Array {
    this.unseen ??= this.positives.map((positives) => (positives < tiny ? 0 : Math.log(pseudoCount / (positives + pseudoCount))))
    return this.unseen
  }

  private forget() {
    if (this.rows.size > 0) this.rows.clear()
    this.unseen = undefined
    this.shares = undefined
  }

  private clueCounts(clue: string): ClueCounts {
    const found = this.clues.get(clue) ?? { seen: 0, values: new Map() }
    this.clues.set(clue, found)
    return found
  }
}

const tiny = 1e-6

const sharesOf = (positives: Float64Array): Float64Array => {
  const total = positives.reduce((sum, count) => sum + count, 0)
  return positives.map((count) => Math.log(((count + 1) / (total + positives.length)) * positives.length))
}

/** Taking counts back leaves floating-point residues. */
const rounded = (count: number): number => Math.round(count * 1e6) / 1e6

const valueCounts = (counts: ClueCounts, value: string): ValueCounts => {
  const found = counts.values.get(value)
  if (found !== undefined) return found
  const made = { all: 0, by: new Map<number, number>() }
  counts.values.set(value, made)
  return made
}

// Clues: the words and signs in and around a candidate, by which examples are counted.

/** The clues that a candidate is the object of a relation. */
export const objectClues = ["before", "trigger", "lead", "after", "shape", "first", "last", "whole", "role"] as const
export type ObjectClue = (typeof objectClues)[number]

/** A clue of the sentence as a whole: the stems of its plain words. */
export const sentenceClue = "sentence"

export const objectCluesOf = (view: SentenceView, candidate: Candidate): Readonly<Record<ObjectClue, string>> => {
  // The words before a list are clues to all of its members.
  const list = beginOfList(view, candidate)
  const before = tokenLeadingTo(view, list)
  const described = view.capital[candidate.first] || candidate.kind === "quotation" ? beginOfDescription(view, list) : list
  const after = tokenAfter(view, candidate)
  return {
    before: before < 0 ? "^" : (view.stems[before] ?? "^"),
    trigger: triggerBefore(view, before),
    lead: triggerBefore(view, described === list ? before : tokenLeadingTo(view, described)),
    after: view.stems[after] ?? "$",
    shape: shapeOf(view, candidate),
    first: view.stems[candidate.first] ?? "",
    last: view.stems[candidate.last] ?? "",
    whole: view.words.slice(candidate.first, candidate.last + 1).join(" "),
    role: roleOf(view, candidate),
  }
}

/** The place of a candidate in the predicate: in "is a Danish tennis player" the head is "tennis player", and "Danish" stands before it. */
const roleOf = (view: SentenceView, { first, last, kind }: Candidate): string => {
  if (view.predicate === undefined || kind === "date" || kind === "number") return "none"
  const [begin, head] = view.predicate
  if (first < begin || last > head) return "none"
  const cut = first > begin && view.content[first - 1] === true && !view.capital[first - 1] ? "cut" : "whole"
  return last === head ? `head ${cut}` : `before ${view.content[last + 1] ? "noun" : "mark"} ${cut}`
}

/** A clue from the subject of the sentence: the shape of its name, which tells a season from a person in any context. */
export const aboutClue = "about"

export const sentenceStems = (view: SentenceView): ReadonlyArray<string> => [
  ...new Set(view.stems.filter((_, at) => view.content[at] && !view.capital[at])),
]

/** The clues that a candidate is the subject of the sentence. */
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

/** Whether an article before a name is part of the name. Data has one convention for organisations, another for the titles of works. */
export interface Article {
  readonly kept: boolean
  readonly of: "organisation" | "other"
}

/** The article of a candidate; undefined when none stands before it. */
export const articleOf = (view: SentenceView, { first, last }: Candidate): Article | undefined => {
  const kept = view.words[first] === "the"
  if (!kept && view.words[first - 1] !== "the") return undefined
  const isOrganisation = view.stems.slice(first, last + 1).some((stem) => organisationWords.has(stem))
  return { kept, of: isOrganisation ? "organisation" : "other" }
}

const articleClue = "article"
const articleValue = ({ kept, of }: Article): string => `${kept ? "kept" : "left out"}, ${of}`

/** Counts the article of an example's subject. */
export const countArticle = (subjects: Evidence, article: Article, weight: number) =>
  subjects.support(0, articleClue, [articleValue(article)], weight)

/** Above 0 if the subjects of examples treat such articles in this way more often than in the other. */
export const articleOdds = (subjects: Evidence, article: Article): number => {
  const support = (kept: boolean) => subjects.supportOf(0, articleClue, articleValue({ ...article, kept }))
  return Math.log((support(article.kept) + 1) / (support(!article.kept) + 1))
}

export const isQuote = (view: SentenceView, at: number): boolean => /^["“”„«»]$/.test(view.words[at] ?? "")

/** The token before `begin`, skipping quotation marks and articles. */
export const tokenLeadingTo = (view: SentenceView, begin: number): number => {
  let at = begin - 1
  if (isQuote(view, at)) at--
  while (at >= 0 && determiners.has(view.words[at] ?? "")) at--
  return at
}

const tokenAfter = (view: SentenceView, candidate: Candidate): number =>
  isQuote(view, candidate.last + 1) ? candidate.last + 2 : candidate.last + 1

const longestList = 8

/** The first token of the list that contains the candidate; its own first token if it is in no list. */
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

const longestDescription = 6

/**
 * The first token of the description of a name: "American" in "written by the American novelist Ada Sol", so that "by" leads up to Ada
 * Sol. Only a phrase after a preposition or an article is surely a description: "Dawn stars Ada Sol" has a verb before the name.
 */
export const beginOfDescription = (view: SentenceView, name: number): number => {
  const begin = isQuote(view, name - 1) ? name - 1 : name
  const describes = (at: number) => view.content[at] === true && !view.capital[at] && !isVerbLike(view.words[at] ?? "")
  if (!describes(begin - 1)) return name
  let at = begin - 1
  while (at > 0 && begin - at < longestDescription) {
    const word = view.words[at - 1] ?? ""
    const joined = word === "and" && describes(at - 2)
    // "the retired historian"
    const adjective = /ed$/.test(word) && determiners.has(view.words[at - 2] ?? "")
    if (!joined && !adjective && !describes(at - 1) && !view.capital[at - 1] && view.tokens[at - 1]?.kind !== "number") break
    at -= joined ? 2 : 1
  }
  const leads = view.words[at - 1] ?? ""
  return determiners.has(leads) || prepositions.has(leads) ? at : name
}

/** The verbs up to the token `lead`, skipping a preposition: both of "written and illustrated by", the one of "is set mostly in". */
export const verbsBefore = (view: SentenceView, lead: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  const overPreposition = prepositions.has(view.words[lead] ?? "")
  for (let at = overPreposition ? lead - 1 : lead; at >= 0 && lead - at < 10; at--) {
    const word = view.words[at] ?? ""
    if (view.content[at] && !view.capital[at] && isVerbLike(word)) found.push(at)
    else if (!(/^(?:and|or|&|,)$/.test(word) ? found.length > 0 : /ly$/.test(word))) break
  }
  return found
}

const isSeparator = (word: string | undefined): boolean => word === "," || word === "and" || word === "or" || word === "&"
const joinsMember = (word: string | undefined): boolean => /^(?:of|the|de|for)$/.test(word ?? "")
const isMemberPart = (view: SentenceView, at: number): boolean =>
  view.capital[at] === true || /\d/.test(view.words[at] ?? "") || isQuote(view, at)

/** The stem of the nearest plain word, with the preposition or mark at `before`: "direct|by". */
const triggerBefore = (view: SentenceView, before: number): string => {
  const link = view.words[before] ?? ""
  const joined = prepositions.has(link) || view.tokens[before]?.kind === "mark" ? link : ""
  for (let at = before; at >= 0 && at > before - 8; at--) {
    if (view.content[at] && !view.capital[at]) return `${view.stems[at]}|${joined}`
  }
  return `^|${joined}`
}

const shapeOf = (view: SentenceView, candidate: Candidate): string => {
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
