/**
 * Reads the facts of sentences in a plain form, by the labels of the properties alone: "X was founded by Y", "Y founded X", "Y is the
 * founder of X", "the founder of X is Y", "Y was born in Z on 4 May 1970", "Y works for X", "X is a restaurant in Z". The scores of
 * candidates need examples to be sure of such facts; where a property has examples, they decide instead.
 */
import { givenNames } from "../../text/GivenNames.ts"
import { isVerbLike, stem, withoutPlural } from "../../text/Stem.ts"
import { auxiliaries, determiners, isFunctionWord, prepositions, titlesOfPersons, wordSet } from "../../text/Words.ts"
import type { Candidate } from "./Candidates.ts"
import { isQuote } from "./Evidence.ts"
import { isOneName } from "./ObjectFeatures.ts"
import { fits, type OntologyView, organisationWords, type PropertyView } from "./OntologyView.ts"
import type { SentenceView } from "./SentenceView.ts"

export interface PlainFact {
  readonly property: number
  readonly subject: number | "earlier"
  readonly object: number | "earlier"
  readonly chance: number
}

/** The chances that a sentence with the label of the property, or with a word of related meaning, states the fact. */
const chances = { label: 0.8, related: 0.72 }

/** Adjectives of a noun that does not hold now: "the former owner". */
const notNow = wordSet("former previous past future next prospective ex")

const longestList = 12
const longestListInWords = 60

const be = /^(?:is|was|are|were|be|been|being)$/

/** Verbs for the place of a thing, which texts use for headquarters and locations alike. */
const locating = new Set(["based", "headquartered", "located", "situated"])

type End = number | "earlier"

/** `triggers` are those of the sentence; a property without any is read only if it is about locations. */
export const findPlainFacts = (
  ontology: OntologyView,
  view: SentenceView,
  candidates: ReadonlyArray<Candidate>,
  triggers: ReadonlyMap<number, unknown>,
  isTaught: (property: number) => boolean,
): ReadonlyArray<PlainFact> => {
  const reader = new PlainReader(view, candidates)
  return ontology.properties.flatMap((property, at) => {
    if (!(triggers.has(at) || property.verbs.locates) || isTaught(at)) return []
    return [
      ...view.words.flatMap((_, token) => (isPlainWord(view, token) ? reader.factsAt(token, property) : [])),
      ...reader.placeOfKind(ontology, property),
    ].map((fact) => ({ ...fact, property: at }))
  })
}

const isPlainWord = (view: SentenceView, at: number): boolean =>
  view.content[at] === true && !view.capital[at] && view.clauses.stated[at] === true

type Found = Omit<PlainFact, "property">

class PlainReader {
  private readonly view: SentenceView
  private readonly candidates: ReadonlyArray<Candidate>

  constructor(view: SentenceView, candidates: ReadonlyArray<Candidate>) {
    this.view = view
    this.candidates = candidates
  }

  factsAt(at: number, property: PropertyView): ReadonlyArray<Found> {
    const noun = this.byNoun(at, property)
    if (noun.length > 0) return noun
    const own = this.view.stems[at] ?? ""
    const { verbs } = property
    const strength = verbs.label.has(own)
      ? "label"
      : verbs.related.has(own) || (verbs.locates && locating.has(this.word(at)))
        ? "related"
        : undefined
    if (strength === undefined || !this.isVerb(at)) return []
    const chance = chances[strength]
    if (property.expects.date) return this.dates(at, property, chance)
    if (property.expects.place) return this.places(at, property, chance)
    if (!property.takesEntities) return []
    return this.byVerb(at, property, strength, chance)
  }

  /** `Casa Verde is a small restaurant in Lisbon`: the location of a thing of that class. */
  placeOfKind({ ontology }: OntologyView, property: PropertyView): ReadonlyArray<Found> {
    const { predicate, words } = this.view
    if (predicate === undefined || !property.verbs.locates || property.domainKinds.has(stem("person"))) return []
    const [begin, end] = predicate
    const noun = withoutPlural(words[end] ?? "")
    const [kind] = ontology.withLabel(noun).classes
    const isStated = this.view.clauses.stated[end] === true && words[end + 1] === "in"
    if (kind === undefined || !isStated || !ontology.acceptsSubject(property.iri, kind) || /^(?:person|human)$/.test(noun)) return []
    return this.pair(this.subjects(begin - 2), this.namesFrom(end + 2), property, chances.related)
  }

