/**
 * A name in the form in which names are compared: without case, accents of Latin letters, punctuation, titles and legal
 * endings. Letters of other scripts stay as they are: a form is never empty because its script is unfamiliar, so two names
 * in one unfamiliar script are as different as their letters.
 */

export interface NameForm {
  /** The words in the order of the name: equal keys are the same name. */
  readonly key: string
  readonly words: ReadonlyArray<string>
  /** The words without titles, legal endings and a leading article; all of them where nothing else is left. */
  readonly core: ReadonlyArray<string>
  /** The legal ending, if there is one: Acme Ltd and Acme GmbH are two companies. */
  readonly ending: string | undefined
  /** The scripts of its letters: names in different scripts are never compared letter by letter. */
  readonly script: string
  /** Whether it may stand for the first letters of a longer name. */
  readonly acronym: boolean
}

const titles = new Set("mr mrs ms miss dr prof professor sir dame lord lady rev hon herr frau mme mlle sr sra don".split(" "))
const endings = new Set("inc ltd llc plc corp co gmbh ag sa sas srl bv nv ab oy as kg kk pty limited incorporated corporation".split(" "))

/** Latin letters that do not come apart into a letter and an accent. */
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
    ending,
    script: isAscii ? "Latin" : scriptOf(name),
    acronym: acronymOf.test(name.replaceAll(".", "")),
  }
}

const fold = (name: string): string => {
  const lower = name.normalize("NFKC").toLowerCase()
  if (!/\p{Script=Latin}/u.test(lower)) return lower
  const apart = lower.normalize("NFD").replace(/(?<=\p{Script=Latin}\p{M}*)\p{M}/gu, "")
  return apart.normalize("NFC").replace(/[ßæœøłđðþı]/g, (letter) => undecomposed[letter] ?? letter)
}

/** Apostrophes belong to the word (O'Neill = ONeill); everything else that is neither letter, mark nor number parts words. */
const splitWords = (folded: string): ReadonlyArray<string> => {
  const words = folded
    .replace(/['’ʼ`]/g, "")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "")
  // A name of symbols only is compared as it stands.
  return words.length === 0 ? [folded.trim()] : words
}

/** "Lopez, Maria" is Maria Lopez; "Acme, Inc." and "Paris, London, Rome" are left in order. */
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
