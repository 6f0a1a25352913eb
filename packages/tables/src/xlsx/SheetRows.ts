/** The rows of a sheet, while its part is unpacked. Rows without cells are passed over. */
import * as DateTime from "effect/DateTime"
import { type Row, RowText } from "../Row.ts"
import type { TableLimits } from "../TableLimits.ts"
import { damaged } from "./Archive.ts"
import { pushXml, type Workbook } from "./Workbook.ts"
import { attribute, type XmlHandler, XmlScanner } from "./XmlScanner.ts"

type Cell = string | number | boolean | undefined

/** The cells of a row of a sheet. */
export interface SheetCells {
  /** The number that the sheet shows. */
  readonly number: number
  readonly cells: ReadonlyArray<Cell>
  /** Whether it has more cells than the limit of columns, or more bytes than the limit of rows. */
  readonly isTooLong: boolean
  readonly isTooLarge: boolean
  /** Where its part continues. */
  readonly end: number
}

/** Reads the cells of a sheet. */
export async function* readSheet(
  workbook: Workbook,
  part: string,
  limits: TableLimits,
): AsyncGenerator<ReadonlyArray<SheetCells>, undefined> {
  const texts = await workbook.sharedTexts()
  const dates = await workbook.dateStyles()
  const reader = new CellReader(workbook, texts, dates, limits)
  const scanner = new XmlScanner(reader)
  for await (const chunk of workbook.archive.read(part)) {
    reader.unpacked += chunk.length
    pushXml(workbook.name, scanner, chunk)
    const rows = reader.take()
    if (rows.length > 0) yield rows
    if (reader.isEnded) return undefined
  }
  return undefined
}

class CellReader implements XmlHandler {
  readonly #workbook: Workbook
  readonly #texts: ReadonlyArray<string>
  readonly #dates: ReadonlyArray<boolean>
  readonly #limits: TableLimits
  /** Bytes of the part that have been unpacked. */
  unpacked = 0
  isEnded = false
  #rows: Array<SheetCells> = []
  #number = 0
  #cells: Array<Cell> = []
  #bytes = 0
  /** Of these bytes, those of shared texts. */
  #sharedBytes = 0
  #isTooLong = false
  #column = -1
  #type = ""
  #isDate = false
  /** The text of the current cell; undefined outside of its value. */
  #value: string | undefined
  #isValue = false

  constructor(workbook: Workbook, texts: ReadonlyArray<string>, dates: ReadonlyArray<boolean>, limits: TableLimits) {
    this.#workbook = workbook
    this.#texts = texts
    this.#dates = dates
    this.#limits = limits
  }

