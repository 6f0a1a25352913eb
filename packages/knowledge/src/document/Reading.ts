/**
 * A document as plain text, with a map from the text back to its places in the source: characters, a value in JSON, a cell of a
 * table, a page.
 */
import type { Place, Span } from "../fact/Fact.ts"
import type { Encoding } from "./TextDecoding.ts"

/** A part of the text and its place in the source. The reader inserted the text between two segments. */
export interface Segment extends Span {
  readonly place: Place
}

/** A value of a record: a cell of a table, or a scalar in JSON or YAML. */
export interface RecordCell extends Span {
  /** The name of the column, or the path of keys with `[]` for each list: `birth.place.name`, `movements[].name`. */
  readonly column: string
  /** The keys and positions from the record to the value. Absent in a table. */
  readonly keys?: ReadonlyArray<string | number>
  readonly text: string
  /** Whether it is a text, and not a number or truth value of JSON or YAML. */
  readonly isText: boolean
  /** Where the name of its column begins, which stands before it. */
  readonly line: number
}

/** A row of a table, an object of JSON, or front matter, with the values that are in the text. Spans count from the start of the text. */
export interface FoundRecord {
  /** The name of the table in its document: the sheet, the caption or `table 2`, `front matter`. Empty where the document is the table. */
  readonly table: string
  /** Counted from 1 in its table. */
  readonly number: number
  /** The columns of its table. Absent for an object. */
  readonly columns?: ReadonlyArray<string>
  readonly cells: ReadonlyArray<RecordCell>
}

/** The column of a value of an object. */
export const columnOfKeys = (keys: ReadonlyArray<string | number>): string =>
  keys.reduce<string>((path, key) => (typeof key === "number" ? `${path}[]` : path === "" ? key : `${path}.${key}`), "")

/** The records, with spans that count from `by` characters before. */
export const movedRecords = (records: ReadonlyArray<FoundRecord>, by: number): ReadonlyArray<FoundRecord> =>
  by === 0
    ? records
    : records.map((record) => ({
        ...record,
        cells: record.cells.map((cell) => ({ ...cell, start: cell.start + by, end: cell.end + by, line: cell.line + by })),
      }))

export interface Reading {
  readonly text: string
  /** The records of its tables and objects, in order. */
  readonly records: ReadonlyArray<FoundRecord>
  /** In order, without overlap. */
  readonly segments: ReadonlyArray<Segment>
  /** The encoding of the source. Undefined when the source is not text. */
  readonly encoding: Encoding | undefined
  /** The tag of the language that the document declares: in `lang` of HTML, in front matter, or in a field of JSON. */
  readonly language?: string
}

/** The places in the source that the text of a span comes from, in order. */
export const placesOf = ({ segments }: Reading, span: Span): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  for (let index = firstEndingAfter(segments, span.start); index < segments.length; index++) {
    const segment = segments[index]!
    if (segment.start >= span.end) break
    places.push(narrowed(segment, span))
  }
  return places
}

/** Narrows a place to the characters of the span. A segment that was decoded from another spelling keeps its whole place. */
const narrowed = ({ start, end, place }: Segment, span: Span): Place => {
  if (place._tag !== "Characters" || place.end - place.start !== end - start) return place
  return {
    _tag: "Characters",
    start: place.start + Math.max(0, span.start - start),
    end: place.end - Math.max(0, end - span.end),
  }
}

const firstEndingAfter = (segments: ReadonlyArray<Segment>, start: number): number => {
  let [low, high] = [0, segments.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (segments[middle]!.end > start) high = middle
    else low = middle + 1
  }
  return low
}

const lineBreak = 0x0a

/** Builds a text together with its map. */
export class TextBuilder {
  readonly #parts: Array<string> = []
  readonly #segments: Array<Segment> = []
  readonly #records: Array<FoundRecord> = []
  #cells: Array<RecordCell> = []
  #length = 0
  #lineBreaks = 2

