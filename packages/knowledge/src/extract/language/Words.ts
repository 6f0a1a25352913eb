/**
 * Splits text into words and marks, each with its exact place in UTF-16 code units. A word keeps what belongs to it:
 * hyphens, apostrophes, the points of "U.S.A." and "v2.13", the sign of "C++". Scripts written without spaces are split by
 * the segmenter of the platform.
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

/** "Dickens's" is the word and its ending, so that a name is found whether it owns something or not. */
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

/** How words are compared: compatible forms, case and the kinds of apostrophes and hyphens make no difference. */
export const fold = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[’‘ʼ]/g, "'")
    .replace(/[‐‑–—_]/g, "-")

/** A label or name as the key it is looked up by: its folded words with one space between. */
export const labelKey = (text: string): string =>
  tokenize(fold(text).replace(/-/g, " "))
    .filter((token) => token.kind !== "mark")
    .map((token) => token.text)
    .join(" ")

/** How names are compared: without case, space and underscores. */
export const nameKey = (text: string): string => text.toLowerCase().replace(/[\s_]+/g, "")