  /** The rows that ended since the last call. */
  take(): ReadonlyArray<SheetCells> {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  open = (tag: string, source: string) => {
    if (tag === "v" || tag === "t") this.#isValue = true
    else if (tag === "c") this.#beginCell(source)
    else if (tag === "row") this.#beginRow(source)
    // The sound of a text is no part of it.
    else if (tag === "rPh") this.#type = "sound"
  }

  close = (tag: string) => {
    if (tag === "v" || tag === "t") this.#isValue = false
    else if (tag === "c") this.#endCell()
    else if (tag === "row") this.#endRow()
    else if (tag === "rPh") this.#type = "inlineStr"
    else if (tag === "sheetData") this.isEnded = true
  }

  text = (text: string) => {
    if (!this.#isValue || this.#type === "sound") return
    this.#bytes += text.length
    if (this.#bytes <= this.#limits.maxRowBytes) this.#value = (this.#value ?? "") + text
  }

  #beginRow(source: string) {
    const number = Number(attribute(source, "r") ?? this.#number + 1)
    if (!Number.isSafeInteger(number) || number <= this.#number) throw damaged(this.#workbook.name)
    this.#number = number
    this.#cells = []
    this.#bytes = 0
    this.#sharedBytes = 0
    this.#isTooLong = false
    this.#column = -1
  }

  #endRow() {
    const { maxRowBytes } = this.#limits
    const cells = this.#cells
    const isTooLarge = this.#bytes > maxRowBytes
    this.#cells = []
    // A row that is too large is refused alone, and no text is made of it.
    if (!isTooLarge) this.#workbook.archive.addText(this.#sharedBytes)
    if (!isTooLarge && !this.#isTooLong && !cells.some((cell) => cell !== undefined && cell !== "")) return
    this.#rows.push({ number: this.#number, cells, isTooLong: this.#isTooLong, isTooLarge, end: this.unpacked })
  }

  #beginCell(source: string) {
    const place = attribute(source, "r")
    this.#column = place === undefined ? this.#column + 1 : columnIn(place)
    this.#type = attribute(source, "t") ?? "n"
    this.#isDate = this.#dates[Number(attribute(source, "s") ?? -1)] === true
    this.#value = undefined
  }

  #endCell() {
    if (this.#value === undefined) return
    if (this.#column < 0 || this.#column >= this.#limits.maxColumns) {
      this.#isTooLong = true
      return
    }
    const cell = this.#cellOf(this.#value)
    // Texts that many cells share are counted for each: the row is made of all of them.
    if (this.#type === "s" && typeof cell === "string") {
      this.#bytes += cell.length
      this.#sharedBytes += cell.length
    }
    if (this.#bytes > this.#limits.maxRowBytes) {
      this.#cells = []
      return
    }
    while (this.#cells.length < this.#column) this.#cells.push(undefined)
    this.#cells[this.#column] = cell
  }

  #cellOf(value: string): Cell {
    switch (this.#type) {
      case "s": {
        const text = this.#texts[Number(value)]
        if (text === undefined) throw damaged(this.#workbook.name)
        return text
      }
      case "b":
        return value === "1" || value === "true"
      case "n": {
        const number = Number(value)
        if (value.trim() === "" || !Number.isFinite(number)) return value
        return this.#isDate ? dateText(number, this.#workbook.isFrom1904) : number
      }
      default:
        return value
    }
  }
}

/** The column of a place such as `AB12`, counted from 0. */
const columnIn = (place: string): number => {
  let column = 0
  for (let at = 0; at < place.length && at < 4; at++) {
    const code = place.charCodeAt(at)
    if (code < 65 || code > 90) break
    column = column * 26 + code - 64
  }
  return column - 1
}

const dayMillis = 86_400_000
/** Days from 1900-01-00 to 1970-01-01, with the 29 February 1900 that Excel has. */
const daysTo1970 = 25_569
const daysTo1904 = 1_462

/** The last day that Excel knows, in the year 9999. */
const lastDay = 2_958_466

/** A date, a time of day, or both, as ISO 8601 without a zone. */
const dateText = (serial: number, isFrom1904: boolean): string | number => {
  if (serial < 0 || serial > lastDay) return serial
  if (serial < 1 && !isFrom1904) return isoOf(serial).slice(11)
  const days = isFrom1904 ? serial + daysTo1904 : serial < 60 ? serial + 1 : serial
  const iso = isoOf(days - daysTo1970)
  return Number.isInteger(serial) ? iso.slice(0, 10) : iso
}

/** The date and time so many days after 1970, to the second. */
const isoOf = (days: number): string => DateTime.formatIso(DateTime.makeUnsafe(Math.round(days * dayMillis))).slice(0, 19)

/** Makes rows of cells. */
export class SheetRows {
  readonly #text: RowText
  readonly #columns: number
  readonly #header: ReadonlyArray<string> | undefined
  #isHeaderNext: boolean
  #index = 0

  constructor(columns: ReadonlyArray<string>, header: boolean) {
    this.#text = new RowText(columns)
    this.#columns = columns.length
    this.#header = header ? columns : undefined
    this.#isHeaderNext = header
  }

  /** The row of the next cells; undefined for the header, and for a row before `from`. */
  next(cells: SheetCells, from: number): Row | undefined {
    const isHeader = this.#isHeaderNext
    this.#isHeaderNext = false
    if (isHeader) return undefined
    const index = this.#index++
    return index < from ? undefined : this.#rowOf(index, cells)
  }

  #rowOf(index: number, { number: line, cells, isTooLong, isTooLarge, end: offset }: SheetCells): Row {
    const problem = isTooLarge
      ? "too_large"
      : isTooLong || cells.length > this.#columns
        ? "too_long"
        : this.#header?.every((column, index) => column === String(cells[index] ?? "").trim()) === true
          ? "header_repeated"
          : undefined
    const text = isTooLarge ? undefined : this.#text.of(cells)
    return { index, offset, line, endOffset: offset, endLine: line + 1, text, problem }
  }
}
