/**
 * The sentences of a document, and its chunks of whole sentences. The end of a sentence is found from a bounded context around each
 * candidate, so that a document of any size can be read piece by piece and gives the same sentences however it is cut into pieces.
 */
import * as Stream from "effect/Stream"
import type { Span } from "../fact/Fact.ts"
import { isFunctionWord } from "../text/Words.ts"
import type { Chunk } from "./Chunk.ts"

/** A sentence is cut here at the latest, in UTF-16 code units. */
const longestSentence = 2000

/** How much text after a candidate is needed to decide whether the sentence ends there. */
const lookAhead = 64

/** Full stops, question and exclamation marks of many scripts, and the quotation marks and brackets that may follow them. */
const ends = /[.!?…‥。．！？｡؟۔।॥።፧։៕၊။᙮]/u
const stopsWithoutSpace = /[。．！？｡]/u
const closers = /["'”’»›)\]）】」』〉》]/u
const space = /\s/

/**
 * Where the sentence that begins at `start` ends, exclusively, without the space after it. Undefined when that depends on
 * text that has not arrived yet; with `final`, no more text arrives.
 */
const sentenceEnd = (text: string, start: number, final: boolean): number | undefined => {
  const limit = start + longestSentence
  const isLine = /^(?:#{1,6}\s|\|)/.test(text.slice(start, start + 8))
  let lineStart = start
  for (let at = start; at < text.length; at++) {
    if (!final && at + lookAhead >= text.length) return undefined
    if (at >= limit) return forcedEnd(text, start, limit)
    const code = text.charCodeAt(at)
    if (code === 10) {
      if (isLine || isParagraphEnd(text, at) || isShortLine(text, lineStart, at)) return trimmedEnd(text, start, at)
      lineStart = at + 1
    }
    // Most characters are letters, and no letter ends a sentence.
    if (isPlainLetter(code)) continue
    const character = text[at] ?? ""
    if (!ends.test(character)) continue
    const close = afterClosers(text, at + 1)
    if (isBoundary(text, start, at, close, character)) return close
    at = close - 1
  }
  return final ? trimmedEnd(text, start, text.length) : undefined
}

const isPlainLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 32

/** Whether a paragraph ends at a line break: an empty line, a list item, a heading or a table row follows. */
const isParagraphEnd = (text: string, newline: number): boolean =>
  /^\n(?:[^\S\n]*\n|[^\S\n]*(?:[-*•+]\s|\d{1,3}[.)]\s|#{1,6}\s|\|))/.test(text.slice(newline, newline + lookAhead))

/** Wrapped text fills its lines; a shorter line before a capital letter stands by itself: a title, an address. */
const shortLine = 32

const isShortLine = (text: string, lineStart: number, newline: number): boolean => {
  if (newline - lineStart >= shortLine) return false
  const lastWord = text.slice(lineStart, newline).trim().split(/\s/).at(-1) ?? ""
  const isContinued = /[,;&–-]$/.test(lastWord) || isFunctionWord(lastWord)
  return !isContinued && /^\n[^\S\n]*["“‘(]?[\p{Lu}\p{Lo}\p{N}]/u.test(text.slice(newline, newline + 16))
}

const trimmedEnd = (text: string, start: number, end: number): number => {
  let at = end
  while (at > start && space.test(text[at - 1] ?? "")) at--
  return at
}

const mostClosers = 16

/** Skips further end marks and closing marks: `?!`, `...`, `."`, `.)`. */
const afterClosers = (text: string, from: number): number => {
  let at = from
  while (at < text.length && at - from < mostClosers && (ends.test(text[at] ?? "") || closers.test(text[at] ?? ""))) at++
  return at
}

const isBoundary = (text: string, start: number, mark: number, close: number, character: string): boolean => {
  if (close >= text.length) return true
  // 「はい。」と言った: the quoted sentence ends inside, the outer one continues.
  if (stopsWithoutSpace.test(character)) return !/[」』]/.test(text[close - 1] ?? "") || !/\p{L}/u.test(text[close] ?? "")
  if (!space.test(text[close] ?? "")) return false
  const next = nextWord(text, close)
  if (next === "") return true
  if (character !== "." || close > mark + 1) return !beginsSmall(next)
  return !beginsSmall(next) && !isAbbreviation(text, start, mark, next)
}

/** The next word without opening marks; empty when only white space follows, which is an end as well. */
const nextWord = (text: string, from: number): string =>
  /^\s*["'“‘«‹([（【「『¿¡*_]*(\S{1,24})/.exec(text.slice(from, from + lookAhead - mostClosers - 2))?.[1] ?? ""

const beginsSmall = (word: string): boolean => /^[\p{Ll}\p{Pd},;:]/u.test(word)

/** Abbreviations that never end a sentence. */
const openAbbreviations = new Set(
  `mr mrs ms dr prof st mt ft rev hon gov sen rep gen col lt sgt capt maj cmdr adm pres supt vs viz cf no nos vol vols pp p ed eds
  fig figs ch sec art approx ca c dept est al op trans nr bzw ca z d str sr sra mme mlle fr hr e.g i.e u.a z.b d.h`.split(/\s+/),
)

/** Abbreviations that may end a sentence: the next word decides. */
const closingAbbreviations = new Set(
  `inc ltd co corp jr sr bros etc esq a.m p.m am pm b.c a.d ph.d m.d b.a m.a d.c u.s u.k u.n e.u u.s.a jan feb mar apr jun jul aug sep
  sept oct nov dec mon tue wed thu fri sat sun ave blvd rd usw`.split(/\s+/),
)

/** Words that begin sentences far more often than names. */
const openers = new Set(
  `the a an he she it they we i you this that these those his her its their our in on at by for from with after before during when while
  as if although however but and or so then there here what who why how since because also`.split(/\s+/),
)

const longestAbbreviation = 24

/** The letters, digits and points before an offset. With a pattern anchored at the end instead, chunking ran at 22 MB/s, not 45. */
const wordBefore = (text: string, start: number, end: number): string => {
  let at = end
  while (at > start && end - at < longestAbbreviation && isWordPart(text.charCodeAt(at - 1))) at--
  return text.slice(at, end)
}

const isWordPart = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  code === 46 ||
  (code >= 48 && code <= 57) ||
  (code > 127 && /[\p{L}\p{M}\p{N}]/u.test(String.fromCharCode(code)))

const germanMonth = /^(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)(?!\p{L})/u

const isAbbreviation = (text: string, start: number, mark: number, next: string): boolean => {
  const word = wordBefore(text, start, mark)
  const folded = word.toLowerCase()
  // "J. R. Smith", but not the end of "vitamin C."
  if (/^\p{Lu}$/u.test(word)) return !openers.has(next.toLowerCase())
  if (openAbbreviations.has(folded)) return true
  const initials = /^(?:\p{L}\.)+\p{L}$/u.test(word)
  if (closingAbbreviations.has(folded) || initials) return !openers.has(next.toLowerCase().replace(/(?<![^\p{L}])[^\p{L}]+$/u, ""))
  // "am 3. Oktober", and a number at the beginning of a line: both are ordinals.
  return /^\d{1,3}$/.test(word) && (mark - word.length === start || germanMonth.test(next))
}

/** A character with more combining marks or joined emoji than this, in UTF-16 code units, may be split. */
const longestCharacter = 64

/** The last space before the limit; without one, the last offset that splits no grapheme cluster. */
const forcedEnd = (text: string, start: number, limit: number): number => {
  for (let at = limit; at > start + longestSentence / 2; at--) if (space.test(text[at] ?? "")) return trimmedEnd(text, start, at)
  for (let at = limit; at > limit - longestCharacter; at--) if (!continuesCharacter(text, at)) return at
  return isInPair(text, limit) ? limit - 1 : limit
}

/** Whether the offset `at` is inside a surrogate pair, before a combining mark, or inside a joined emoji. */
const continuesCharacter = (text: string, at: number): boolean => {
  if (isInPair(text, at)) return true
  const character = String.fromCodePoint(text.codePointAt(at) ?? 32)
  return /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)$/u.test(character) || text.charCodeAt(at - 1) === 0x200d
}

const isInPair = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff && isHighSurrogate(text.charCodeAt(at - 1))
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/** The exact spans of the sentences of a text. Together they cover everything but the space between them. */
export const splitSentences = (text: string): ReadonlyArray<Span> => {
  const sentences: Array<Span> = []
  let start = skipSpace(text, 0)
  while (start < text.length) {
    const end = sentenceEnd(text, start, true) ?? text.length
    sentences.push({ start, end })
    start = skipSpace(text, end)
  }
  return sentences
}

const skipSpace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && /\s/.test(text[at] ?? "")) at++
  return at
}

// Chunks: overlapping windows of whole sentences, each with its exact offset in the document. Works on a stream as well as on a string,
// holds no more of the document than one window and the latest piece, and returns the same chunks however the stream is cut into pieces.

export interface ChunkingOptions {
  /** How many UTF-16 code units a chunk has at most. */
  readonly size?: number
  /** How many of them, at most, repeat the end of the previous chunk. */
  readonly overlap?: number
}

const defaultSize = 4000
const defaultOverlap = 400

/** The effective sizes: a chunk holds at least one sentence, and an overlap leaves room for new text. */
const sizesOf = (options: ChunkingOptions) => {
  const size = Math.max(longestSentence, Math.floor(options.size ?? defaultSize))
  const overlap = Math.min(Math.max(0, Math.floor(options.overlap ?? defaultOverlap)), Math.floor(size / 2))
  return { size, overlap }
}

export const chunkText = (text: string, options: ChunkingOptions = {}): ReadonlyArray<Chunk> => {
  const chunker = new Chunker(options)
  return [...chunker.push(text), ...chunker.end()]
}

export const chunkStream =
  (options: ChunkingOptions = {}) =>
  <E, R>(pieces: Stream.Stream<string, E, R>): Stream.Stream<Chunk, E, R> =>
    pieces.pipe(
      // One piece at a time: pieces that arrive together would be chunked together, and all of them held at once.
      Stream.rechunk(1),
      Stream.mapAccumArray(
        () => new Chunker(options),
        (chunker, arrived) => [chunker, arrived.flatMap((piece) => [...chunker.push(piece)])] as const,
        { onHalt: (chunker) => [...chunker.end()] },
      ),
    )

/** The state of a `Chunker` between two pieces, with which another one resumes. */
export interface ChunkerState {
  readonly text: string
  readonly textStart: number
  readonly next: number
  readonly window: ReadonlyArray<Span>
  readonly repeated: number
  readonly index: number
}

/** One document, fed piece by piece. */
export class Chunker {
  private readonly size: number
  private readonly overlap: number
  /** The part of the document that is still needed, and where it begins. */
  private text = ""
  private textStart = 0
  /** Where the next sentence begins, in `text`. */
  private next = 0
  /** The sentences of the window that is being filled, as spans of the document. */
  private window: Array<Span> = []
  /** How many sentences of the window were already in the previous one. */
  private repeated = 0
  private index = 0

  constructor(options: ChunkingOptions = {}, resumed?: ChunkerState) {
    const { size, overlap } = sizesOf(options)
    this.size = size
    this.overlap = overlap
    if (resumed === undefined) return
    this.text = resumed.text
    this.textStart = resumed.textStart
    this.next = resumed.next
    this.window = [...resumed.window]
    this.repeated = resumed.repeated
    this.index = resumed.index
  }

  get state(): ChunkerState {
    const { text, textStart, next, window, repeated, index } = this
    return { text, textStart, next, window, repeated, index }
  }

  push(piece: string): ReadonlyArray<Chunk> {
    this.text += piece
    return this.take(false)
  }

  end(): ReadonlyArray<Chunk> {
    const chunks = this.take(true)
    if (this.window.length === this.repeated) return chunks
    const last = this.emit()
    this.window = []
    this.repeated = 0
    return [...chunks, last]
  }

  private take(final: boolean): ReadonlyArray<Chunk> {
    const chunks: Array<Chunk> = []
    for (;;) {
      this.next = skipSpace(this.text, this.next)
      if (this.next >= this.text.length) break
      const end = sentenceEnd(this.text, this.next, final)
      if (end === undefined) break
      const sentence = { start: this.textStart + this.next, end: this.textStart + end }
      const [first] = this.window
      if (first !== undefined && sentence.end - first.start > this.size) {
        chunks.push(this.emit())
        this.slide(sentence)
      }
      this.window.push(sentence)
      this.next = end
    }
    this.forget()
    return chunks
  }

  private emit(): Chunk {
    const offset = this.window[0]?.start ?? this.textStart
    const end = this.window.at(-1)?.end ?? offset
    return { index: this.index++, offset, text: this.text.slice(offset - this.textStart, end - this.textStart) }
  }

  /** Keeps the last sentences within the overlap, as far as the coming sentence still fits. */
  private slide(coming: Span) {
    const end = this.window.at(-1)?.end ?? coming.start
    const kept = this.window.filter(({ start }) => end - start <= this.overlap && coming.end - start <= this.size)
    this.window = kept
    this.repeated = kept.length
  }

  private forget() {
    const needed = this.window[0]?.start ?? this.textStart + this.next
    const cut = needed - this.textStart
    // Cutting off a few characters at a time would copy the window over and over.
    if (cut < this.size) return
    this.text = this.text.slice(cut)
    this.textStart += cut
    this.next -= cut
  }
}
