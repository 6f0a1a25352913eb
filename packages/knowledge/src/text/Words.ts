/**
 * Splits text into words and marks, each with its exact span in UTF-16 code units. A word keeps its hyphens and apostrophes,
 * the points of "U.S.A." and "v2.13", and the signs of "C++". `Intl.Segmenter` splits scripts written without spaces.
 */

export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly kind: "word" | "number" | "mark"
}

// Letters with their combining marks; inside a word also digits and single joining marks between two of them.
const pattern =
  /(?<date>\d{4}-\d\d(?:-\d\d)?(?![\p{L}\d-]))|(?<number>[$€£¥₹]?\d+(?:[.,]\d+)*(?:%|(?:st|nd|rd|th)\b)?(?![\p{L}\d]))|(?<initials>(?:\p{Lu}\.){2,}(?:\p{Lu}(?!\p{L}))?)|(?<word>[\p{L}\p{N}][\p{L}\p{M}\p{N}\u200c\u200d]*(?:['’‘ʼ_\-‐‑.&@][\p{L}\p{N}][\p{L}\p{M}\p{N}\u200c\u200d]*)*(?:\+{1,2}|#)?)|(?<mark>\p{RI}{2}|\p{Extended_Pictographic}(?:[\p{M}\p{Emoji_Modifier}]|\u200d\p{Extended_Pictographic})*|\S\p{M}*)/gu

const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

export const tokenize = (text: string, offset = 0): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  for (const match of text.matchAll(pattern)) {
    const found = match[0]
    const start = offset + match.index
    const { number, date, word } = match.groups ?? {}
    if (word !== undefined && unspaced.test(word)) tokens.push(...segmented(word, start))
    else if (word !== undefined && endsInPossessive(word)) tokens.push(...possessive(word, start))
    else if (number !== undefined || date !== undefined) tokens.push({ text: found, start, end: start + found.length, kind: "number" })
    else tokens.push({ text: found, start, end: start + found.length, kind: match.groups?.["mark"] === undefined ? "word" : "mark" })
  }
  return tokens
}

const endsInPossessive = (word: string): boolean => /['’]s$/i.test(word)

/** Splits "Dickens's" into the word and its ending, so that a name is also found in the possessive. */
const possessive = (word: string, start: number): ReadonlyArray<Token> => {
  const cut = start + word.length - 2
  return [
    { text: word.slice(0, -2), start, end: cut, kind: "word" },
    { text: word.slice(-2), start: cut, end: cut + 2, kind: "mark" },
  ]
}

const segmented = (run: string, start: number): ReadonlyArray<Token> =>
  [...new Intl.Segmenter("und", { granularity: "word" }).segment(run)].map(({ segment, index, isWordLike }) => ({
    text: segment,
    start: start + index,
    end: start + index + segment.length,
    kind: isWordLike === false ? "mark" : "word",
  }))

/** The form in which words are compared: compatibility forms, case and the kinds of apostrophes and hyphens make no difference. */
export const fold = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[’‘ʼ]/g, "'")
    .replace(/[‐‑–—_]/g, "-")

/** The lookup key of a label or name: its folded words with one space between. */
export const labelKey = (text: string): string =>
  tokenize(fold(text).replace(/-/g, " "))
    .filter((token) => token.kind !== "mark")
    .map((token) => token.text)
    .join(" ")

/** The form in which names are compared: without case, space and underscores. */
export const nameKey = (text: string): string => text.toLowerCase().replace(/[\s_]+/g, "")

// The function words of English, by class.

/** The words of a list. */
export const wordSet = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

export const determiners = wordSet("a an the this that these those its his her their our my your each every some any no both all another")

export const pronouns = wordSet("he she it they we i you him them us me who whom which what himself herself itself themselves")

export const prepositions = wordSet(`of in on at by for from to with as into onto over under about after before during between among through
  against within without upon via near around across behind beyond since until till towards toward along off out up down per than like
  including featuring alongside besides despite unlike amid throughout inside outside beneath beside`)

export const conjunctions = wordSet(
  "and or but nor so yet if when while because although though where whereas whether both either neither then",
)

export const auxiliaries =
  wordSet(`be is am are was were been being has have had having do does did will would shall should can could may might
  must not also only just very more most`)

const others =
  wordSet(`there here how why again further once such own same too s t now ever never always often usually later currently still
  well much many few several other others first last next new today yesterday tomorrow recently originally initially eventually finally
  meanwhile however therefore thus instead sometimes perhaps`)

/** Words that may stand inside a name but neither begin nor end it. */
export const nameConnectors =
  wordSet(`of the and for in on to de del della di da do dos das du des la le les el los las von van der den und y e
  et al bin ibn ben zu zum zur am im a an at from with by or 's n o' & vs v`)

/** Titles before the name of a person that are not part of it. */
export const titlesOfPersons =
  wordSet(`mr mrs ms miss sir lady lord dame dr doctor professor prof king queen prince princess emperor empress duke
  duchess count countess baron president chancellor minister senator governor mayor judge pope cardinal archbishop bishop father saint general
  admiral commodore captain major colonel lieutenant commander sergeant corporal private marshal officer chief coach`)

const all: ReadonlySet<string> = new Set([...determiners, ...pronouns, ...prepositions, ...conjunctions, ...auxiliaries, ...others])

export const isFunctionWord = (word: string): boolean => all.has(word)
