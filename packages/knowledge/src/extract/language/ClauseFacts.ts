/**
 * Reads the facts of a German, French or Spanish sentence by the patterns of sentences about a relation: "X was founded by Y in Z",
 * "Y founded X", "the founder of X is Y", "X has its seat in Z", "X has 1,250 employees". Precision comes before recall: a sentence
 * with a negation or a hedge gives no facts.
 */
import type { LanguageProperty, ValueKind } from "./LanguageProperties.ts"
import type { EntityPhrase, Phrase, PhrasedSentence, TriggerPhrase, ValuePhrase } from "./Phrases.ts"
import type { ProseLanguage } from "./ProseLanguage.ts"

/** The subject or object of a statement: a phrase of the sentence, or the subject of an earlier sentence. */
export type End = EntityPhrase | "earlier"

export interface ClauseStatement {
  readonly subject: End
  readonly property: string
  readonly object: EntityPhrase | ValuePhrase | "earlier"
  readonly confidence: number
}

export interface SentenceFacts {
  readonly statements: ReadonlyArray<ClauseStatement>
  /** Names whose class the sentence states: "Nordlys is a brewery". */
  readonly types: ReadonlyArray<{ readonly name: End; readonly type: string }>
  /** The subject of the sentence; undefined if no name is one. */
  readonly about: EntityPhrase | undefined
}

const nothing: SentenceFacts = { statements: [], types: [], about: undefined }

/**
 * The confidences of trigger verbs and nouns, and the factors for an earlier subject, one that a noun of no known class may refer to
 * (`La compañía está`), a related word, and a name that may be too long.
 */
const confidences = { verb: 0.8, noun: 0.8, earlier: 0.9, vague: 0.6, related: 0.9, long: 0.7 }

export const factsOfSentence = (language: ProseLanguage, { phrases, words }: PhrasedSentence, text: string): SentenceFacts => {
  if (/[?¿]/u.test(text) || language.hedges.test(text) || words.some((word) => language.negations.has(word))) return nothing
  const statements: Array<ClauseStatement> = []
  const types: Array<{ name: End; type: string }> = []
  let inherited: End | undefined
  let about: EntityPhrase | undefined
  const segments = segmentsOf(phrases)
  const alternatives = alternativesIn(language, phrases)
  segments.forEach((segment, at) => {
    const antecedent = antecedentOf(segment, segments[at - 1])
    const clause = new Clause(language, segment, antecedent ?? inherited)
    statements.push(...clause.statements().filter(({ subject, object }) => !alternatives.has(subject) && !alternatives.has(object)))
    types.push(...clause.types())
    const { subject } = clause
    // The subject of a relative clause is not the subject of the sentence.
    if (subject === "earlier" || antecedent !== undefined) return
    about ??= subject
    inherited = subject
  })
  return { statements, types, about }
}

/** In phrases. */
const longestList = 24

/** The names and values that "or" joins. */
const alternativesIn = (language: ProseLanguage, phrases: ReadonlyArray<Phrase>): ReadonlySet<Phrase | "earlier"> => {
  const found = new Set<Phrase | "earlier">()
  phrases.forEach((phrase, at) => {
    if (phrase.kind !== "break" || !language.alternatives.has(phrase.word)) return
    for (const near of [at + 1, at - 1]) if (phrases[near] !== undefined) found.add(phrases[near])
    for (
      let before = at - 2;
      before > at - longestList && phrases[before]?.kind === "break" && phrases[before - 1] !== undefined;
      before -= 2
    )
      found.add(phrases[before - 1]!)
  })
  return found
}

const isVerbal = (phrase: Phrase): boolean => phrase.kind === "verb" || (phrase.kind === "trigger" && !phrase.isNoun)

/** The name right before a clause that begins with a relative pronoun or a participle. */
const antecedentOf = ([comma, first]: ReadonlyArray<Phrase>, before: ReadonlyArray<Phrase> | undefined): EntityPhrase | undefined => {
  const isRelative = first?.kind === "relative" || (first?.kind === "trigger" && !first.isNoun && first.form === "participle")
  const last = before?.at(-1)
  return comma?.kind === "break" && comma.word === "," && isRelative && last?.kind === "entity" ? last : undefined
}

