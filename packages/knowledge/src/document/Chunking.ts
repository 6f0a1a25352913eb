/**
 * Cuts a document into overlapping windows of whole sentences, each with its exact offset in the document. Works on a
 * stream as well as on a string, holds no more of the document than one window and the latest piece, and returns the
 * same chunks however the stream is cut into pieces.
 */
import * as Stream from "effect/Stream"
import type { Chunk } from "../extract/Extractor.ts"
import type { Span } from "../extract/Fact.ts"
import { longestSentence, sentenceEnd, skipSpace } from "./Sentences.ts"

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

  constructor(options: ChunkingOptions = {}) {
    const { size, overlap } = sizesOf(options)
    this.size = size
    this.overlap = overlap
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
