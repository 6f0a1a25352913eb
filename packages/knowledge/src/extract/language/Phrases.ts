/** Splits a sentence into phrases: names, dates, numbers, trigger words of properties, auxiliary verbs, pronouns, and breaks. */
import { type FoundDate, findDates } from "../../text/Dates.ts"
import { fold, type Token, tokenize } from "../../text/Words.ts"
import type { LanguageProperties, Triggered } from "./LanguageProperties.ts"
import type { ProseLanguage, WordForm } from "./ProseLanguage.ts"

interface TokenRange {
  /** The first and last token. */
  readonly first: number
  readonly last: number
}

interface LedPhrase extends TokenRange {
  /** The preposition before it. */
  readonly preposition: string | undefined
  /** The article or possessive before it. */
  readonly determiner: string | undefined
}

export interface EntityPhrase extends LedPhrase {
  readonly kind: "entity"
  readonly text: string
  readonly start: number
  readonly end: number
  /** The class that stands before the name: "the brewery Nordlys". */
  readonly type: string | undefined
  readonly isQuoted: boolean
  /** Whether it is only a limit: "near Kell". */
  readonly isLimit: boolean
}

export interface ValuePhrase extends LedPhrase {
  readonly kind: "date" | "number"
  readonly text: string
  readonly start: number
  readonly end: number
  /** Whether it is only a limit: "before 4 May 1970". */
  readonly isLimit: boolean
}

export interface TriggerPhrase extends LedPhrase {
  readonly kind: "trigger"
  readonly word: string
  readonly form: WordForm
  readonly isNoun: boolean
  readonly triggered: ReadonlyArray<Triggered>
}

export type Phrase =
  | EntityPhrase
  | ValuePhrase
  | TriggerPhrase
  /** A noun for a person by a relation to another: "widow". */
  | (LedPhrase & { readonly kind: "person" })
  /** A noun for a class, without a name after it. */
  | (LedPhrase & { readonly kind: "class"; readonly iri: string })
  /** `noun`: a noun of no known class, after an article and before a verb. */
  | (TokenRange & { readonly kind: "pronoun" | "relative" | "noun" })
  | (TokenRange & { readonly kind: "verb"; readonly word: string })
  | (TokenRange & { readonly kind: "break"; readonly word: string })

export interface PhrasedSentence {
  readonly phrases: ReadonlyArray<Phrase>
  readonly words: ReadonlyArray<string>
}

