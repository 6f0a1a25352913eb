/** Tells each chunk of a document which headings it stands under and which text is before it. Readers of documents write headings as `## ...`. */

import * as Stream from "effect/Stream"
import type { Chunk, ChunkContext } from "./Chunk.ts"

/** How much of the text before a chunk it gets, in UTF-16 code units. */
const longestBefore = 300

const longestHeading = 200

interface Reached {
  /** The open headings with their levels. */
  readonly headings: ReadonlyArray<Heading>
  readonly last: Chunk | undefined
}

interface Heading {
  readonly level: number
  readonly text: string
}

export const withContext = <E, R>(chunks: Stream.Stream<Chunk, E, R>): Stream.Stream<Chunk, E, R> =>
  Stream.mapAccum(
    chunks,
    (): Reached => ({ headings: [], last: undefined }),
    ({ headings, last }, chunk) => {
      // A heading in the overlap of two chunks was met in the earlier one.
      const passed = last === undefined ? "" : last.text.slice(0, chunk.offset - last.offset)
      const open = opened(headings, passed)
      const context: ChunkContext = { headings: open.map(({ text }) => text), before: passed.slice(-longestBefore).trim() }
      const hasContext = context.headings.length > 0 || context.before !== ""
      return [{ headings: open, last: chunk }, [hasContext ? { ...chunk, context } : chunk]] as const
    },
  )

/** The headings that are open after a text. */
const opened = (before: ReadonlyArray<Heading>, text: string): ReadonlyArray<Heading> => {
  let open = before
  for (const line of text.split("\n")) {
    const level = levelOf(line)
    if (level > 0) open = [...open.filter((one) => one.level < level), { level, text: line.slice(level).trim().slice(0, longestHeading) }]
  }
  return open
}

/** The number of marks before a heading; 0 for another line. */
const levelOf = (line: string): number => {
  let level = 0
  while (level < 7 && line[level] === "#") level++
  return level <= 6 && /^\s\S/.test(line.slice(level, level + 2)) ? level : 0
}
