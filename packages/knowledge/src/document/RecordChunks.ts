/**
 * Cuts a document whose records have a mapping: some records make a chunk, which ends where a record ends, and the prose between them is cut
 * into windows of sentences.
 */
import * as Stream from "effect/Stream"
import type { Chunk } from "./Chunk.ts"
import type { FoundRecord } from "./Reading.ts"
import { Chunker, type ChunkingOptions } from "./Sentences.ts"

export interface RecordChunkOptions extends ChunkingOptions {
  /** Takes the mapped records that were found since. Those in a piece of text are found before the piece arrives. */
  readonly records: () => ReadonlyArray<FoundRecord>
}

export const recordChunks =
  (options: RecordChunkOptions) =>
  <E, R>(pieces: Stream.Stream<string, E, R>): Stream.Stream<Chunk, E, R> =>
    pieces.pipe(
      Stream.rechunk(1),
      Stream.mapAccumArray(
        () => new RecordChunker(options),
        (chunker, arrived) => [chunker, arrived.flatMap((piece) => [...chunker.push(piece)])] as const,
        { onHalt: (chunker) => [...chunker.end()] },
      ),
    )

/** Where a record is in the document. */
interface Extent {
  readonly start: number
  readonly end: number
}

export const extentOf = ({ cells }: FoundRecord): Extent | undefined => {
  const [first] = cells
  if (first === undefined) return undefined
  let [start, end] = [first.line, first.end]
  for (const cell of cells) [start, end] = [Math.min(start, cell.line), Math.max(end, cell.end)]
  return { start, end }
}

class RecordChunker {
  readonly #options: RecordChunkOptions
  readonly #coming: Array<Extent> = []
  /** The text that is still needed, and where it begins. */
  #text = ""
  #textStart = 0
  /** Up to where the document was cut. */
  #next = 0
  #index = 0
  /** The prose that is being cut, and where it begins. */
  #prose: { readonly chunker: Chunker; readonly start: number } | undefined
  /** The records of the next chunk. */
  #group: Extent | undefined

  constructor(options: RecordChunkOptions) {
    this.#options = options
  }

  push(piece: string): ReadonlyArray<Chunk> {
    for (const record of this.#options.records()) {
      const extent = extentOf(record)
      if (extent !== undefined) this.#coming.push(extent)
    }
    this.#text += piece
    return this.#take()
  }

  end(): ReadonlyArray<Chunk> {
    return [...this.#take(), ...this.#endGroup(), ...this.#endProse()]
  }

  #take(): ReadonlyArray<Chunk> {
    const chunks: Array<Chunk> = []
    const arrived = this.#textStart + this.#text.length
    for (;;) {
      const [record] = this.#coming
      const until = Math.min(record?.start ?? arrived, arrived)
      if (until > this.#next) chunks.push(...this.#addProse(until))
      if (record === undefined || record.end > arrived) break
      this.#coming.shift()
      chunks.push(...this.#addRecord(record))
    }
    this.#forget()
    return chunks
  }

  #addProse(until: number): ReadonlyArray<Chunk> {
    const text = this.#slice(this.#next, until)
    const start = this.#next
    this.#next = until
    if (this.#prose === undefined && text.trim() === "") return []
    const ended = this.#endGroup()
    this.#prose ??= { chunker: new Chunker(this.#options), start }
    return [...ended, ...this.#numbered(this.#prose.chunker.push(text), this.#prose.start)]
  }

  #addRecord(record: Extent): ReadonlyArray<Chunk> {
    const ended = this.#endProse()
    this.#next = record.end
    const group = this.#group
    const isFull = group !== undefined && record.end - group.start > (this.#options.size ?? defaultSize)
    const before = isFull ? this.#endGroup() : []
    this.#group = this.#group === undefined ? record : { start: this.#group.start, end: record.end }
    return [...ended, ...before]
  }

  #endGroup(): ReadonlyArray<Chunk> {
    const group = this.#group
    this.#group = undefined
    return group === undefined
      ? []
      : [{ index: this.#index++, offset: group.start, text: this.#slice(group.start, group.end), isMapped: true }]
  }

  #endProse(): ReadonlyArray<Chunk> {
    const prose = this.#prose
    this.#prose = undefined
    return prose === undefined ? [] : this.#numbered(prose.chunker.end(), prose.start)
  }

  #numbered(chunks: ReadonlyArray<Chunk>, start: number): ReadonlyArray<Chunk> {
    return chunks.map(({ text, offset }) => ({ index: this.#index++, offset: offset + start, text }))
  }

  #slice(from: number, to: number): string {
    return this.#text.slice(from - this.#textStart, to - this.#textStart)
  }

  #forget(): void {
    const needed = Math.min(this.#group?.start ?? this.#next, this.#next)
    const cut = needed - this.#textStart
    if (cut < (this.#options.size ?? defaultSize)) return
    this.#text = this.#text.slice(cut)
    this.#textStart += cut
  }
}

const defaultSize = 4000