/** French joins articles and prepositions to the next word: `l'entreprise`, `d'Oslo`. */
const elision = /^(?:l|d|s|n|qu|j|c|m|t|jusqu|lorsqu)['’](?=\p{L})/iu

const tokensOf = (language: ProseLanguage, text: string, offset: number): ReadonlyArray<Token> =>
  mergedNumbers(
    tokenize(text, offset).flatMap((token): ReadonlyArray<Token> => {
      const elided = language.tag === "fr" && token.kind === "word" ? elision.exec(token.text)?.[0] : undefined
      if (elided === undefined) return [token]
      const cut = token.start + elided.length
      return [
        { text: elided.slice(0, -1), start: token.start, end: cut, kind: "word" },
        { text: token.text.slice(elided.length), start: cut, end: token.end, kind: "word" },
      ]
    }),
    text,
    offset,
  )

/** "1 250" is one number. */
const mergedNumbers = (tokens: ReadonlyArray<Token>, text: string, offset: number): ReadonlyArray<Token> => {
  const merged: Array<Token> = []
  for (const token of tokens) {
    const before = merged.at(-1)
    const isGroup = before?.kind === "number" && token.kind === "number" && /^\d{3}(?:,\d+)?$/.test(token.text)
    if (isGroup && token.start - before.end === 1 && /^\d{1,3}(?:\s\d{3})*$/u.test(before.text)) {
      merged[merged.length - 1] = {
        text: text.slice(before.start - offset, token.end - offset),
        start: before.start,
        end: token.end,
        kind: "number",
      }
    } else merged.push(token)
  }
  return merged
}

const closing: Readonly<Record<string, ReadonlyArray<string>>> = {
  "„": ["“", "”"],
  "“": ["”"],
  "«": ["»"],
  "»": ["«"],
  '"': ['"'],
  "‚": ["‘"],
}

export const phrasesOf = (language: ProseLanguage, terms: LanguageProperties, text: string, offset: number): PhrasedSentence =>
  new Phraser(language, terms, text, offset).read()

class Phraser {
  readonly #language: ProseLanguage
  readonly #terms: LanguageProperties
  readonly #text: string
  readonly #offset: number
  readonly #tokens: ReadonlyArray<Token>
  readonly #words: ReadonlyArray<string>
  readonly #dates: ReadonlyMap<number, FoundDate>
  readonly #begin: number
  readonly #phrases: Array<Phrase> = []
  #preposition: string | undefined
  #determiner: string | undefined

  constructor(language: ProseLanguage, terms: LanguageProperties, text: string, offset: number) {
    this.#language = language
    this.#terms = terms
    this.#text = text
    this.#offset = offset
    this.#tokens = tokensOf(language, text, offset)
    this.#words = this.#tokens.map((token) => fold(token.text))
    this.#dates = new Map(findDates(this.#tokens, language.tag).map((date) => [date.first, date]))
    this.#begin = this.#tokens.findIndex(({ kind }) => kind !== "mark")
  }

  read(): PhrasedSentence {
    for (let at = 0; at < this.#tokens.length; ) at = this.#next(at)
    return { phrases: this.#phrases, words: this.#words }
  }

  #next(at: number): number {
    const token = this.#tokens[at]!
    const word = this.#words[at]!
    const { prepositions, agents, places, genitives, definite, indefinite, possessives, conjunctions, alternatives, relatives, pronouns } =
      this.#language
    const { having, perfects, persons, others } = this.#language
    const date = this.#dates.get(at)
    if (date !== undefined) return this.#value("date", at, date.last)
    const quotation = closing[token.text]
    if (quotation !== undefined) {
      const end = this.#tokens.findIndex(({ text }, index) => index > at && quotation.includes(text))
      if (end > at + 1 && end - at < 16) return this.#entity(at + 1, end - 1, undefined, true, end + 1)
    }
    if (token.kind === "number") return this.#value("number", at, this.#scaled(at))
    if (token.kind === "mark") {
      if (/^[,;:–—()]$/u.test(token.text)) this.#put({ kind: "break", word: token.text, first: at, last: at })
      return at + 1
    }
    const isName = this.#isCapital(at) && !(at === this.#begin && this.#isSmall(word))
    if (!isName) {
      if (agents.has(word) || places.has(word) || prepositions.has(word) || (genitives.has(word) && !definite.has(word)))
        return this.#lead(word, undefined, at)
      if (definite.has(word) || indefinite.has(word) || possessives.has(word)) {
        // The same words can be a relative pronoun or a pronoun: then no noun follows.
        if (this.#isRelative(at)) return this.#simple("relative", at)
        if (at === this.#begin && pronouns.has(word) && this.#isVerb(at + 1)) return this.#simple("pronoun", at)
        return this.#lead(this.#preposition, word, at)
      }
      if (relatives.has(word)) return this.#simple("relative", at)
      if (pronouns.has(word)) return this.#simple("pronoun", at)
      if (conjunctions.has(word) || alternatives.has(word)) {
        this.#put({ kind: "break", word, first: at, last: at })
        return at + 1
      }
      if (this.#isAuxiliary(word)) {
        if (this.#determiner !== undefined && this.#preposition === undefined) this.#put({ kind: "noun", first: at - 1, last: at - 1 })
        this.#put({ kind: "verb", word, first: at, last: at })
        // "liegt in" and "se trouve à" are copulas that also trigger properties of a place.
        // `besitzt` and `posee` also trigger the owner.
        const isOwning = having.has(word) && !perfects.has(word) && this.#terms.isWritten(word)
        const triggered = this.#terms
          .triggered(word)
          ?.filter(({ property }) => property.kind === "place" || (isOwning && property.kind === "entity"))
        if (triggered !== undefined && triggered.length > 0)
          this.#put({
            kind: "trigger",
            word,
            form: "finite",
            isNoun: false,
            triggered,
            preposition: undefined,
            determiner: undefined,
            first: at,
            last: at,
          })
        return at + 1
      }
    }
    const trigger = this.#trigger(at)
    if (trigger !== undefined) return trigger
    if (persons.has(word) && !this.#isNamePart(at)) {
      this.#put({ kind: "person", ...this.#led(), first: at, last: at })
      return at + 1
    }
    // `Ayer María Vidal`: the adverb at the beginning is not part of the name.
    if (at === this.#begin && others.has(word)) return at + 1
    const named = this.#classOrName(at)
    if (named !== undefined) return named
    // Skips adjectives and adverbs: the noun they belong to may follow.
    return at + 1
  }

  #lead(preposition: string | undefined, determiner: string | undefined, at: number): number {
    this.#preposition = preposition
    this.#determiner = determiner
    return at + 1
  }

  #led(): { readonly preposition: string | undefined; readonly determiner: string | undefined } {
    return { preposition: this.#preposition, determiner: this.#determiner }
  }

  #put(phrase: Phrase) {
    this.#phrases.push(phrase)
    this.#preposition = undefined
    this.#determiner = undefined
  }

  /** After a comma, "der" is a relative pronoun unless a noun follows. */
  #isRelative(at: number): boolean {
    const { relatives, agents, places, prepositions, others } = this.#language
    const next = this.#words[at + 1] ?? ""
    const isFollowed =
      [agents, places, prepositions, others].some((set) => set.has(next)) || this.#dates.has(at + 1) || this.#isVerb(at + 1)
    return relatives.has(this.#words[at] ?? "") && this.#words[at - 1] === "," && isFollowed
  }

  #simple(kind: "pronoun" | "relative", at: number): number {
    this.#put({ kind, first: at, last: at })
    return at + 1
  }

  #spanned(first: number, last: number) {
    const start = this.#tokens[first]!.start
    const end = this.#tokens[last]!.end
    return { first, last, start, end, text: this.#text.slice(start - this.#offset, end - this.#offset) }
  }

  #value(kind: "date" | "number", first: number, last: number): number {
    this.#put({ kind, isLimit: this.#isLimit(first), ...this.#led(), ...this.#spanned(first, last) })
    return last + 1
  }

  #entity(first: number, last: number, type: string | undefined, isQuoted: boolean, next: number): number {
    this.#put({ kind: "entity", type, isQuoted, isLimit: this.#isLimit(first), ...this.#led(), ...this.#spanned(first, last) })
    return next
  }

  /** Whether a word for a limit leads up to a name or value: `vor dem 4. Mai`, `à 40 km de Lisbonne`. */
  #isLimit(first: number): boolean {
    const { definite, genitives, limits } = this.#language
    let at = first - 1
    while (at > first - 4 && (definite.has(this.#words[at] ?? "") || genitives.has(this.#words[at] ?? ""))) at--
    return limits.has(this.#words[at] ?? "")
  }

  /** "12,5 Millionen" is one number. */
  #scaled(at: number): number {
    return this.#language.scales[this.#words[at + 1] ?? ""] === undefined ? at : at + 1
  }

  #isAuxiliary(word: string): boolean {
    const { copulas, passives, perfects, having } = this.#language
    return copulas.has(word) || passives.has(word) || perfects.has(word) || having.has(word)
  }

  #isVerb(at: number): boolean {
    const word = this.#words[at] ?? ""
    return this.#isAuxiliary(word) || (!this.#isCapital(at) && this.#terms.triggered(word) !== undefined)
  }

  #isCapital(at: number): boolean {
    const token = this.#tokens[at]
    return token !== undefined && token.kind === "word" && /^[\p{Lu}\p{Lt}\p{Lo}]/u.test(token.text)
  }

  #isSmall(word: string): boolean {
    const language = this.#language
    return (
      this.#isAuxiliary(word) ||
      [
        language.definite,
        language.indefinite,
        language.possessives,
        language.pronouns,
        language.agents,
        language.places,
        language.genitives,
        language.prepositions,
        language.conjunctions,
        language.relatives,
        language.others,
      ].some((set) => set.has(word))
    )
  }

  /** A trigger word of properties: a verb in lower case, or a noun. */
  #trigger(at: number): number | undefined {
    const word = this.#words[at]!
    const triggered = this.#isNamePart(at) ? undefined : this.#terms.triggered(word)
    if (triggered === undefined || this.#isSmall(word)) return undefined
    // In a language that capitalises nouns, a capital tells a noun from a verb.
    const { capitalNouns, form } = this.#language
    const shape = form(word)
    const before = this.#phrases.at(-1)
    const isNoun =
      capitalNouns && at !== this.#begin
        ? this.#isCapital(at)
        : shape === "agent" || shape === "other" || this.#determiner !== undefined || before?.kind === "number"
    // "production annuelle" is one label.
    if (before?.kind === "trigger" && before.last === at - 1 && before.isNoun) {
      const shared = before.triggered.filter(({ property }) => triggered.some((other) => other.property.iri === property.iri))
      if (shared.length > 0) {
        this.#phrases[this.#phrases.length - 1] = { ...before, triggered: shared, last: at }
        return at + 1
      }
    }
    // "the brewery" is a class if the ontology has that label, and a trigger word only before its owner.
    if (isNoun && this.#terms.classAt(this.#words, at) !== undefined && !this.#isOwned(at + 1)) return undefined
    this.#put({ kind: "trigger", word, form: shape, isNoun, triggered, ...this.#led(), first: at, last: at })
    return at + 1
  }

  #isOwned(at: number): boolean {
    return this.#language.genitives.has(this.#words[at] ?? "")
  }

  /**
   * In a language that capitalises names only, a capitalised word inside a sentence is part of a name. So is the first word before
   * another capital, unless it is a known word: `María Vidal nació`, but `Fundador Juan Rojo`.
   */
  #isNamePart(at: number): boolean {
    if (this.#language.capitalNouns || !this.#isCapital(at)) return false
    return at !== this.#begin || (this.#isCapital(at + 1) && !this.#terms.isWritten(this.#words[at] ?? ""))
  }

  #classOrName(at: number): number | undefined {
    const { capitalNouns, titles, commonNouns, abstractEndings } = this.#language
    const named = this.#terms.classAt(this.#words, at)
    if (!this.#isCapital(at)) {
      if (named === undefined) return undefined
      // "la brasserie Nordlys"
      const next = named.last + 1
      const quoted = closing[this.#tokens[next]?.text ?? ""]
      if (quoted !== undefined) {
        const end = this.#tokens.findIndex(({ text }, index) => index > next && quoted.includes(text))
        if (end > next + 1 && end - next < 16) return this.#entity(next + 1, end - 1, named.iri, true, end + 1)
      }
      if (this.#isCapital(next)) return this.#entity(next, this.#nameEnd(next), named.iri, false, this.#nameEnd(next) + 1)
      this.#put({ kind: "class", iri: named.iri, ...this.#led(), first: at, last: named.last })
      return named.last + 1
    }
    let first = at
    while (titles.has(this.#words[first] ?? "") && (this.#isCapital(first + 1) || this.#words[first + 1] === "."))
      first += this.#words[first + 1] === "." ? 2 : 1
    if (first !== at && this.#isCapital(first)) return this.#entity(first, this.#nameEnd(first), undefined, false, this.#nameEnd(first) + 1)
    const last = this.#nameEnd(at)
    if (named !== undefined && named.last >= last) {
      const quoted = closing[this.#tokens[named.last + 1]?.text ?? ""]
      if (quoted !== undefined) {
        const end = this.#tokens.findIndex(({ text }, index) => index > named.last + 1 && quoted.includes(text))
        if (end > named.last + 2 && end - named.last < 16) return this.#entity(named.last + 2, end - 1, named.iri, true, end + 1)
      }
      this.#put({ kind: "class", iri: named.iri, ...this.#led(), first: at, last: named.last })
      return named.last + 1
    }
    const isOne = at === last
    const word = this.#words[at]!
    // `der Film Stiller Hafen`, `des Films Stiller Hafen`: the noun is not part of the name.
    if (capitalNouns && named !== undefined && named.last === at && !isOne && !this.#terms.isPartOfName(word, named.iri))
      return this.#entity(at + 1, last, named.iri, false, last + 1)
    if (isOne && (commonNouns.has(word) || (capitalNouns && abstractEndings.test(word)))) {
      this.#lead(undefined, undefined, at)
      return at + 1
    }
    return this.#entity(at, last, named?.iri, false, last + 1)
  }

  /**
   * The last token of a name: capitalised words, with connectors between them as in "Banco de Bilbao". German names get no connectors,
   * since "von" stands before an agent far more often than inside a name.
   */
  #nameEnd(first: number): number {
    const { connectors, capitalNouns, persons } = this.#language
    let last = first
    for (;;) {
      const isInitial = this.#words[last + 1] === "." && /^\p{Lu}$/u.test(this.#tokens[last]?.text ?? "") && this.#isCapital(last + 2)
      const next = isInitial ? last + 2 : last + 1
      let over = next
      while (!capitalNouns && over - next < 2 && connectors.has(this.#words[over] ?? "") && !this.#isCapital(over)) over++
      if (!this.#isCapital(over) || this.#isTriggerNoun(over) || (capitalNouns && persons.has(this.#words[over] ?? ""))) return last
      if (over === next && !isInitial && !this.#adjacent(last, next)) return last
      last = over
    }
  }

  #isTriggerNoun(at: number): boolean {
    return this.#language.capitalNouns && this.#terms.triggered(this.#words[at] ?? "") !== undefined
  }

  #adjacent(one: number, other: number): boolean {
    return this.#text.slice(this.#tokens[one]!.end - this.#offset, this.#tokens[other]!.start - this.#offset).trim().length <= 1
  }
}
