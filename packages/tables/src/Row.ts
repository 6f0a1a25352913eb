/** A row of a file as JSON text, and positions between rows. */
import * as Schema from "effect/Schema"

/** Why a row was refused. The rows after it are read. */
export const RowProblem = Schema.Literals([
  /** It exceeds the size limit of rows. */
  "too_large",
  /** It has fewer cells than the header. */
  "too_short",
  /** It has more cells than the header. */
  "too_long",
  /** A quote is not closed, or text follows a closing quote. */
  "quote",
  /** It is the header once more. */
  "header_repeated",
])
export type RowProblem = typeof RowProblem.Type

/** The position after a row, where reading can continue. */
export interface Position {
  /** How many rows are before the position. */
  readonly index: number
  readonly offset: number
  readonly line: number
}

export interface Row {
  /** Counted from 0, without the header. */
  readonly index: number
  /** In bytes of UTF-8 from the start of the text; for a sheet, of its unpacked part. */
  readonly offset: number
  /** Where the row begins: the line of a text, or the row of a sheet, counted from 1. */
  readonly line: number
  /** The position after the row. */
  readonly endOffset: number
  readonly endLine: number
  /**
   * The row as JSON: an object with a key for each column, or the value of a JSON file as it was written, valid or not. A refused row has
   * its cells as far as they are known; undefined where it is too large.
   */
  readonly text: string | undefined
  readonly problem: RowProblem | undefined
}

/** The position after a row, where reading continues. */
export const behind = ({ index, endOffset, endLine }: Row): Position => ({ index: index + 1, offset: endOffset, line: endLine })

/** About how many bytes the text of rows has. */
export const bytesOfRows = (rows: ReadonlyArray<Row>): number => {
  let bytes = 0
  for (const { text } of rows) bytes += text?.length ?? 0
  return bytes
}

/** Makes the JSON of rows from their cells. Cells beyond the header are under `column N`. */
export class RowText {
  readonly #keys: ReadonlyArray<string>

  constructor(columns: ReadonlyArray<string>) {
    this.#keys = columns.map((column) => `${JSON.stringify(column)}:`)
  }

  /** A missing cell has no key. */
  of(cells: ReadonlyArray<string | number | boolean | undefined>): string {
    let text = "{"
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index]
      if (cell === undefined) continue
      if (text.length > 1) text += ","
      text += (this.#keys[index] ?? `${JSON.stringify(columnName(index))}:`) + JSON.stringify(cell)
    }
    return `${text}}`
  }
}

/** The name of a column without a header. */
export const columnName = (index: number): string => `column ${index + 1}`
