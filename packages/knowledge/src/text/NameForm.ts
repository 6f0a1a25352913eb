/**
 * The normalised form in which names are compared: without case, accents of Latin letters, punctuation, titles and legal endings.
 * Letters of other scripts stay unchanged, so a form is never empty, and names in an unlisted script compare by their letters. The
 * rules that match two forms need only the forms and word frequencies.
 */

export interface NameForm {
  /** The words in the order of the name: equal keys are the same name. */
  readonly key: string
  readonly words: ReadonlyArray<string>
  /** The words without titles, legal endings and a leading article; all words if none remains. */
  readonly core: ReadonlyArray<string>
  /** The legal ending in its short form, if any: Acme Ltd and Acme GmbH are two companies, Acme Ltd and Acme Limited are one. */
  readonly ending: string | undefined
  /** The scripts of its letters: names in different scripts are never compared letter by letter. */
  readonly script: string
  /** Whether the name may be the acronym of a longer name. */
  readonly acronym: boolean
}

const titles = new Set("mr mrs ms miss dr prof professor sir dame lord lady rev hon herr frau mme mlle sr sra don".split(" "))
const endings = new Set("inc ltd llc plc corp co gmbh ag sa sas srl bv nv ab oy as kg kk pty limited incorporated corporation".split(" "))
const shortEndings: Readonly<Record<string, string>> = { limited: "ltd", incorporated: "inc", corporation: "corp" }

/** Latin letters that Unicode does not decompose into a base letter and an accent. */
const undecomposed: Readonly<Record<string, string>> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" }

const scripts: ReadonlyArray<readonly [string, RegExp]> = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Arabic", /\p{Script=Arabic}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Devanagari", /\p{Script=Devanagari}/u],
  // Japanese mixes these three in one name.
  ["Japanese", /\p{Script=Hiragana}|\p{Script=Katakana}/u],
  ["Han", /\p{Script=Han}/u],
  ["Hangul", /\p{Script=Hangul}/u],
]

const ascii = /^[\x20-\x7e]*$/
const acronymOf = /^\p{Lu}{3,6}$/u

export const nameForm = (name: string): NameForm => {
  const isAscii = ascii.test(name)
  const folded = isAscii ? name.toLowerCase() : fold(name)
  const words = splitWords(folded)
  const ordered = name.includes(",") ? surnameFirst(folded, words) : words
  const ending = ordered.length > 1 ? ordered.findLast((word) => endings.has(word)) : undefined
  const core = ordered.filter((word, index) => !titles.has(word) && word !== ending && !(index === 0 && word === "the"))
  return {
    key: ordered.join(" "),
    words: ordered,
    core: core.length === 0 ? ordered : core,
    ending: ending === undefined ? undefined : (shortEndings[ending] ?? ending),
    script: isAscii ? "Latin" : scriptOf(name),
    acronym: acronymOf.test(name.replaceAll(".", "")),
  }
}

const fold = (name: string): string => {
  const lower = name.normalize("NFKC").toLowerCase()
  if (!/\p{Script=Latin}/u.test(lower)) return lower
  const apart = lower.normalize("NFD").replace(/(\p{Script=Latin})\p{M}+/gu, "$1")
  return apart.normalize("NFC").replace(/[ßæœøłđðþı]/g, (letter) => undecomposed[letter] ?? letter)
}

