/**
 * Tells which language a text is in, from its script and its most frequent small words. The time grows with the length of what is
 * looked at, which is bounded, and the same text always gives the same answer.
 */
import { commonWords, hintingEndings, hintingLetters } from "./LanguageProfiles.ts"

/** In UTF-16 code units: more text changes no answer. */
export const detectedWithin = 8000

/** Of a text that is clearly in none of the known languages. */
export const undetermined = "und"

/** How much a word counts for each language that has it. */
const weights: ReadonlyMap<string, ReadonlyArray<readonly [language: string, weight: number]>> = readWords()

function readWords() {
  const owners = new Map<string, Array<string>>()
  for (const [language, words] of Object.entries(commonWords)) {
    for (const word of new Set(words.trim().split(/\s+/))) owners.set(word, [...(owners.get(word) ?? []), language])
  }
  return new Map([...owners].map(([word, languages]) => [word, languages.map((one) => [one, 1 / languages.length] as const)]))
}

const ownersOf = (hints: Readonly<Record<string, string>>, apart: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const owners = new Map<string, Array<string>>()
  for (const [language, text] of Object.entries(hints)) {
    for (const hint of text.split(apart)) owners.set(hint, [...(owners.get(hint) ?? []), language])
  }
  return owners
}

const letters = ownersOf(hintingLetters, "")
const endings = ownersOf(hintingEndings, " ")

/** Of a letter or an ending, against 1 of a word. */
const hintWeight = 0.3

/** How far each language is borne out by the words of a text in Latin script. */
export const languageScores = (text: string): ReadonlyMap<string, number> => {
  const scores = new Map<string, number>()
  const add = (language: string, weight: number) => scores.set(language, (scores.get(language) ?? 0) + weight)
  for (const { 0: word } of text
    .slice(0, detectedWithin)
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)?/gu)) {
    const known = weights.get(word.replace("’", "'")) ?? weights.get(word.split(/['’]/).at(-1) ?? "")
    if (known !== undefined) for (const [language, weight] of known) add(language, weight)
    for (const letter of new Set(word)) {
      const owners = letters.get(letter) ?? []
      for (const language of owners) add(language, hintWeight / owners.length)
    }
    if (known !== undefined || word.length < 6) continue
    for (const length of [2, 3, 4, 5, 6]) {
      const owners = endings.get(word.slice(-length)) ?? []
      for (const language of owners) add(language, hintWeight / owners.length)
    }
  }
  return scores
}

/** A language other than English takes this much, and clearly more than English has. */
const leastScore = 1.5
const overEnglish = 1.3

/** The language with the most evidence: English where it is close, undefined where there is too little for any. */
export const mostLikely = (scores: ReadonlyMap<string, number>): string | undefined => {
  const english = scores.get("en") ?? 0
  const [best] = [...scores].sort(([one, left], [other, right]) => right - left || (one < other ? -1 : 1))
  if (best === undefined) return undefined
  const [language, score] = best
  if (language !== "en" && score >= leastScore && score > english * overEnglish) return language
  return english >= 1 ? "en" : undefined
}

const scripts: ReadonlyArray<readonly [script: string, pattern: RegExp]> = [
  ["Latin", /\p{sc=Latin}/gu],
  ["Cyrillic", /\p{sc=Cyrillic}/gu],
  ["Han", /\p{sc=Han}/gu],
  ["Kana", /[\p{sc=Hiragana}\p{sc=Katakana}]/gu],
  ["Hangul", /\p{sc=Hangul}/gu],
  ["Arabic", /\p{sc=Arabic}/gu],
  ["Greek", /\p{sc=Greek}/gu],
  ["Hebrew", /\p{sc=Hebrew}/gu],
  ["Thai", /\p{sc=Thai}/gu],
  ["Devanagari", /\p{sc=Devanagari}/gu],
  ["Bengali", /\p{sc=Bengali}/gu],
  ["Tamil", /\p{sc=Tamil}/gu],
  ["Georgian", /\p{sc=Georgian}/gu],
  ["Armenian", /\p{sc=Armenian}/gu],
]

const byScript: Readonly<Record<string, (text: string) => string>> = {
  Cyrillic: (text) =>
    /[іїєґ]/iu.test(text) ? "uk" : /[јљњћђ]/iu.test(text) ? "sr" : /[ыэё]/iu.test(text) ? "ru" : /ъ/iu.test(text) ? "bg" : "ru",
  Han: () => "zh",
  Kana: () => "ja",
  Hangul: () => "ko",
  Arabic: (text) => (/[پچژگ]/u.test(text) ? "fa" : "ar"),
  Greek: () => "el",
  Hebrew: () => "he",
  Thai: () => "th",
  Devanagari: () => "hi",
  Bengali: () => "bn",
  Tamil: () => "ta",
  Georgian: () => "ka",
  Armenian: () => "hy",
}

/** The language that a text's script tells; undefined where most of it is in Latin script, or in none. */
export const languageOfScript = (text: string): string | undefined => {
  const part = text.slice(0, detectedWithin)
  const counts = new Map(scripts.map(([script, pattern]) => [script, part.match(pattern)?.length ?? 0]))
  const all = part.match(/\p{L}/gu)?.length ?? 0
  const latin = counts.get("Latin") ?? 0
  if (all === 0 || latin * 2 >= all) return undefined
  // Japanese mixes kana with Han.
  if ((counts.get("Kana") ?? 0) * 10 >= (counts.get("Han") ?? 0) && (counts.get("Kana") ?? 0) > 0) return "ja"
  const [script] = [...counts].filter(([, count]) => count > 0).sort(([, left], [, right]) => right - left)[0] ?? ["", 0]
  return byScript[script]?.(part) ?? undetermined
}

/** Whether a line is a sentence or more, not a heading, a name or a `key: value`. */
const isSentence = (line: string): boolean => {
  const text = line.trim()
  if (/[。！？]/u.test(text)) return true
  return /[.!?…»”"“)؟।]$/u.test(text) && text.split(/\s+/, 5).length >= 5 && !/^[^\s:][^:.!?]{0,48}:\s/u.test(text)
}

/** The lines of a text that are prose: what can be read only in a language that the extractor knows. */
export const proseOf = (text: string): string =>
  text
    .slice(0, detectedWithin)
    // A paragraph that is broken to a width is one line.
    .split(/\n\s*\n/)
    .flatMap((paragraph) => (isSentence(paragraph.replaceAll("\n", " ")) ? [paragraph] : paragraph.split("\n").filter(isSentence)))
    .join("\n")

const words = (text: string): number => text.match(/[\p{L}\p{M}]+/gu)?.length ?? 0

/** Prose of this many words that holds hardly any small word of a known language is in another. */
const telling = 40
const fewKnown = 0.03

export const detectLanguage = (text: string): string | undefined => {
  const script = languageOfScript(text)
  if (script !== undefined) return script
  const found = mostLikely(languageScores(text))
  if (found !== undefined) return found
  const prose = proseOf(text)
  const count = words(prose)
  if (count < telling) return undefined
  const known = [...prose.toLowerCase().matchAll(/[\p{L}\p{M}]+/gu)].filter(({ 0: word }) => weights.has(word)).length
  return known < count * fewKnown ? undetermined : undefined
}
