/** Reads prose of one language with one ontology. */
import { splitSentences } from "../../document/Sentences.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { givenNames } from "../../text/GivenNames.ts"
import { labelKey } from "../../text/Words.ts"
import { type ClauseStatement, type End, factsOfSentence } from "./ClauseFacts.ts"
import { languagesOfOntology } from "./DocumentLanguage.ts"
import { french } from "./French.ts"
import { german } from "./German.ts"
import { LanguageProperties } from "./LanguageProperties.ts"
import { type EntityPhrase, phrasesOf, type ValuePhrase } from "./Phrases.ts"
import type { ProseLanguage, UnreadProse } from "./ProseLanguage.ts"
import { spanish } from "./Spanish.ts"

const languages: ReadonlyMap<string, ProseLanguage> = new Map([german, french, spanish].map((language) => [language.tag, language]))

/** Why the built-in extractor does not read the prose of a language; undefined if it does. It reads an undetected language as English. */
export const unreadProse = (language: string | undefined, ontology: OntologyIndex): UnreadProse | undefined => {
  if (language === undefined || language === "en") return undefined
  if (!languages.has(language)) return "language"
  return languagesOfOntology(ontology).has(language) ? undefined : "labels"
}

/** The factor for the confidence of facts about a heading. */
const shareOfHeading = 0.6

interface Piece {
  readonly text: string
  readonly start: number
  readonly end: number
}

export interface NamedPlace extends Piece {
  /** Classes that the text gives it. */
  readonly said: ReadonlyArray<string>
  readonly isValue: boolean
}

export interface ReadStatement {
  readonly subject: NamedPlace
  readonly property: string
  readonly object: NamedPlace
  readonly confidence: number
}

export interface ReadProse {
  readonly statements: ReadonlyArray<ReadStatement>
  /** Names whose class the text gives. */
  readonly named: ReadonlyArray<NamedPlace>
}

export class LanguageReader {
  readonly #language: ProseLanguage
  readonly #terms: LanguageProperties

  private constructor(language: ProseLanguage, ontology: OntologyIndex) {
    this.#language = language
    this.#terms = new LanguageProperties(ontology, language)
  }

  /** Undefined for a language without a reader, or without labels in the ontology. */
  static of(language: string, ontology: OntologyIndex): LanguageReader | undefined {
    const known = languages.get(language)
    return known === undefined || unreadProse(language, ontology) !== undefined ? undefined : new LanguageReader(known, ontology)
  }

  /**
   * Reads a passage of prose. Its first sentence can refer to the heading as an earlier subject. Facts about a heading that names no
   * class need a review: it may be a title or a section.
   */
  read(prose: Piece, heading: Piece | undefined): ReadProse {
    let earlier: Piece | undefined = heading
    const isTold =
      heading !== undefined &&
      labelKey(heading.text)
        .split(" ")
        .some((word) => this.#terms.classAt([word], 0) !== undefined)
    const shareOf = (piece: Piece) => (piece === heading && !isTold ? shareOfHeading : 1)
    const said = new Map<string, Set<string>>()
    const note = ({ text }: Piece, type: string) => said.set(labelKey(text), (said.get(labelKey(text)) ?? new Set()).add(type))
    const found: Array<{ statement: ClauseStatement; subject: Piece; object: Piece }> = []
    const named: Array<Piece> = []
    for (const { start, end } of splitSentences(prose.text)) {
      const text = prose.text.slice(start, end)
      const sentence = phrasesOf(this.#language, this.#terms, text, prose.start + start)
      const before = earlier === undefined || this.#isOtherGender(earlier, sentence.words) ? undefined : earlier
      const pieceOf = (at: End | ValuePhrase): Piece | undefined =>
        at === "earlier" ? before : at.kind === "entity" ? this.#whole(at, prose.text) : at
      const { statements, types, about } = factsOfSentence(this.#language, sentence, text)
      for (const phrase of sentence.phrases) {
        if (phrase.kind !== "entity" || phrase.type === undefined) continue
        const piece = this.#whole(phrase, prose.text)
        note(piece, phrase.type)
        named.push(piece)
      }
      for (const { name, type } of types) {
        const piece = pieceOf(name)
        if (piece === undefined) continue
        note(piece, type)
        named.push(piece)
      }
      for (const statement of statements) {
        const [subject, object] = [pieceOf(statement.subject), pieceOf(statement.object)]
        if (subject === undefined || object === undefined) continue
        const confidence = statement.confidence * shareOf(subject) * shareOf(object)
        found.push({ statement: { ...statement, confidence }, subject, object })
      }
      if (about !== undefined) earlier = this.#whole(about, prose.text)
    }
    const place = ({ text, start, end }: Piece, isValue: boolean): NamedPlace => ({
      text,
      start,
      end,
      isValue,
      said: [...(said.get(labelKey(text)) ?? [])],
    })
    return {
      statements: found.map(({ statement: { property, object: end, confidence }, subject, object }) => ({
        subject: place(subject, false),
        property,
        object: place(object, end !== "earlier" && end.kind !== "entity"),
        confidence,
      })),
      named: named.map((piece) => place(piece, false)),
    }
  }

  /** Whether a sentence has a pronoun of the other gender than the given name: "Maria Lopez" for "er". */
  #isOtherGender({ text }: Piece, words: ReadonlyArray<string>): boolean {
    const [first = "", ...others] = labelKey(text).split(" ")
    const gender = others.length === 0 ? undefined : givenNames.get(first)
    const said = words.flatMap((word) => this.#language.genders.get(word) ?? [])
    return gender !== undefined && said.length > 0 && !said.includes(gender)
  }

  /** Shortens "Brauerei Nordlicht" to "Nordlicht" if the text elsewhere has the name alone. */
  #whole({ text, start, end, type, isQuoted, first, last }: EntityPhrase, prose: string): Piece {
    const [lead = "", ...rest] = text.split(" ")
    const name = rest.join(" ")
    if (type === undefined || isQuoted || first === last || name === "" || this.#terms.classAt([labelKey(lead)], 0) === undefined)
      return { text, start, end }
    return standsAlone(prose, name, lead) ? { text: name, start: start + lead.length + 1, end } : { text, start, end }
  }
}

/** Whether the text contains a name without `lead` before it. */
const standsAlone = (text: string, name: string, lead: string): boolean => {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + name.length] ?? " "}`
    if (!/[\p{L}\p{N}]/u.test(around) && !text.slice(0, at).endsWith(`${lead} `)) return true
  }
  return false
}
