/**
 * The lines that a terminal shows for the output of a program. Supports the control codes that the `detent` command uses: colours,
 * and lines that are redrawn in place.
 */
export interface Run {
  readonly text: string
  /** Codes of "select graphic rendition" that are in force: 1 is bold, 2 dim, 31 to 36 are colours. */
  readonly codes: ReadonlySet<number>
}

export type Line = ReadonlyArray<Run>

const closing: Readonly<Record<number, ReadonlyArray<number>>> = { 22: [1, 2], 39: [31, 32, 33, 34, 35, 36] }

const escape = "\u001B"

/** A line break, a return that redraws the line, a colour code, or text. */
const piece = new RegExp(String.raw`(\r?\n)|(\r(?:${escape}\[2K)?)|${escape}\[(\d*)m|([^\r\n${escape}]+)`, "g")

export const linesOf = (output: string): ReadonlyArray<Line> => {
  const lines: Array<Array<Run>> = [[]]
  let codes = new Set<number>()
  for (const [, broken, returned, code, text] of output.matchAll(piece)) {
    if (broken !== undefined) lines.push([])
    else if (returned !== undefined) lines[lines.length - 1] = []
    else if (code !== undefined) codes = changed(codes, Number(code))
    else if (text !== undefined) lines.at(-1)?.push({ text, codes })
  }
  return lines
}

const changed = (codes: ReadonlySet<number>, code: number): Set<number> => {
  if (code === 0) return new Set()
  const ended = closing[code]
  return ended === undefined ? new Set([...codes, code]) : new Set([...codes].filter((one) => !ended.includes(one)))
}
