/**
 * Takes an English word back to a root it shares with the words derived from it: director, directed, directs and direction
 * all give "direc". Labels of properties are nouns ("publisher"), texts use the verb ("was published by"), so ordinary
 * stemming of inflections alone would not bring them together. The root is a key for comparing, not a word.
 */
import { baseForm } from "./Verbs.ts"

export const stem = (word: string): string => {
  if (!/^[a-z][a-z'-]*$/.test(word) || word.length <= 3) return baseForm(word) ?? word
  const base = baseForm(word)
  if (base !== undefined) return root(base)
  return root(word.replace(/'s?$/, ""))
}

const root = (word: string): string => {
  const inflected = withoutInflection(word)
  // Twice, for words derived from derived words: publish, publisher.
  return closed(withoutDerivation(withoutDerivation(inflected)))
}

const withoutInflection = (word: string): string => {
  const single = withoutPlural(word)
  for (const ending of ["ing", "ed"]) {
    if (!single.endsWith(ending)) continue
    const rest = single.slice(0, -ending.length)
    // "string", "bed" and "red" have no verb before the ending; "used" and "aging" do.
    if (rest.length >= (/^[aeiou]/.test(rest) ? 2 : 3) && /[aeiouy]/.test(rest)) return undoubled(rest)
  }
  return single
}

/** "cities" is the same word as "city"; "citizen" is another, though it may share a root. */
export const withoutPlural = (word: string): string => {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`
  return /(?:s|x|z|ch|sh)es$/.test(word) ? word.slice(0, -2) : word.replace(/([^su])s$/, "$1")
}

/** The endings that make nouns and adjectives of verbs, longest first, each with the least that must be left of the word. */
const derivations: ReadonlyArray<readonly [ending: string, least: number]> = [
  ["ication", 4],
  ["isation", 4],
  ["ization", 4],
  ["ically", 4],
  ["ations", 3],
  ["ation", 3],
  ["ative", 3],
  ["atory", 3],
  ["ition", 5],
  ["ators", 3],
  ["ator", 3],
  ["ments", 4],
  ["ment", 4],
  ["ances", 4],
  ["ance", 4],
  ["ence", 4],
  ["ship", 4],
  ["ness", 4],
  ["able", 4],
  ["ible", 4],
  ["ants", 4],
  ["ant", 4],
  ["ents", 4],
  ["ent", 4],
  ["ions", 4],
  ["ion", 3],
  ["ive", 4],
  ["ers", 3],
  ["ors", 4],
  ["ists", 4],
  ["ist", 4],
  ["ism", 4],
  ["ess", 5],
  ["ees", 4],
  ["ee", 4],
  ["er", 3],
  ["or", 4],
  ["ish", 4],
  ["ify", 4],
  ["ise", 4],
  ["ize", 4],
  ["ate", 3],
  ["al", 4],
  ["ic", 4],
  ["ly", 4],
]

const withoutDerivation = (word: string): string => {
  for (const [ending, least] of derivations) {
    if (word.length - ending.length >= least && word.endsWith(ending)) return undoubled(word.slice(0, -ending.length))
  }
  return word
}

const undoubled = (word: string): string => (/([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word)

/** Evens out what is left: "creat", "create" and "cre"; "produc" and "product"; "story" and "stori". */
const closed = (word: string): string => {
  const open = word.length > 3 ? word.replace(/[eyi]$/, "") : word
  const short = open.length >= 5 && open.endsWith("at") ? open.slice(0, -2) : open
  return short.length >= 5 && short.endsWith("ct") ? short.slice(0, -1) : short
}
