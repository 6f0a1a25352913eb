/**
 * A table as text: a paragraph for every record and a line `column: value` for every cell that holds something. So it reads the
 * same whether it came as CSV, HTML or Markdown, and a sentence about one record never runs into the next.
 */
import type { Place, TextBuilder } from "./Reading.ts"

export interface CellPart {
  readonly text: string
  readonly place: Place
}

export type Cell = ReadonlyArray<CellPart>

export const cellText = (cell: Cell | undefined): string => (cell ?? []).map(({ text }) => text).join("")

export const addRecord = (builder: TextBuilder, columns: ReadonlyArray<string>, cells: ReadonlyArray<Cell>): void => {
  builder.breakLine(2)
  for (const [index, cell] of cells.entries()) {
    if (cellText(cell).trim() === "") continue
    builder.put(`${columns[index] ?? `column ${index + 1}`}: `)
    addCell(builder, cell)
    builder.breakLine()
  }
  builder.breakLine(2)
}

/** On one line: a break inside a cell would look like another cell. */
export const addCell = (builder: TextBuilder, cell: Cell): void => {
  for (const { text, place } of cell) builder.add(text.replace(/\s/gu, " "), place)
}

/** Whether a row names columns: something in each, nothing twice, no numbers. */
export const isHeader = (row: ReadonlyArray<string>): boolean =>
  row.length > 0 && row.every((cell) => cell.trim() !== "" && !/^[\d\s.,%+-]+$/.test(cell)) && new Set(row).size === row.length
