/** Tables with a row of headings, written with bars, tabs, commas or semicolons: each cell under a property states a fact. */
import { namesTopic, type StructuralStatement } from "./KeyValues.ts"
import { type Piece, pieceOf } from "./Lines.ts"
import type { PropertyNames } from "./PropertyNames.ts"

export interface FoundTable {
  /** How many lines it takes. */
  readonly lines: number
  readonly statements: ReadonlyArray<StructuralStatement>
}

/** The table that begins at a line, if one does whose headings mean something. */
export const readTable = (lines: ReadonlyArray<Piece>, at: number, names: PropertyNames): FoundTable | undefined => {
  for (const delimiter of ["|", "\t", ";", ","] as const) {
    const found = tableWith(delimiter, lines, at, names)
    if (found !== undefined) return found
  }
  return undefined
}

const tableWith = (delimiter: string, lines: ReadonlyArray<Piece>, at: number, names: PropertyNames): FoundTable | undefined => {
  const header = cellsOf(lines[at], delimiter)
  if (header.length < 2 || header.some((cell) => cell.text.split(/\s+/).length > 6)) return undefined
  const columns = header.map((cell) => names.find(cell.text))
  const subject = subjectColumn(header, columns, names)
  const certain = columns.some((column, index) => index !== subject && column !== undefined && column.match > 0.8)
  if (subject === -1 || !certain) return undefined
  const hasRule = isRule(lines[at + 1])
  // Bars without a rule under the headings, or commas, could be anything; then all rows must be alike.
  const rows: Array<ReadonlyArray<Piece>> = []
  let next = hasRule ? at + 2 : at + 1
  for (; next < lines.length; next++) {
    const cells = cellsOf(lines[next], delimiter)
    if (cells.length !== header.length) break
    rows.push(cells)
  }
  if (rows.length === 0) return undefined
  const type = names.classNamed(header[subject]?.text ?? "")
  const statements = rows.flatMap((cells) => {
    const name = cells[subject]
    if (name === undefined || name.text === "") return []
    return cells.flatMap((value, index): ReadonlyArray<StructuralStatement> => {
      const column = columns[index]
      if (index === subject || column === undefined || value.text === "" || /^[-–—?]$|^n\/?a$/i.test(value.text)) return []
      return [{ topic: { name, type }, property: column.property, value, match: column.match }]
    })
  })
  return { lines: next - at, statements }
}

/** The column of what the rows are about: named for a class or "Name", else the first if it is no property. */
const subjectColumn = (
  header: ReadonlyArray<Piece>,
  columns: ReadonlyArray<{ readonly match: number } | undefined>,
  names: PropertyNames,
): number => {
  const named = header.findIndex(
    (cell, index) => namesTopic(cell.text) || ((columns[index]?.match ?? 0) < 0.9 && names.classNamed(cell.text) !== undefined),
  )
  if (named !== -1) return named
  return columns[0] === undefined ? 0 : -1
}

const isRule = (line: Piece | undefined): boolean => line !== undefined && /^[\s|:+=-]+$/.test(line.text) && line.text.includes("--")

const cellsOf = (line: Piece | undefined, delimiter: string): ReadonlyArray<Piece> => {
  if (line === undefined || !line.text.includes(delimiter)) return []
  const { text } = line
  const cells: Array<Piece> = []
  let from = 0
  let quoted = false
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '"' && delimiter !== "|") quoted = !quoted
    if (at < text.length && (quoted || text[at] !== delimiter)) continue
    cells.push(unquoted(pieceOf(line, from, at)))
    from = at + 1
  }
  if (delimiter !== "|") return cells
  // The bars at both ends of a row enclose nothing.
  const first = /^\s*\|/.test(text) ? 1 : 0
  return cells.slice(first, /\|\s*$/.test(text) ? -1 : undefined)
}

const unquoted = (piece: Piece): Piece =>
  /^".*"$/.test(piece.text) && piece.text.length > 1 ? { text: piece.text.slice(1, -1), start: piece.start + 1, end: piece.end - 1 } : piece
