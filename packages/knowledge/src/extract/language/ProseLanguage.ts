/**
 * The data for reading sentences of a language: its function words, the forms of its verbs, and groups of related words. Also the reasons
 * why the prose of a document is not read, with the next step. API definitions import this file, so it loads no code that reads documents.
 */
import * as Schema from "effect/Schema"
import type { Gender } from "../../text/GivenNames.ts"

/** The grammatical role of a word, as far as its form shows. */
export type WordForm = "participle" | "agent" | "finite" | "other"

export interface ProseLanguage {
  readonly tag: string
  /** Definite and indefinite articles. */
  readonly definite: ReadonlySet<string>
  readonly indefinite: ReadonlySet<string>
  /** Words that refer to the subject of an earlier sentence. */
  readonly pronouns: ReadonlySet<string>
  /** `his`, `her`, `their`. */
  readonly possessives: ReadonlySet<string>
  readonly copulas: ReadonlySet<string>
  /** Auxiliaries of the passive voice. */
  readonly passives: ReadonlySet<string>
  /** Auxiliaries of tenses of the active voice. */
  readonly perfects: ReadonlySet<string>
  /** `has`, `possesses`. */
  readonly having: ReadonlySet<string>
  /** Prepositions before an agent. */
  readonly agents: ReadonlySet<string>
  /** Prepositions before a place. */
  readonly places: ReadonlySet<string>
  /** Prepositions and articles before an owner. */
  readonly genitives: ReadonlySet<string>
  /** All other prepositions. */
  readonly prepositions: ReadonlySet<string>
  readonly conjunctions: ReadonlySet<string>
  /** Conjunctions between alternatives, of which none is asserted: `or`. */
  readonly alternatives: ReadonlySet<string>
  /** Words before a place or a date that is only a limit: `near`, `before`, `km from`. */
  readonly limits: ReadonlySet<string>
  /** Nouns for a person by a relation to another: `widow`, `lawyer`. */
  readonly persons: ReadonlySet<string>
  /** Verbs whose object follows a preposition, each with its prepositions; an object without one for none: `works for`, `belongs to`. */
  readonly companions: ReadonlyMap<string, ReadonlySet<string>>
  /** The pronouns that tell the gender of a person. */
  readonly genders: ReadonlyMap<string, Gender>
  readonly relatives: ReadonlySet<string>
  /** Other function words. */
  readonly others: ReadonlySet<string>
  /** Function words that may stand inside a name. */
  readonly connectors: ReadonlySet<string>
  /** A sentence with one of these asserts nothing. */
  readonly negations: ReadonlySet<string>
  /** Nor does one with one of these phrases. */
  readonly hedges: RegExp
  /** Capitalised nouns that are not names; and titles before names. */
  readonly commonNouns: ReadonlySet<string>
  readonly titles: ReadonlySet<string>
  /** Endings of nouns that are not names. */
  readonly abstractEndings: RegExp
  /** Whether the language capitalises all nouns. */
  readonly capitalNouns: boolean
  /** Words of a label that name the kind of value: `date`, `place`, `number`. */
  readonly dateWords: ReadonlySet<string>
  readonly placeWords: ReadonlySet<string>
  readonly numberWords: ReadonlySet<string>
  /** The power of ten of each number word. */
  readonly scales: Readonly<Record<string, number>>
  /** Groups of words that can express the same relation, one group per line. */
  readonly synonyms: string
  /** The stem of a folded word. */
  readonly stem: (word: string) => string
  readonly form: (word: string) => WordForm
  /** Parts of a compound that are words of their own. */
  readonly parts: (word: string) => ReadonlyArray<string>
}

/** Verbs with their prepositions, one line for each set of prepositions: `arbeitet arbeitete: für bei`. */
export const readCompanions = (lines: string): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(
    lines
      .trim()
      .split("\n")
      .flatMap((line) => {
        const [verbs = "", joined = ""] = line.split(":")
        const allowed = new Set(joined.split(" ").filter((word) => word !== ""))
        return verbs
          .trim()
          .split(" ")
          .map((verb) => [verb, allowed] as const)
      }),
  )

/** The word without diacritics. */
export const unmarked = (word: string): string => word.normalize("NFD").replace(/\p{M}/gu, "").replaceAll("ß", "ss")

/** Removes the first of the endings that leaves at least `least` characters of the word. The longest ending comes first. */
export const withoutEnding = (word: string, endings: ReadonlyArray<string>, least: number): string => {
  const ending = endings.find((one) => word.length - one.length >= least && word.endsWith(one))
  return ending === undefined ? word : word.slice(0, -ending.length)
}

/**
 * Why the prose of a document is not read: the extractor does not know the language, the ontology has no labels in it, or the document has
 * no text at all, such as a scanned page.
 */
export const UnreadProse = Schema.Literals(["language", "labels", "empty"])
export type UnreadProse = typeof UnreadProse.Type

/** The language of a document without text: the tag for no linguistic content. */
export const noLanguage = "zxx"

/** The languages whose prose the built-in extractor reads. */
export const proseLanguages: ReadonlyArray<string> = ["en", "de", "fr", "es"]

/** `German` for `de`. Text that is not a language tag is returned unchanged. */
export const languageName = (language: string): string => {
  if (language === "und") return "an unknown language"
  if (language === noLanguage) return "no language"
  if (!/^[a-z]{2,3}$/.test(language)) return language
  return new Intl.DisplayNames("en", { type: "language", fallback: "none" }).of(language) ?? language
}

/** The next step for documents in a language whose prose was not read. */
export const unreadNextStep = (language: string, reason: UnreadProse): string => {
  const read = proseLanguages.map(languageName)
  const model = "extract with a model, such as --extractor openai:MODEL or ollama:MODEL"
  if (reason === "empty") return "a document has no text: give a scanned one a layer of text by OCR, or leave it out of the batch"
  if (reason === "labels")
    return `the ontology has no labels in ${languageName(language)}: add rdfs:label "..."@${language} to its properties, or ${model}`
  return `the built-in extractor reads prose in ${read.slice(0, -1).join(", ")} and ${read.at(-1)}, and tables and fields in any language; ${model}`
}
