/** A sentence as the extractor sees it: its tokens, their folded words and stems, and the extent of brackets and quotations. */

import { type FoundDate, findDates } from "../../text/Dates.ts"
import { isVerbLike, stem } from "../../text/Stem.ts"
import { determiners, fold, isFunctionWord, type Token, tokenize } from "../../text/Words.ts"
import { type Clauses, readClauses } from "../language/Clauses.ts"

export interface SentenceView {
  readonly text: string
  /** The offset of the sentence in the document. Token positions are offsets in the document, too. */
  readonly offset: number
  readonly tokens: ReadonlyArray<Token>
  /** The folded text of each token. */
  readonly words: ReadonlyArray<string>
  readonly stems: ReadonlyArray<string>
  /** Whether each token begins with a capital letter. */
  readonly capital: ReadonlyArray<boolean>
  /** Whether each token is a content word, not a function word or a mark. */
  readonly content: ReadonlyArray<boolean>
  /** The bracket depth of each token. */
  readonly depth: ReadonlyArray<number>
  readonly dates: ReadonlyArray<FoundDate>
  readonly clauses: Clauses
  /** The first and last token between quotation marks. */
  readonly quotations: ReadonlyArray<readonly [number, number]>
  /** The first token that is not a mark; -1 when there is none. */
  readonly begin: number
  /** The first and last token of the noun phrase that says what something is: "tennis player" in "is a tennis player from Oslo". */
  readonly predicate: readonly [number, number] | undefined
}

export const viewSentence = (text: string, offset = 0): SentenceView => {
  const tokens = tokenize(text, offset)
  const words = tokens.map((token) => fold(token.text))
  const capital = capitalsOf(text, tokens)
  const begin = tokens.findIndex((token) => token.kind !== "mark")
  return {
    text,
    offset,
    tokens,
    words,
    stems: words.map(stem),
    capital,
    content: tokens.map((token, at) => token.kind === "word" && !isFunctionWord(words[at] ?? "")),
    depth: depths(tokens),
    dates: findDates(tokens),
    clauses: readClauses(words, capital),
    quotations: quotationsOf(tokens),
    begin,
    predicate: predicateOf(words, capital),
  }
}

const longestPredicate = 14
const endOfPredicate = /^(?:of|by|in|on|at|to|with|as|that|which|who|whose|from|for|and|or|,|;|\.|\(|is|was)$/

const predicateOf = (words: ReadonlyArray<string>, capital: ReadonlyArray<boolean>): readonly [number, number] | undefined => {
  const is = words.findIndex((word, at) => /^(?:is|was|are|were)$/.test(word) && determiners.has(words[at + 1] ?? ""))
  if (is === -1) return undefined
  const begin = is + 2
  let end = begin
  while (
    end < words.length &&
    end < begin + longestPredicate &&
    !endOfPredicate.test(words[end]!) &&
    (capital[end] || !isVerbLike(words[end]!))
  )
    end++
  return end === begin ? undefined : [begin, end - 1]
}

/** The text from one token to another, exactly as in the document. */
export const textBetween = (view: SentenceView, first: number, last: number): string =>
  view.text.slice((view.tokens[first]?.start ?? view.offset) - view.offset, (view.tokens[last]?.end ?? view.offset) - view.offset)

/** In a sentence with lower-case letters, a word of a script without case counts as capitalised: it is a name. So does "d'Or". */
const capitalsOf = (text: string, tokens: ReadonlyArray<Token>): ReadonlyArray<boolean> => {
  const pattern = /\p{Ll}/u.test(text) ? /^(?:\p{Ll}['’])?[\p{Lu}\p{Lt}\p{Lo}]/u : /^[\p{Lu}\p{Lt}]/u
  return tokens.map((token) => token.kind !== "mark" && pattern.test(token.text))
}

const depths = (tokens: ReadonlyArray<Token>): ReadonlyArray<number> => {
  let depth = 0
  return tokens.map(({ text }) => {
    if (text === "(" || text === "[") return depth++
    if (text === ")" || text === "]") depth = Math.max(0, depth - 1)
    return depth
  })
}

const closing: Readonly<Record<string, string>> = { '"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’" }

const quotationsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<readonly [number, number]> => {
  const found: Array<readonly [number, number]> = []
  for (let at = 0; at < tokens.length; at++) {
    const close = closing[tokens[at]?.text ?? ""]
    if (close === undefined) continue
    const end = tokens.findIndex((token, index) => index > at && token.text === close)
    if (end <= at + 1) continue
    found.push([at + 1, end - 1])
    at = end
  }
  return found
}