  /** How much text there is. */
  get length(): number {
    return this.#length
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0
  }

  /** Whether the current line has text. */
  get isInLine(): boolean {
    return this.#lineBreaks === 0
  }

  /** Adds text that comes from the source. */
  add(text: string, place: Place): void {
    if (text === "") return
    this.#segments.push({ start: this.#length, end: this.#length + text.length, place })
    this.put(text)
  }

  /** Adds text that the reader inserts: a colon, a space. */
  put(text: string): void {
    if (text === "") return
    this.#parts.push(text)
    this.#length += text.length
    let breaks = 0
    while (breaks < text.length && text.charCodeAt(text.length - 1 - breaks) === lineBreak) breaks++
    this.#lineBreaks = breaks === text.length ? this.#lineBreaks + breaks : breaks
  }

  /** Ends the line, or with 2 the paragraph. Adds only the line breaks that are missing. */
  breakLine(lines: 1 | 2 = 1): void {
    if (this.#lineBreaks < lines) this.put("\n".repeat(lines - this.#lineBreaks))
  }

  /** Begins a record. The cells that are noted up to the next record are its own. */
  record(record: Omit<FoundRecord, "cells">): void {
    this.#cells = []
    this.#records.push({ ...record, cells: this.#cells })
  }

  /** Notes a value of the current record, which has just been added. */
  cell(cell: RecordCell): void {
    this.#cells.push(cell)
  }

  build(encoding: Encoding | undefined, language?: string): Reading {
    const text = this.#parts.join("")
    return { text, records: this.#records, segments: this.#segments, encoding, ...(language === undefined ? {} : { language }) }
  }
}

export interface CellPart {
  readonly text: string
  readonly place: Place
}

export type Cell = ReadonlyArray<CellPart>

export const cellText = (cell: Cell | undefined): string => (cell ?? []).map(({ text }) => text).join("")

/**
 * Adds a record of a table: a paragraph with a line `column: value` for every cell that is not empty. So a table reads the same in CSV,
 * HTML and Markdown, and a sentence about one record never runs into the next.
 */
export const addRecord = (
  builder: TextBuilder,
  { table, number, columns }: TableRow,
  cells: ReadonlyArray<Cell>,
  values: ReadonlyArray<unknown> = [],
): void => {
  builder.breakLine(2)
  builder.record({ table, number, columns })
  for (const [index, cell] of cells.entries()) {
    if (cellText(cell).trim() === "") continue
    const column = columnAt(columns, index)
    const line = builder.length
    builder.put(`${column}: `)
    const start = builder.length
    addCell(builder, cell)
    const text = cellText(cell).replace(/\s/gu, " ")
    const isText = values[index] === undefined || typeof values[index] === "string"
    builder.cell({ column, text, isText, line, start, end: builder.length })
    builder.breakLine()
  }
  builder.breakLine(2)
}

/** The name of a column, also of one without a header. */
export const columnAt = (columns: ReadonlyArray<string>, index: number): string => {
  const named = columns[index] ?? ""
  return named === "" ? `column ${index + 1}` : named
}

/** The place of a record in its table. */
interface TableRow {
  readonly table: string
  readonly number: number
  readonly columns: ReadonlyArray<string>
}

/** Adds a cell on one line: a line break inside a cell would look like another cell. */
export const addCell = (builder: TextBuilder, cell: Cell): void => {
  for (const { text, place } of cell) builder.add(text.replace(/\s/gu, " "), place)
}

/** Whether a row names columns: no cell is empty, a number or repeated. The first of three or more may be empty, above the numbers of rows. */
export const isHeader = (row: ReadonlyArray<string>): boolean => {
  const named = row.length > 2 && row[0]?.trim() === "" ? row.slice(1) : row
  return (
    named.length > 0 && named.every((cell) => cell.trim() !== "" && !/^[\d\s.,%+-]+$/.test(cell)) && new Set(named).size === named.length
  )
}
