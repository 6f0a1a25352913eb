/** Finds the delimiter, the quote and the header of CSV by its first rows. */
import { broken, CsvCells, incomplete } from "../csv/CsvCells.ts"
import { columnName } from "../Row.ts"
import type { TableOptions } from "../TableFormat.ts"
import { FileInvalid } from "../TableProblem.ts"

export interface Delimited {
  readonly delimiter: string
  readonly quote: string
  readonly header: boolean
  readonly columns: ReadonlyArray<string>
}

const delimiters = [",", ";", "\t", "|"]

/** How many rows decide. */
const mostRows = 100

/** More cells than any limit of columns, to say how many a header has. */
const mostCells = 100_000

/** `isWhole`: the text is all of the file, and not only its beginning. */
export const delimitedOf = (file: string, text: string, isWhole: boolean, given: TableOptions, maxColumns: number): Delimited => {
  if (given.delimiter !== undefined && given.delimiter === given.quote)
    throw new FileInvalid({ file, problem: "its delimiter and its quote are the same character", next: "choose two" })
  const quote = given.quote ?? quoteOf(text)
  const known = given.delimiter ?? (given.format === "tsv" ? "\t" : undefined)
  const delimiter = known ?? bestDelimiter(text, isWhole, quote)
  const rows = rowsOf(text, isWhole, delimiter, quote)
  const [first = [], ...others] = rows
  return { delimiter, quote, ...columnsOf(file, first, others, given.header, maxColumns) }
}

/** The most characters of the name of a column: each row has the names. */
const longestName = 1_000

/** The names of the columns: of the header, or by number. */
export const columnsOf = (
  file: string,
  first: ReadonlyArray<unknown>,
  others: ReadonlyArray<ReadonlyArray<unknown>>,
  given: boolean | undefined,
  maxColumns: number,
): Pick<Delimited, "header" | "columns"> => {
  const header = given ?? isHeader(first)
  const width = header ? first.length : Math.max(first.length, ...others.map((row) => row.length))
  if (width > maxColumns)
    throw new FileInvalid({
      file,
      problem: `it has ${width >= mostCells ? "more than " : ""}${width} columns, ${maxColumns} are allowed`,
      next: "leave out columns, or say which delimiter it has",
    })
  if (!header) return { header, columns: Array.from({ length: width }, (_, index) => columnName(index)) }
  const columns = first.map((cell, index) => String(cell ?? "").trim() || columnName(index))
  const places = new Map<string, number>()
  for (const [index, column] of columns.entries()) {
    if (column.length > longestName)
      throw new FileInvalid({
        file,
        problem: `the name of column ${index + 1} has more than ${longestName} characters`,
        next: "shorten it, or say that the file has no header",
      })
    const earlier = places.get(column)
    if (earlier !== undefined)
      throw new FileInvalid({
        file,
        problem: `its header has ${column} twice, in columns ${earlier + 1} and ${index + 1}`,
        next: "rename one of them, or say that the file has no header",
      })
    places.set(column, index)
  }
  return { header, columns }
}

/** A header has names only: no numbers, and at least one cell. */
const isHeader = (cells: ReadonlyArray<unknown>): boolean =>
  cells.some((cell) => typeof cell === "string" && cell.trim() !== "") &&
  cells.every((cell) => cell === undefined || (typeof cell === "string" && !isNumber(cell)))

const isNumber = (cell: string): boolean => cell.trim() !== "" && /^[-+]?[0-9][0-9.,' ]*%?$/.test(cell.trim())

const quoteOf = (text: string): string => {
  if (text.includes('"')) return '"'
  // A quote at both ends of cells, and not only an apostrophe.
  const begins = text.match(/(?:^|[,;\t|\n])'/g)?.length ?? 0
  const ends = text.match(/'(?:[,;\t|\r\n]|$)/g)?.length ?? 0
  return begins > 0 && begins === ends ? "'" : '"'
}

/** The delimiter that gives most rows the width of the first one, and then the most columns. */
const bestDelimiter = (text: string, isWhole: boolean, quote: string): string => {
  let best = ","
  let bestScore = 0
  for (const delimiter of delimiters) {
    const rows = rowsOf(text, isWhole, delimiter, quote)
    const width = rows[0]?.length ?? 0
    if (width < 2) continue
    const equal = rows.filter((row) => row.length === width).length / rows.length
    const score = equal * 10 + Math.log2(width)
    if (score > bestScore) {
      best = delimiter
      bestScore = score
    }
  }
  return best
}

const rowsOf = (text: string, isWhole: boolean, delimiter: string, quote: string): ReadonlyArray<ReadonlyArray<string>> => {
  const cells = new CsvCells(delimiter, quote, mostCells)
  const rows: Array<ReadonlyArray<string>> = []
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  while (at < text.length && rows.length < mostRows) {
    const end = cells.read(text, at, isWhole)
    if (end === incomplete) break
    if (end === broken) {
      const next = text.indexOf("\n", at)
      if (next < 0) break
      at = next + 1
      continue
    }
    at = end
    if (cells.cells.length > 1 || cells.cells[0] !== "") rows.push(cells.cells)
  }
  // A first row beyond the beginning of the file.
  if (rows.length === 0 && cells.read(text, 0, true) >= 0 && cells.cells.length > 1) rows.push(cells.cells)
  return rows
}

/** Whether a text is a table: more than one column, and no characters that only other files have. */
export const isDelimited = (text: string, isWhole: boolean, given: TableOptions): boolean => {
  const quote = given.quote ?? quoteOf(text)
  const delimiter = given.delimiter ?? bestDelimiter(text, isWhole, quote)
  return (rowsOf(text, isWhole, delimiter, quote)[0]?.length ?? 0) > 1
}