/** Splits a sentence into segments with a verb each. A part without a verb belongs to the one before; an opening adverbial to the next. */
const segmentsOf = (phrases: ReadonlyArray<Phrase>): ReadonlyArray<ReadonlyArray<Phrase>> => {
  const parts: Array<Array<Phrase>> = [[]]
  for (const phrase of phrases) {
    if (phrase.kind === "break" && phrase.word !== "(" && phrase.word !== ")") parts.push([phrase])
    else parts.at(-1)?.push(phrase)
  }
  const segments: Array<Array<Phrase>> = []
  for (const part of parts) {
    const before = segments.at(-1)
    const [first, next] = part
    // `Mara Lind und Jonas Feld gründeten`: both names belong to the verb.
    const isJoined =
      first?.kind === "break" &&
      /\p{L}/u.test(first.word) &&
      next?.kind === "entity" &&
      before?.at(-1)?.kind === "entity" &&
      !before.some(isVerbal)
    const isOwn = !isJoined && part.some(isVerbal) && (before?.some(isVerbal) || before?.some(({ kind }) => kind === "entity"))
    if (before === undefined || isOwn) segments.push(part)
    else before.push(...part)
  }
  return segments
}

class Clause {
  readonly #language: ProseLanguage
  readonly #phrases: ReadonlyArray<Phrase>
  /** Names without a preposition that belong to no noun before them. */
  readonly #plain: ReadonlyArray<EntityPhrase>
  readonly #verbAt: number
  readonly #isPassive: boolean
  readonly #isActive: boolean
  readonly #inherited: End | undefined
  readonly subject: End
  /** The object of an active verb. */
  readonly #verbObject: EntityPhrase | undefined

