/** Why the prose of a document is left out, and what to do about it. Loads nothing that works on documents, so definitions of an API import it. */
import * as Schema from "effect/Schema"

/** The extractor does not know the language, or the ontology has no labels in it. */
export const UnreadProse = Schema.Literals(["language", "labels"])
export type UnreadProse = typeof UnreadProse.Type

/** The languages whose prose the built-in extractor reads. */
export const proseLanguages: ReadonlyArray<string> = ["en", "de", "fr", "es"]

/** `German` for `de`; what is no tag of a language stays as it is. */
export const languageName = (language: string): string => {
  if (language === "und") return "an unknown language"
  if (!/^[a-z]{2,3}$/.test(language)) return language
  return new Intl.DisplayNames("en", { type: "language", fallback: "none" }).of(language) ?? language
}

/** What to do about documents in a language whose prose was left out. */
export const unreadNextStep = (language: string, reason: UnreadProse): string => {
  const read = proseLanguages.map(languageName)
  const model = "extract with a model: --extractor openai:MODEL or anthropic:MODEL"
  if (reason === "labels")
    return `the ontology has no labels in ${languageName(language)}: add rdfs:label "..."@${language} to its properties, or ${model}`
  return `the built-in extractor reads prose in ${read.slice(0, -1).join(", ")} and ${read.at(-1)}, and tables and fields in any language; ${model}`
}