  /** "X is the founder of Y", "the founder of Y is X", "Y's founder is X", "X is Y's founder", "X, founder of Y", "its founder is X" */
  private byNoun(last: number, property: PropertyView): ReadonlyArray<Found> {
    const first = this.labelBegin(last, property)
    if (first === undefined) return []
    let begin = first
    while (begin > 0 && last - begin < 5 && this.isAdjective(begin - 1)) begin--
    for (let at = begin; at < first; at++) if (notNow.has(this.word(at))) return []
    const lead = this.word(begin - 1)
    const state = (owners: ReadonlyArray<End>, values: ReadonlyArray<End>) => this.pair(owners, values, property, chances.label)
    if (this.word(last + 1) === "of") {
      const owners = this.namesFrom(last + 2)
      const after = this.endOf(owners, last + 1) + 1
      const verb = determiners.has(lead) ? begin - 2 : begin - 1
      if (be.test(this.word(verb)) || this.word(verb) === "became") return state(owners, this.subjects(this.verbGroup(verb)))
      if (this.word(verb) === ",") return state(owners, this.namesEnding(verb - 1))
      if (verb < this.view.begin || this.word(verb) === "")
        return be.test(this.word(after)) ? state(owners, this.values(after + 1, property)) : []
      return []
    }
    if (lead === "'s") {
      const owners = this.namesEnding(begin - 2)
      if (be.test(this.word(last + 1))) return state(owners, this.values(last + 2, property))
      const before = this.beginOf(owners, begin - 1) - 1
      return be.test(this.word(before)) ? state(owners, this.subjects(this.verbGroup(before))) : []
    }
    if (/^(?:his|her|its|their)$/.test(lead) && begin - 1 === this.view.begin && be.test(this.word(last + 1)))
      return state(["earlier"], this.values(last + 2, property))
    return []
  }

  private byVerb(at: number, property: PropertyView, strength: keyof typeof chances, chance: number): ReadonlyArray<Found> {
    const next = this.word(at + 1)
    const start = this.verbGroup(at)
    const isPassive = this.isPassive(start, at)
    const own = this.view.stems[at] ?? ""
    const isAct = strength === "label" && property.verbs.acts.has(own)
    if (next === "by") {
      if (isAct && isPassive) return this.pair(this.namesFrom(at + 2), this.subjects(start), property, chance)
      if (strength !== "label" || !property.agentive) return []
      return this.pair(isPassive ? this.subjects(start) : this.describedBy(at), this.namesFrom(at + 2), property, chance)
    }
    // "works for", "is married to"
    if (/^(?:for|at)$/.test(next) && !isPassive && this.view.stems[at] === stem("work") && property.expects.organisation)
      return this.pair(this.subjects(start), this.namesFrom(at + 2), property, chance)
    if (next === "to" && isPassive && property.expects.person && !property.agentive)
      return this.pair(this.subjects(start), this.namesFrom(at + 2), property, chance)
    if (isPassive || /ing$/.test(this.word(at)) || prepositions.has(next)) return []
    const [agents, acted] = [this.subjects(start), this.namesFrom(at + 1)]
    if (isAct) return this.pair(agents, acted, property, chance)
    if (property.agentive) return strength === "label" && property.verbs.agents.has(own) ? this.pair(acted, agents, property, chance) : []
    return property.expects.person && isVerbLike(this.word(at)) ? this.pair(agents, acted, property, chance) : []
  }

  /** "was born in Lisbon", "was born on 4 May 1970 in Lisbon", "lives in Lisbon" */
  private places(at: number, property: PropertyView, chance: number): ReadonlyArray<Found> {
    let next = at + 1
    const date = this.view.dates.find(({ first }) => first === next || (first === next + 1 && /^(?:on|in)$/.test(this.word(next))))
    if (date !== undefined) next = this.word(date.last + 1) === "," ? date.last + 2 : date.last + 1
    if (!/^(?:in|at)$/.test(this.word(next))) return []
    return this.pair(this.subjects(this.verbGroup(at)), this.namesFrom(next + 1).slice(0, 1), property, chance)
  }

  /** "was born on 4 May 1970", "was born in Lisbon on 4 May 1970" */
  private dates(at: number, property: PropertyView, chance: number): ReadonlyArray<Found> {
    const start = this.verbGroup(at)
    if (!this.isPassive(start, at)) return []
    let next = at + 1
    while (next < at + 9 && (this.view.capital[next] || /^(?:in|at|,|the|of)$/.test(this.word(next))) && !this.isDate(next)) next++
    if (/^(?:on|in)$/.test(this.word(next))) next++
    return this.pair(this.subjects(start), this.values(next, property), property, chance)
  }

