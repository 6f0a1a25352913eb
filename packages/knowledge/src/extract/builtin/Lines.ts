/** A text as lines, each piece of it with its exact place. */
import type { Span } from "../Fact.ts"

/** A stretch of text without the space around it. */
export interface Piece extends Span {
  readonly text: string
}

export const linesOf = (text: string, offset: number): ReadonlyArray<Piece> => {
  const lines: Array<Piece> = []
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf("\n", start)
    const end = newline === -1 ? text.length : newline
    lines.push({ text: text.slice(start, end), start: offset + start, end: offset + end })
    if (newline === -1) break
    start = newline + 1
  }
  return lines
}

/** The part of a piece from one place to another, trimmed. */
export const pieceOf = (whole: Piece, from: number, to: number): Piece => {
  const part = whole.text.slice(from, to)
  const left = part.length - part.trimStart().length
  const text = part.trim()
  const start = whole.start + from + left
  return { text, start, end: start + text.length }
}

/** Cuts a piece at each match of a pattern; parts without text are left out. */
export const splitPiece = (whole: Piece, separator: RegExp): ReadonlyArray<Piece> => {
  const parts: Array<Piece> = []
  let from = 0
  for (const match of whole.text.matchAll(separator)) {
    parts.push(pieceOf(whole, from, match.index))
    from = match.index + match[0].length
  }
  parts.push(pieceOf(whole, from, whole.text.length))
  return parts.filter((part) => part.text !== "")
}
