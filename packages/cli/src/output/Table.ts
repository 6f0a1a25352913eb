/** Tables with headings, and lists of names and values. */
import { oneLine, type Style } from "./Style.ts"

export interface Column<A> {
  readonly title: string
  readonly of: (row: A) => string | number
  /** Applies a style to the padded text of a cell. */
  readonly looks?: (text: string, row: A, style: Style) => string
}

export const tableText = <A>(rows: ReadonlyArray<A>, columns: ReadonlyArray<Column<A>>, style: Style): string => {
  const cells = rows.map((row) => columns.map((column) => oneLine(String(column.of(row)))))
  const widths = columns.map(({ title }, index) => Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)))
  const isNumber = columns.map(({ of }) => rows.length > 0 && rows.every((row) => typeof of(row) === "number"))
  const padded = (text: string, index: number) => {
    const width = widths[index] ?? 0
    // The last column needs no padding.
    if (isNumber[index]) return text.padStart(width)
    return index === columns.length - 1 ? text : text.padEnd(width)
  }
  const heading = columns.map(({ title }, index) => style.dim(padded(title, index))).join("  ")
  const body = rows.map((row, line) =>
    columns.map((column, index) => {
      const text = padded(cells[line]?.[index] ?? "", index)
      return column.looks === undefined ? text : column.looks(text, row, style)
    }),
  )
  return `${[heading, ...body.map((line) => line.join("  ").trimEnd())].join("\n")}\n`
}

/** A table without the columns that are empty in all rows. */
export const filledTableText = <A>(rows: ReadonlyArray<A>, columns: ReadonlyArray<Column<A>>, style: Style): string =>
  tableText(
    rows,
    columns.filter(({ of }) => rows.some((row) => of(row) !== "")),
    style,
  )

/** A name, its value, and the style of the value. */
export type Pair = readonly [name: string, value: string | number | undefined, looks?: (text: string) => string]

/** Lines of names and values, aligned in two columns. */
export const pairsText = (pairs: ReadonlyArray<Pair>, style: Style): string => {
  const shown = pairs.filter(([, value]) => value !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown
    .map(([name, value, looks = (text) => text]) => `${style.dim(name.padEnd(width))}  ${looks(oneLine(String(value)))}\n`)
    .join("")
}