  private isDate(at: number): boolean {
    return this.view.dates.some(({ first }) => first === at)
  }

  // Words

  private word(at: number): string {
    return this.view.words[at] ?? ""
  }

  private isVerb(at: number): boolean {
    const word = this.word(at)
    return isVerbLike(word) || (/[^s]s$/.test(word) && !/(?:er|or|ist|ian|ee)s$/.test(word) && !determiners.has(this.word(at - 1)))
  }

  private isAdjective(at: number): boolean {
    return this.view.content[at] === true && !this.view.capital[at] && !/s$/.test(this.word(at)) && this.word(at) !== "'s"
  }

  /** The first word of a label of the property that ends at a word. */
  private labelBegin(last: number, { nouns }: PropertyView): number | undefined {
    const found = nouns.filter((label) =>
      label.every((word, index) => withoutPlural(this.word(last - label.length + 1 + index)) === withoutPlural(word)),
    )
    const longest = Math.max(0, ...found.map(({ length }) => length))
    return longest === 0 ? undefined : last - longest + 1
  }

  /** The first word of the verb group that contains a verb: "has been" in "has been founded". */
  private verbGroup(verb: number): number {
    let start = verb
    const leadsUp = (word: string) =>
      auxiliaries.has(word) || /^[a-z]{3,}ly$/.test(word) || /^(?:later|then|now|still|once|first|originally|currently)$/.test(word)
    while (start > 0 && verb - start < 5 && leadsUp(this.word(start - 1)) && !this.view.capital[start - 1]) start--
    return start
  }

  private isPassive(start: number, verb: number): boolean {
    for (let at = start; at < verb; at++) if (be.test(this.word(at))) return true
    return false
  }

  // Names

  /** The subject of "X is a film directed by": the name before the verb of the description; or the name before "X, directed by". */
  private describedBy(at: number): ReadonlyArray<End> {
    if (this.word(at - 1) === ",") return this.namesEnding(at - 2)
    const { predicate } = this.view
    if (predicate === undefined || at - 1 !== predicate[1]) return []
    return this.subjects(predicate[0] - 2)
  }

  /** The names or the pronoun before a verb: "A and B", "A, a company of B,", "A, who". */
  private subjects(verb: number): ReadonlyArray<End> {
    const before = this.word(verb - 1)
    if (/^(?:he|she|it|they)$/.test(before)) return ["earlier"]
    const isOne = /^(?:is|was|has)$/.test(this.word(verb))
    if (/^(?:who|which)$/.test(before)) return this.named(this.word(verb - 2) === "," ? verb - 3 : verb - 2, isOne)
    if (before === "," || before === ")") {
      const opening = before === "," ? "," : "("
      for (let at = verb - 2; at > verb - 16 && at > 0; at--) if (this.word(at) === opening) return this.named(at - 1, isOne)
      return []
    }
    return this.named(verb - 1, isOne)
  }

  /** The names that end at a word. Before a verb in the singular, "Celeste and Jesse" is one title, and a list is not understood. */
  private named(last: number, isOne: boolean): ReadonlyArray<number> {
    const names = this.namesEnding(last)
    const begin = this.beginOf(names, last)
    const lead = this.word(determiners.has(this.word(begin - 1)) ? begin - 2 : begin - 1)
    // "Up with the Birds was released": the name is part of a longer one, or of an adverbial.
    if (prepositions.has(lead) || lead === ",") return []
    if (names.length < 2 || !isOne) return names
    const whole = this.candidates.findIndex(({ kind, first, last: end }) => kind === "name" && first === begin && end === last)
    return whole === -1 ? [] : [whole]
  }

  /** The name that ends at a word, and the names that "and" joins to it. */
  private namesEnding(last: number, most = longestList): ReadonlyArray<number> {
    const end = isQuote(this.view, last) ? last - 1 : last
    const name = this.longest((candidate) => candidate.last === end && this.beginsName(candidate))
    if (name === undefined) return []
    const { first } = this.candidates[name]!
    const joined = this.word(first - 1)
    if (joined === "and" && most > 1) return [...this.namesEnding(this.word(first - 2) === "," ? first - 3 : first - 2, most - 1), name]
    return [name]
  }

