/**
 * How the words of a text are indexed and searched on PostgreSQL. The vector is built from the words of `wordsOf`: PostgreSQL's own
 * parser splits addresses and numbers differently, and a search would find other items than on SQLite.
 *
 * A vector stores at most 255 positions of a word, positions up to 16,383, words of up to 2,046 bytes and 1 MB in all. The vector of a
 * short text has the positions of its words, by which phrases are found. A text that exceeds a limit is long: its vector has each word
 * once without positions and the mark `=long`, and a second column has the words in their order, as text, in which phrases are found.
 */
import { type SearchTerm, wordsOf } from "../SearchText.ts"

const limits = {
  /** The positions of one word. */
  occurrences: 255,
  /** The positions of a text. */
  positions: 16_383,
  /** The letters of one word: a letter has up to 4 bytes. */
  letters: 500,
  /** The bytes of the words of a short text: its positions take up to 4 bytes for each word besides. */
  shortBytes: 500_000,
  /** The bytes of the indexed words and tokens of an item. Words after that are not found. */
  bytes: 1_000_000,
  /** The tokens of an item. Later ones are not found. */
  tokens: 10_000,
}

export interface TextVector {
  /** The text of a `tsvector` with words and tokens. */
  readonly search: string
  /** The words of a long text in their order, as the text of a `tsvector` (see {@link sequenceOf}); null for a short text. */
  readonly sequence: string | null
}

/** No word begins with =, so no search for a word finds a token or the mark. */
const tokenLexeme = (token: string): string => `'=${token}'`

const longMark = "'=long'"

/** Words have only letters and digits, so quoting them is enough. */
const lexeme = (word: string): string => `'${word}'`

export const vectorOf = (text: string, given: ReadonlyArray<string> = []): TextVector => {
  const tokens = [...new Set(given)].slice(0, limits.tokens).map(tokenLexeme)
  const { words, isLong } = indexedWords(
    wordsOf(text),
    tokens.reduce((sum, token) => sum + token.length, 0),
  )
  if (isLong) {
    const different = [...new Set(words.map(cut))].map(lexeme)
    return { search: [...different, longMark, ...tokens].join(" "), sequence: sequenceOf(words) }
  }
  return { search: [...words.map((word, index) => `${lexeme(word)}:${index + 1}`), ...tokens].join(" "), sequence: null }
}

const indexedWords = (
  all: ReadonlyArray<string>,
  tokenBytes: number,
): { readonly words: ReadonlyArray<string>; readonly isLong: boolean } => {
  // Nearly all texts: whatever their letters are, they exceed no limit.
  if (all.length <= limits.occurrences && !all.some(isCut)) return { words: all, isLong: false }
  const counts = new Map<string, number>()
  let bytes = tokenBytes
  let isLong = all.length > limits.positions
  for (const [index, word] of all.entries()) {
    bytes += Buffer.byteLength(word) + 1
    if (bytes > limits.bytes) return { words: all.slice(0, index), isLong: true }
    const count = (counts.get(word) ?? 0) + 1
    counts.set(word, count)
    if (count > limits.occurrences || isCut(word)) isLong = true
  }
  return { words: all, isLong: isLong || bytes > limits.shortBytes }
}

/** The entry of a word in a vector: of a long one, its beginning and a + that no other word has. It never ends with half a surrogate pair. */
const cut = (word: string): string => (isCut(word) ? `${word.slice(0, limits.letters).replace(/[\ud800-\udbff]$/, "")}+` : word)

const isCut = (word: string): boolean => word.length > limits.letters

const pieceLetters = 600

/**
 * The words, with a space before and after each, as numbered pieces that are entries of a vector. The type tells a copy of the database
 * that the column is rebuilt from the item, like every vector.
 */
const sequenceOf = (words: ReadonlyArray<string>): string => {
  const text = ` ${words.join(" ")} `
  const pieces: Array<string> = []
  for (let from = 0; from < text.length; ) {
    const piece = text.slice(from, from + pieceLetters).replace(/[\ud800-\udbff]$/, "")
    pieces.push(`'${String(pieces.length).padStart(pieceDigits, "0")}${piece}'`)
    from += piece.length
  }
  return pieces.join(" ")
}

const pieceDigits = 6

/** The SQL of the text that the column `sequence` of the item `i` has. */
export const sequenceText = `(select string_agg(substr(lexeme, ${pieceDigits + 1}), '' order by lexeme collate "C") from unnest(i.sequence))`

/** A search of the vector, and what the words of a long text must have or not have in their order. */
export interface VectorQuery {
  /** The text of a `tsquery`; empty if it has no condition. */
  readonly query: string
  readonly sequences: ReadonlyArray<{ readonly text: string; readonly excluded: boolean }>
}

export const queryOf = (terms: ReadonlyArray<SearchTerm>, tokens: ReadonlyArray<string>): VectorQuery => ({
  query: [...terms.flatMap(conditionOf), ...tokens.map(tokenLexeme)].join(" & "),
  sequences: terms.filter(isSequence).map(({ words, prefix, excluded }) => ({ text: ` ${words.join(" ")}${prefix ? "" : " "}`, excluded })),
})

/** Whether the vector of a long text does not decide the term: it has no positions, and only the beginnings of long words. */
const isSequence = ({ words }: SearchTerm): boolean => words.length > 1 || words.some(isCut)

const conditionOf = (term: SearchTerm): ReadonlyArray<string> => {
  const { words, prefix, excluded } = term
  const quoted = words.map((word, index) => `${lexeme(cut(word))}${prefix && index === words.length - 1 ? ":*" : ""}`)
  if (!isSequence(term)) return [`${excluded ? "!" : ""}${quoted.join("")}`]
  // No short text has a word that is cut.
  const short = words.some(isCut) ? [] : [`(${quoted.join(" <-> ")})`]
  if (excluded) return short.map((phrase) => `!${phrase}`)
  return [`(${[...short, `(${[longMark, ...quoted].join(" & ")})`].join(" | ")})`]
}