  constructor(language: ProseLanguage, phrases: ReadonlyArray<Phrase>, inherited: End | undefined) {
    this.#language = language
    this.#phrases = phrases
    this.#inherited = inherited
    this.#plain = phrases.filter(
      (phrase, at): phrase is EntityPhrase =>
        phrase.kind === "entity" && phrase.preposition === undefined && this.#ownedBy(at) === undefined && !this.#ownsPerson(at),
    )
    const verb = phrases.find(isVerbal)
    this.#verbAt = verb?.first ?? Number.POSITIVE_INFINITY
    const words = phrases.flatMap((phrase) => (phrase.kind === "verb" ? [phrase.word] : []))
    const participle = phrases.some((phrase) => phrase.kind === "trigger" && !phrase.isNoun && phrase.form === "participle")
    const hasPerfect = words.some((word) => language.perfects.has(word))
    // "a été fondée" and "ha sido fundada" have the auxiliaries of both the perfect and the passive.
    this.#isPassive =
      participle &&
      (words.some((word) => language.passives.has(word)) || !hasPerfect) &&
      !(hasPerfect && !words.some((word) => isPassiveOnly(word)))
    this.#isActive = !this.#isPassive && verb !== undefined
    this.subject = this.#findSubject()
    this.#verbObject = this.#isActive ? this.#plain.find((phrase) => phrase !== this.subject && phrase.first > this.#verbAt) : undefined
  }

  types(): ReadonlyArray<{ readonly name: End; readonly type: string }> {
    const found: Array<{ name: End; type: string }> = []
    this.#phrases.forEach((phrase, at) => {
      const before = this.#phrases[at - 1]
      if (
        phrase.kind === "class" &&
        phrase.determiner !== undefined &&
        before?.kind === "verb" &&
        this.#language.copulas.has(before.word)
      ) {
        if (this.subject !== "earlier" && this.subject.first < phrase.first) found.push({ name: this.subject, type: phrase.iri })
      }
    })
    return found
  }

  statements(): ReadonlyArray<ClauseStatement> {
    if (this.#hasUnnamedSubject()) return []
    return this.#phrases.flatMap((phrase, at) => {
      if (phrase.kind !== "trigger") return []
      if (phrase.isNoun) return this.#byNoun(phrase, at)
      // "Le siège de X se trouve à Y": the verb belongs to the noun "siège".
      const isOfNoun = this.#phrases.some(
        (other) => other.kind === "trigger" && other.isNoun && other.preposition === undefined && other.first < phrase.first,
      )
      return isOfNoun && !this.#plain.some(({ first }) => first < phrase.first) ? [] : this.#byVerb(phrase, at)
    })
  }

  /**
   * The first name before the verb. Without one: an earlier subject for a pronoun or a definite noun, else the subject of the clause
   * before, else the first name after the verb ("1998 wurde Nordlicht ..."), else an earlier subject.
   */
  #findSubject(): End {
    const hasPronoun = this.#phrases.some(({ kind }) => kind === "pronoun")
    const before = this.#plain.filter(({ first }) => first < this.#verbAt)
    const own = before.at(-1)
    if (own !== undefined) return before[0] ?? own
    const definite = this.#phrases.some(
      (phrase) =>
        phrase.kind === "class" && phrase.preposition === undefined && phrase.first < this.#verbAt && this.#isDefinite(phrase.determiner),
    )
    if (hasPronoun || definite) return "earlier"
    if (this.#inherited !== undefined) return this.#inherited
    const after = this.#plain.filter(({ first }) => first > this.#verbAt)
    const isInverted = this.#language.capitalNouns || this.#isPassive
    if (isInverted && after[0] !== undefined && (this.#isPassive || after.length > 1 || !this.#hasAgentiveVerb())) return after[0]
    return "earlier"
  }

  /** `Die Witwe von Jonas Feld gründete`: the subject is a person without a name. */
  #hasUnnamedSubject(): boolean {
    return this.#phrases.some((phrase, at) => {
      if (phrase.kind !== "person" || phrase.preposition !== undefined || phrase.first > this.#verbAt) return false
      const next = this.#phrases[at + 1]
      const isNamed = next?.kind === "entity" && next.preposition === undefined && next.determiner === undefined
      return !isNamed && !this.#plain.some(({ first }) => first < phrase.first)
    })
  }

  /** Whether a name owns the person next to it: `Jonas Felds Bruder`, `der Witwe von Jonas Feld`. */
  #ownsPerson(at: number): boolean {
    const phrase = this.#phrases[at]
    if (phrase?.kind !== "entity") return false
    const [before, next] = [this.#phrases[at - 1], this.#phrases[at + 1]]
    if (next?.kind === "person" && next.first === phrase.last + 1) return true
    const { genitives } = this.#language
    return before?.kind === "person" && (genitives.has(phrase.preposition ?? "") || genitives.has(phrase.determiner ?? ""))
  }

  /** The subject, and the names that `and` joins to it: `Mara Lind und Jonas Feld`. */
  #subjects(): ReadonlyArray<End> {
    const { subject } = this
    if (subject === "earlier") return [subject]
    const found = [subject]
    for (let at = this.#phrases.indexOf(subject) + 1; at > 0 && at + 1 < this.#phrases.length; at += 2) {
      const [joined, next] = [this.#phrases[at], this.#phrases[at + 1]]
      if (joined?.kind !== "break" || next?.kind !== "entity" || next.preposition !== undefined || next.first > this.#verbAt) break
      found.push(next)
    }
    return found
  }

  #hasAgentiveVerb(): boolean {
    return this.#phrases.some((phrase) => phrase.kind === "trigger" && !phrase.isNoun && phrase.triggered.some(({ agentive }) => agentive))
  }

  #isDefinite(determiner: string | undefined): boolean {
    return determiner !== undefined && this.#language.definite.has(determiner)
  }

  /** The noun that a name belongs to: "der Sitz der Brauerei Nordlicht". */
  #ownedBy(at: number): TriggerPhrase | undefined {
    const phrase = this.#phrases[at]
    const before = this.#phrases[at - 1]
    if (before?.kind !== "trigger" || !before.isNoun || phrase === undefined || !("determiner" in phrase)) return undefined
    const { genitives } = this.#language
    const leads = genitives.has(phrase.preposition ?? "") || (phrase.preposition === undefined && genitives.has(phrase.determiner ?? ""))
    return leads ? before : undefined
  }

  #byVerb(trigger: TriggerPhrase, at: number): ReadonlyArray<ClauseStatement> {
    const acted = this.#verbObject ?? this.subject
    return trigger.triggered.flatMap(({ property, strength, agentive }) => {
      const state = (subject: End, object: EntityPhrase | ValuePhrase | "earlier"): ReadonlyArray<ClauseStatement> =>
        this.#stated(subject, property, object, confidences.verb * (strength === "label" ? 1 : confidences.related))
      const actedOn = acted === this.subject ? this.#subjects() : [acted]
      if (property.kind === "date") return this.#nearest(at, "date").flatMap((date) => actedOn.flatMap((one) => state(one, date)))
      if (property.kind === "number") return this.#numberAfter(at).flatMap((number) => state(this.subject, number))
      if (property.kind === "place") return this.#places(at).flatMap((place) => actedOn.flatMap((one) => state(one, place)))
      if (property.kind === "text") return []
      const companions = this.#language.companions.get(trigger.word)
      if (companions !== undefined) {
        const object =
          companions.size === 0
            ? this.#plain.find((one) => one !== this.subject && one.first > trigger.last)
            : this.#companion(at, companions)
        if (object !== undefined || companions.size === 0)
          return object === undefined ? [] : this.#subjects().flatMap((one) => state(one, object))
      }
      if (this.#isPassive) return agentive ? this.#agents().flatMap((agent) => state(this.subject, agent)) : []
      if (!this.#isActive || this.#verbObject === undefined) return []
      const object = this.#verbObject
      return this.#subjects().flatMap((one) => (agentive ? state(object, one) : state(one, object)))
    })
  }

  #byNoun(trigger: TriggerPhrase, at: number): ReadonlyArray<ClauseStatement> {
    const owned = this.#owner(trigger, at)
    return trigger.triggered.flatMap(({ property, strength }) => {
      const value = this.#valueOfNoun(trigger, at, property, owned)
      if (value === undefined || owned === undefined) return []
      return this.#stated(owned, property, value, confidences.noun * (strength === "label" ? 1 : confidences.related))
    })
  }

  #owner(trigger: TriggerPhrase, at: number): End | undefined {
    const next = this.#phrases[at + 1]
    if (next?.kind === "entity" && this.#ownedBy(at + 1) === trigger) return next
    if (next?.kind === "class" && this.#ownedBy(at + 1) === trigger) return "earlier"
    const hasHaving = this.#phrases.some(
      (phrase) => phrase.kind === "verb" && this.#language.having.has(phrase.word) && phrase.first < trigger.first,
    )
    const isOwn = this.#language.possessives.has(trigger.determiner ?? "")
    if (hasHaving || (isOwn && trigger.first > this.#verbAt) || this.#phrases[at - 1]?.kind === "number") return this.subject
    if (isOwn) return "earlier"
    // "im Verlag Hafenlicht", "à la direction Paul Petit": the noun and its name stand in a prepositional phrase.
    if (trigger.preposition !== undefined && next?.kind === "entity" && next.preposition === undefined) return this.subject
    // "Der Sitz ist Kiel."
    return this.#isDefinite(trigger.determiner) && trigger.first < this.#verbAt && next?.kind === "verb" ? "earlier" : undefined
  }

  #valueOfNoun(
    trigger: TriggerPhrase,
    at: number,
    property: LanguageProperty,
    owner: End | undefined,
  ): EntityPhrase | ValuePhrase | undefined {
    const next = this.#phrases[at + 1]
    if (property.kind === "number") {
      const before = this.#phrases[at - 1]
      if (before?.kind === "number") return before
      return this.#phrases.find((phrase): phrase is ValuePhrase => phrase.kind === "number" && phrase.first > trigger.last)
    }
    if (property.kind === "date") return this.#nearest(at, "date")[0]
    if (property.kind === "text") return undefined
    const isOther = (phrase: Phrase): phrase is EntityPhrase => phrase.kind === "entity" && phrase !== owner
    if (trigger.preposition !== undefined && next !== undefined && isOther(next) && next.preposition === undefined) return next
    const hasOwnName = next !== undefined && isOther(next) && next.preposition === undefined && next.determiner === undefined
    const canBeValue = (phrase: Phrase): phrase is EntityPhrase =>
      isOther(phrase) &&
      (phrase.preposition === undefined || this.#language.places.has(phrase.preposition)) &&
      this.#ownedBy(this.#phrases.indexOf(phrase)) === undefined
    const copula = this.#phrases.findIndex((phrase) => phrase.kind === "verb" && this.#language.copulas.has(phrase.word))
    const having = this.#phrases.findIndex((phrase) => phrase.kind === "verb" && this.#language.having.has(phrase.word))
    if (copula > at) return this.#phrases.slice(copula + 1).find(canBeValue)
    // "Ilse Brandt ist die Gründerin von Nordlicht."
    if (copula !== -1 && copula < at && owner !== this.subject) return this.#phrases.slice(0, copula).find(canBeValue)
    if (having !== -1 && having < at) return this.#phrases.slice(at + 1).find(canBeValue)
    const before = this.#phrases[at - 1]
    const named = this.#phrases[at - 2]
    // "Ilse Brandt, Gründerin von Nordlicht"
    if (before?.kind === "break" && before.word === "," && named !== undefined && canBeValue(named)) return named
    return hasOwnName && owner !== undefined && owner !== this.subject ? next : undefined
  }

  /** The name after one of the prepositions that the verb takes, nearest to the verb. */
  #companion(at: number, prepositions: ReadonlySet<string>): EntityPhrase | undefined {
    const trigger = this.#phrases[at]!
    return this.#phrases
      .filter((phrase): phrase is EntityPhrase => phrase.kind === "entity" && prepositions.has(phrase.preposition ?? ""))
      .toSorted((one, other) => Math.abs(one.first - trigger.first) - Math.abs(other.first - trigger.first))[0]
  }

  /** The agent of a passive verb, and the names joined to it. */
  #agents(): ReadonlyArray<EntityPhrase> {
    const at = this.#phrases.findIndex(
      (phrase, index) => phrase.kind === "entity" && this.#language.agents.has(phrase.preposition ?? "") && !this.#ownsPerson(index),
    )
    const first = this.#phrases[at]
    if (first?.kind !== "entity") return []
    const found = [first]
    for (let next = at + 1; next + 1 < this.#phrases.length; next += 2) {
      const joined = this.#phrases[next]
      const phrase = this.#phrases[next + 1]
      if (
        joined?.kind !== "break" ||
        phrase?.kind !== "entity" ||
        (phrase.preposition !== undefined && !this.#language.agents.has(phrase.preposition))
      )
        break
      found.push(phrase)
    }
    return found
  }

  #places(at: number): ReadonlyArray<EntityPhrase> {
    const places = this.#phrases.filter(
      (phrase): phrase is EntityPhrase =>
        phrase.kind === "entity" && !phrase.isLimit && this.#language.places.has(phrase.preposition ?? ""),
    )
    const trigger = this.#phrases[at]!
    const [nearest] = places.toSorted((one, other) => Math.abs(one.first - trigger.first) - Math.abs(other.first - trigger.first))
    return nearest === undefined ? [] : [nearest]
  }

  #nearest(at: number, kind: ValueKind & ValuePhrase["kind"]): ReadonlyArray<ValuePhrase> {
    const trigger = this.#phrases[at]!
    const found = this.#phrases.filter((phrase): phrase is ValuePhrase => phrase.kind === kind && !phrase.isLimit)
    const [nearest] = found.toSorted((one, other) => Math.abs(one.first - trigger.first) - Math.abs(other.first - trigger.first))
    return nearest === undefined ? [] : [nearest]
  }

  #numberAfter(at: number): ReadonlyArray<ValuePhrase> {
    const found = this.#phrases.slice(at + 1, at + 3).find((phrase): phrase is ValuePhrase => phrase.kind === "number")
    return found === undefined ? [] : [found]
  }

  #stated(
    subject: End,
    property: LanguageProperty,
    object: EntityPhrase | ValuePhrase | "earlier",
    confidence: number,
  ): ReadonlyArray<ClauseStatement> {
    if (subject === object) return []
    const isEarlier = subject === "earlier" || object === "earlier"
    const isLong = this.#mayBeTooLong(subject) || this.#mayBeTooLong(object)
    const isVague = isEarlier && this.#phrases.some(({ kind, first }) => kind === "noun" && first < this.#verbAt)
    const factor = (isEarlier ? confidences.earlier : 1) * (isVague ? confidences.vague : 1) * (isLong ? confidences.long : 1)
    return [{ subject, property: property.iri, object, confidence: confidence * factor }]
  }

  /** `die Fähre Nordlys`: where nouns have capitals, the first word after an article may be a noun of no known class. */
  #mayBeTooLong(end: End | ValuePhrase): boolean {
    if (end === "earlier" || end.kind !== "entity" || !this.#language.capitalNouns) return false
    return end.type === undefined && !end.isQuoted && end.last > end.first && this.#isDefinite(end.determiner)
  }
}

/** Whether an auxiliary occurs in the passive only. */
const isPassiveOnly = (word: string): boolean => /^(?:été|sido|worden|wurde|wurden)$/u.test(word)