  /** The name that begins at a word, after its article and description, and the names that a list joins to it. */
  private namesFrom(from: number, most = longestList): ReadonlyArray<number> {
    let first = from
    while (first < from + 5 && !this.view.capital[first] && (determiners.has(this.word(first)) || this.isAdjective(first))) first++
    if (isQuote(this.view, first)) first++
    const name = this.longest((candidate) => candidate.first === first)
    if (name === undefined) return []
    const after = this.candidates[name]!.last + 1
    const described = this.described(after)
    if (described !== undefined) return most > 1 ? this.namesFrom(described, most - 1) : []
    // "the British edition", "Ada Sol's company"
    if (this.word(after) === "'s" || (this.isAdjective(after) && !isVerbLike(this.word(after)) && !/ly$/.test(this.word(after)))) return []
    const { last } = this.candidates[name]!
    const next = isQuote(this.view, last + 1) ? last + 2 : last + 1
    const separator = this.word(next) === "," && this.word(next + 1) === "and" ? next + 2 : next + 1
    const isList = this.word(next) === "and" || (this.word(next) === "," && this.listEnds(next))
    return isList && most > 1 && this.view.capital[separator] ? [name, ...this.namesFrom(separator, most - 1)] : [name]
  }

  /** Where the name begins that another describes: `Tora Vik` in `Quayside Rowers coach Tora Vik`. */
  private described(from: number): number | undefined {
    let at = from
    while (at < from + 3 && this.isAdjective(at) && !isVerbLike(this.word(at))) at++
    return at > from && this.view.capital[at] === true ? at : undefined
  }

  /** Whether a comma separates members of a list of names that ends in "and": "A, B and C". */
  private listEnds(comma: number): boolean {
    let at = comma
    while (at < comma + longestListInWords && (this.word(at) === "," || this.view.capital[at])) at++
    return this.word(at) === "and" && (this.view.capital[at + 1] === true || this.word(at - 1) === ",")
  }

  private values(from: number, property: PropertyView): ReadonlyArray<number> {
    const { date, number, place } = property.expects
    if (!date && !number) return this.namesFrom(/^(?:in|at)$/.test(this.word(from)) && place ? from + 1 : from)
    const found = this.candidates.findIndex(({ kind, first }) => kind === (date ? "date" : "number") && first === from)
    return found === -1 ? [] : [found]
  }

  private beginsName({ first, last }: Candidate): boolean {
    const word = this.word(first)
    if (first < last && titlesOfPersons.has(word) && this.word(first + 1) !== ".") return false
    return word === "the" || !isFunctionWord(word)
  }

  private longest(matches: (candidate: Candidate) => boolean): number | undefined {
    let found: number | undefined
    this.candidates.forEach((candidate, at) => {
      if (candidate.kind === "date" || !isOneName(this.view, candidate) || !matches(candidate)) return
      if (found === undefined || candidate.last - candidate.first > this.candidates[found]!.last - this.candidates[found]!.first) found = at
    })
    return found
  }

  private endOf(names: ReadonlyArray<End>, otherwise: number): number {
    const last = names.at(-1)
    return typeof last === "number" ? this.candidates[last]!.last : otherwise
  }

  private beginOf(names: ReadonlyArray<End>, otherwise: number): number {
    const [first] = names
    return typeof first === "number" ? this.candidates[first]!.first : otherwise
  }

  // Facts

  private pair(subjects: ReadonlyArray<End>, objects: ReadonlyArray<End>, property: PropertyView, chance: number): ReadonlyArray<Found> {
    return subjects.flatMap((subject) =>
      objects.flatMap((object) =>
        subject !== object && this.canBeSubject(subject, property) && this.canBeObject(object, property)
          ? [{ subject, object, chance }]
          : [],
      ),
    )
  }

  private canBeSubject(end: End, property: PropertyView): boolean {
    const kind = this.kindOf(end)
    return (
      !(kind === "person" && property.excludesPersons) &&
      !(kind === "organisation" && property.domainKinds.has(stem("person")) && property.domainKinds.size === 1)
    )
  }

  private canBeObject(end: End, property: PropertyView): boolean {
    if (end !== "earlier" && !fits(this.candidates[end]!, property)) return false
    const kind = this.kindOf(end)
    if (kind === "person") return property.expects.person || !(property.expects.organisation || property.expects.place)
    return !(kind === "organisation" && property.expects.person && !property.expects.organisation)
  }

  /** The kind of thing that a name shows: by a given name, or by a word for organisations. */
  private kindOf(end: End): "person" | "organisation" | undefined {
    if (end === "earlier") return undefined
    const { first, last } = this.candidates[end]!
    if (this.view.stems.slice(first, last + 1).some((one) => organisationWords.has(one))) return "organisation"
    return last > first && givenNames.has(this.word(first)) ? "person" : undefined
  }
}