/** Apostrophes are dropped (O'Neill = ONeill); every other character that is neither letter, mark nor number separates words. */
const splitWords = (folded: string): ReadonlyArray<string> => {
  const words = folded
    .replace(/['’ʼ`]/g, "")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "")
  // A name of symbols only is compared unchanged.
  return words.length === 0 ? [folded.trim()] : words
}

/** "Lopez, Maria" becomes Maria Lopez; "Acme, Inc." and "Paris, London, Rome" keep their order. */
const surnameFirst = (folded: string, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const parts = folded.split(",")
  const [surname = "", given = ""] = parts
  if (parts.length !== 2) return words
  const after = splitWords(given)
  const before = splitWords(surname)
  const turns = given.trim() !== "" && before.length <= 2 && after.length <= 2 && !after.some((word) => endings.has(word))
  return turns ? [...after, ...before] : words
}

const scriptOf = (name: string): string => {
  const found = scripts.filter(([, pattern]) => pattern.test(name)).map(([script]) => script)
  return found.length === 0 ? "Other" : found.join("+")
}

/** Scripts in which one letter may be a typo. In Han or Hangul, a different character makes a different word. */
const alphabets = new Set(["Latin", "Cyrillic", "Greek"])

/** Shorter words that differ in one letter are mostly different words: Maria and Mario. */
const shortestSlip = 6

/** A word that may contain a typo, and the other words of the name. */
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

/** Numbers are never typos of each other. Words of more than 40 letters are not names. */
const mayHoldSlip = (word: string) => word.length >= shortestSlip - 1 && word.length <= 40 && !/\p{N}/u.test(word)

/** Whether the names differ by one edit (a swap of neighbours counts as one) in one long word, of which one spelling is rare. */
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

/** "M. Lopez" and "M. E. Lopez" match "Maria Elena Lopez"; "M. Lopez" does not match "Maria". */
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

/** The acronym of the name, or the name itself if it is an acronym; undefined if the name is too short to have one. */
export const firstLetters = (form: NameForm): string | undefined => {
  if (form.acronym) return form.key.replaceAll(" ", "")
  const spoken = form.core.filter((word) => !unspoken.has(word))
  return spoken.length < 3 ? undefined : spoken.map((word) => word[0]).join("")
}

/** Whether the name is too ambiguous on its own: one word, an acronym, or with words of one letter. */
export const isShortForm = (form: NameForm): boolean =>
  form.core.length === 1 || form.acronym || (alphabets.has(form.script) && form.core.some((word) => word.length === 1))

/** Whether a short form may stand for a full name in the same text. */
export const fits = (short: NameForm, full: NameForm): boolean => {
  if (short.acronym) return firstLetters(short) === firstLetters(full)
  if (short.core.length === 1) return full.core.length < 4 && full.core.at(-1) === short.core[0]
  return initialsFit(short, full)
}

// Similarity of two words. Both functions work on UTF-16 code units and allocate once per call.

/** Edit distance in which a swap of neighbours counts as one edit; `limit + 1` for any distance above `limit`. */
export const editDistance = (left: string, right: string, limit: number): number => {
  if (left === right) return 0
  const rows = left.length
  const columns = right.length
  if (Math.abs(rows - columns) > limit) return limit + 1
  const width = columns + 1
  const cells = new Uint16Array(width * (rows + 1))
  for (let row = 0; row <= rows; row++) cells[row * width] = row
  for (let column = 0; column <= columns; column++) cells[column] = column
  const at = (row: number, column: number) => cells[row * width + column] ?? 0
  for (let row = 1; row <= rows; row++) {
    let least = limit + 1
    for (let column = 1; column <= columns; column++) {
      const same = left.charCodeAt(row - 1) === right.charCodeAt(column - 1)
      let distance = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (same ? 0 : 1))
      const swapped =
        row > 1 &&
        column > 1 &&
        left.charCodeAt(row - 1) === right.charCodeAt(column - 2) &&
        left.charCodeAt(row - 2) === right.charCodeAt(column - 1)
      if (swapped) distance = Math.min(distance, at(row - 2, column - 2) + 1)
      cells[row * width + column] = distance
      least = Math.min(least, distance)
    }
    if (least > limit) return limit + 1
  }
  return Math.min(at(rows, columns), limit + 1)
}

/** Jaro-Winkler similarity, from 0 to 1: the share of letters that match at nearby positions, with a bonus for a common prefix. */
const jaroWinkler = (left: string, right: string): number => {
  if (left === right) return 1
  if (left.length === 0 || right.length === 0) return 0
  const reach = Math.max(0, Math.floor(Math.max(left.length, right.length) / 2) - 1)
  const matchedLeft: Array<number> = []
  const taken = new Uint8Array(right.length)
  for (let index = 0; index < left.length; index++) {
    const until = Math.min(right.length, index + reach + 1)
    for (let other = Math.max(0, index - reach); other < until; other++) {
      if (taken[other] === 1 || left.charCodeAt(index) !== right.charCodeAt(other)) continue
      taken[other] = 1
      matchedLeft.push(index)
      break
    }
  }
  const matches = matchedLeft.length
  if (matches === 0) return 0
  let swaps = 0
  let next = 0
  for (let other = 0; other < right.length; other++) {
    if (taken[other] !== 1) continue
    if (left.charCodeAt(matchedLeft[next] ?? 0) !== right.charCodeAt(other)) swaps++
    next++
  }
  const jaro = (matches / left.length + matches / right.length + (matches - swaps / 2) / matches) / 3
  return jaro + commonPrefix(left, right) * 0.1 * (1 - jaro)
}

const commonPrefix = (left: string, right: string): number => {
  const most = Math.min(4, left.length, right.length)
  let length = 0
  while (length < most && left.charCodeAt(length) === right.charCodeAt(length)) length++
  return length
}
