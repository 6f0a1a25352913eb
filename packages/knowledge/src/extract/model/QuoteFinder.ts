/**
 * Finds quoted words in a text. What a model quotes has to be there to the letter; only white space may differ, since models
 * mend line breaks, and then the place is that of the letters in the text.
 */
import type { Span } from "../Fact.ts"

export class QuoteFinder {
  readonly #text: string
  #collapsed: Collapsed | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** Every place where the words stand as words, in order. */
  findAll(quote: string): ReadonlyArray<Span> {
    const words = quote.trim()
    if (words === "") return []
    const exact = occurrences(this.#text, words).filter((span) => standsAlone(this.#text, span))
    if (exact.length > 0) return exact
    this.#collapsed ??= collapse(this.#text)
    const { text, origin } = this.#collapsed
    return occurrences(text, words.replace(/\s+/gu, " "))
      .map(({ start, end }) => ({ start: origin[start]!, end: origin[end - 1]! + 1 }))
      .filter((span) => standsAlone(this.#text, span))
  }
}

interface Collapsed {
  /** With one space for every stretch of white space. */
  readonly text: string
  /** Where each of its characters stands in the original. */
  readonly origin: ReadonlyArray<number>
}

const collapse = (text: string): Collapsed => {
  const parts: Array<string> = []
  const origin: Array<number> = []
  for (const { 0: part, index } of text.matchAll(/\s+|\S+/gu)) {
    const isSpace = /^\s/u.test(part)
    parts.push(isSpace ? " " : part)
    for (let offset = 0; offset < (isSpace ? 1 : part.length); offset++) origin.push(index + offset)
  }
  return { text: parts.join(""), origin }
}

const occurrences = (text: string, words: string): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  for (let start = text.indexOf(words); start !== -1; start = text.indexOf(words, start + 1))
    found.push({ start, end: start + words.length })
  return found
}

/** "Ada" does not stand in "Canada". Scripts that write no spaces between words have no such ends. */
const standsAlone = (text: string, { start, end }: Span): boolean => !joins(text, start) && !joins(text, end)

const joins = (text: string, at: number): boolean => {
  const before = /[\p{L}\p{M}\p{N}]$/u.exec(text.slice(Math.max(0, at - 2), at))?.[0]
  const after = /^[\p{L}\p{M}\p{N}]/u.exec(text.slice(at, at + 2))?.[0]
  return before !== undefined && after !== undefined && !unspaced.test(before) && !unspaced.test(after)
}

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}]/u
