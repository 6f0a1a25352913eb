/** A piece of a document. Spans in results count from the beginning of the document, not of the chunk. */
export interface Chunk {
  readonly index: number
  readonly text: string
  /** Where the chunk begins in the document. */
  readonly offset: number
  /** The language of the document, as a tag such as `de`. Absent if it could not be detected. */
  readonly language?: string
  /** Where the chunk stands, for readers that see no more of the document. */
  readonly context?: ChunkContext
  /** Whether it has records only, whose facts the mapping of the document gives. */
  readonly isMapped?: boolean
}

export interface ChunkContext {
  /** The headings above the chunk, from the title of the document on. */
  readonly headings: ReadonlyArray<string>
  /** The end of the text before the chunk. */
  readonly before: string
}
