/** When two names are taken for one: the rules that look at two forms and need nothing else but how often words occur. */
import type { NameForm } from "./NameForm.ts"
import { editDistance, jaroWinkler } from "./Similarity.ts"

/** In these a letter is one of many in a word. In Han or Hangul a single character is a different word. */
const alphabets = new Set(["Latin", "Cyrillic", "Greek"])

/** Shorter words that differ in a letter are mostly different words: Maria and Mario. */
const shortestSlip = 6

/** A word that a slip may be in, and what stands around it. */
export interface WordSlot {
  readonly word: string
  readonly around: string
}

export const wordSlots = (form: NameForm): ReadonlyArray<WordSlot> => {
  if (!alphabets.has(form.script) || form.core.length > 6) return []
  return form.core.flatMap((word, index) =>
    mayHoldSlip(word) ? [{ word, around: [form.script, ...form.core.slice(0, index), "", ...form.core.slice(index + 1)].join(" ") }] : [],
  )
}

/** Numbers are never slips of each other. A word of a hundred letters is a text, not a name. */
const mayHoldSlip = (word: string) => word.length >= shortestSlip - 1 && word.length <= 40 && !/\p{N}/u.test(word)

/** One letter of one long word is other, missing, added or swapped, and not both spellings are in use. */
export const isSlip = (left: NameForm, right: NameForm, attested: ReadonlyMap<string, number>): boolean => {
  if (left.script !== right.script || left.core.length !== right.core.length || left.key === right.key) return false
  if (left.ending !== undefined && right.ending !== undefined && left.ending !== right.ending) return false
  const differing = left.core.flatMap((word, index) => (word === right.core[index] ? [] : [[word, right.core[index] ?? ""] as const]))
  const [pair] = differing
  if (pair === undefined || differing.length > 1) return false
  const [one, other] = pair
  if (!mayHoldSlip(one) || !mayHoldSlip(other) || Math.max(one.length, other.length) < shortestSlip || one[0] !== other[0]) return false
  if (Math.min(attested.get(one) ?? 0, attested.get(other) ?? 0) > 2) return false
  return editDistance(one, other, 1) === 1 && jaroWinkler(one, other) >= 0.9
}

/** "M. Lopez" and "M. E. Lopez" fit "Maria Elena Lopez"; "M. Lopez" does not fit "Maria". */
export const initialsFit = (short: NameForm, full: NameForm): boolean => {
  const [shortFirst, fullFirst] = [short.core[0] ?? "", full.core[0] ?? ""]
  if (short.core.at(-1) !== full.core.at(-1) || !standsFor(shortFirst, fullFirst)) return false
  const between = short.core.slice(1, -1)
  const fullBetween = full.core.slice(1, -1)
  if (between.length === 0) return fullBetween.length <= 1
  if (fullBetween.length === 0) return between.length === 1 && between[0]?.length === 1
  return between.length === fullBetween.length && between.every((word, index) => standsFor(word, fullBetween[index] ?? ""))
}

const standsFor = (short: string, full: string): boolean => short === full || (short.length === 1 && full.startsWith(short))

const unspoken = new Set("of the and for de la du des und der die das y et".split(" "))

/** What an acronym of the name would be, or the acronym itself; undefined where the name is too short to have one. */
export const firstLetters = (form: NameForm): string | undefined => {
  if (form.acronym) return form.key.replaceAll(" ", "")
  const spoken = form.core.filter((word) => !unspoken.has(word))
  return spoken.length < 3 ? undefined : spoken.map((word) => word[0]).join("")
}

/** A name that says too little to stand alone: one word, an acronym, or words of one letter. */
export const isShortForm = (form: NameForm): boolean =>
  form.core.length === 1 || form.acronym || (alphabets.has(form.script) && form.core.some((word) => word.length === 1))

/** Whether a short form may stand for a full name in the same text. */
export const fits = (short: NameForm, full: NameForm): boolean => {
  if (short.acronym) return firstLetters(short) === firstLetters(full)
  if (short.core.length === 1) return full.core.length < 4 && full.core.at(-1) === short.core[0]
  return initialsFit(short, full)
}
