/**
 * The language of a document: what it declares, what its text tells, and which language's labels its keys are. A declared language
 * stands unless prose of some length is clearly in another: pages often carry the language of their template.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { detectLanguage, languageOfScript, languageScores, mostLikely, proseOf } from "./Detection.ts"
import { labelKey } from "./Words.ts"

/** The language of a tag such as `de-AT`, in small letters; undefined for what is no tag. */
export const languageOfTag = (tag: string): string | undefined =>
  /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/.test(tag.trim()) ? tag.trim().split(/[-_]/)[0]?.toLowerCase() : undefined

/** What an extractor has to know to read a document. */
export interface DocumentLanguage {
  /** Undefined where the text is too short to tell. */
  readonly language: string | undefined
  /** Whether it has sentences, not only tables and `key: value` lines. */
  readonly hasProse: boolean
}

/** In words: less prose than this contradicts nothing that a document declares. */
const contradicting = 40

export const documentLanguage = (beginning: string, declared: string | undefined, ontology: OntologyIndex): DocumentLanguage => {
  const prose = proseOf(beginning)
  return { language: chosen(beginning, prose, declared, ontology), hasProse: prose.trim() !== "" }
}

const chosen = (text: string, prose: string, declared: string | undefined, ontology: OntologyIndex): string | undefined => {
  const told = declared === undefined ? undefined : languageOfTag(declared)
  if (told !== undefined) {
    const found = prose.split(/\s+/).length >= contradicting ? detectLanguage(prose) : languageOfScript(prose)
    return found === undefined || found === "und" ? told : found
  }
  const found = detectLanguage(text)
  if (languageOfScript(text) !== undefined) return found
  const scores = new Map(languageScores(text))
  const keys = keyScores(text, ontology)
  if (keys.size === 0) return found
  for (const [language, score] of keys) scores.set(language, (scores.get(language) ?? 0) + score)
  return mostLikely(scores) ?? found
}

/** Of a key that is a label in one language alone. */
const keyWeight = 2
const mostKeys = 500

const keyScores = (text: string, ontology: OntologyIndex): ReadonlyMap<string, number> => {
  const languages = labelLanguages(ontology)
  const scores = new Map<string, number>()
  const seen = new Set<string>()
  for (const { 1: key = "" } of text.matchAll(/^[ \t]*(?:[-*•] )?([^\n:=|]{1,48}?)[ \t]*[:=]/gmu)) {
    if (seen.size >= mostKeys) break
    const name = labelKey(key)
    if (seen.has(name)) continue
    seen.add(name)
    const owners = languages.get(name)
    if (owners === undefined) continue
    for (const language of owners) scores.set(language, (scores.get(language) ?? 0) + keyWeight / owners.size)
  }
  return scores
}

const known = new WeakMap<OntologyIndex, ReadonlyMap<string, ReadonlySet<string>>>()

/** By label, the languages it is a label in. A label without a language is taken for English. */
const labelLanguages = (ontology: OntologyIndex): ReadonlyMap<string, ReadonlySet<string>> => {
  const kept = known.get(ontology)
  if (kept !== undefined) return kept
  const found = new Map<string, Set<string>>()
  for (const { labels, alternativeLabels } of [...ontology.ontology.properties, ...ontology.ontology.classes]) {
    for (const { text, language } of [...labels, ...alternativeLabels]) {
      const key = labelKey(text)
      found.set(key, (found.get(key) ?? new Set()).add(languageOfTag(language) ?? "en"))
    }
  }
  known.set(ontology, found)
  return found
}

const spoken = new WeakMap<OntologyIndex, ReadonlySet<string>>()

/** The languages that properties of an ontology have labels in. Labels without a tag are of the language they read like. */
export const languagesOfOntology = (ontology: OntologyIndex): ReadonlySet<string> => {
  const kept = spoken.get(ontology)
  if (kept !== undefined) return kept
  const texts = ontology.ontology.properties.flatMap(({ labels, alternativeLabels }) => [...labels, ...alternativeLabels])
  const found = new Set(texts.flatMap(({ language }) => languageOfTag(language) ?? []))
  const untagged = texts.filter(({ language }) => language === "")
  const like = mostLikely(languageScores(untagged.map(({ text }) => text).join("\n")))
  if (untagged.length > 0) found.add(like ?? "en")
  spoken.set(ontology, found)
  return found
}
