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

export interface Reading {
  readonly text: string
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
  #length = 0
  #lineBreaks = 2

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

  build(encoding: Encoding | undefined, language?: string): Reading {
    const text = this.#parts.join("")
    return { text, segments: this.#segments, encoding, ...(language === undefined ? {} : { language }) }
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

/** Adds a cell on one line: a line break inside a cell would look like another cell. */
export const addCell = (builder: TextBuilder, cell: Cell): void => {
  for (const { text, place } of cell) builder.add(text.replace(/\s/gu, " "), place)
}

/** Whether a row names columns: no cell is empty, a number or repeated. */
export const isHeader = (row: ReadonlyArray<string>): boolean =>
  row.length > 0 && row.every((cell) => cell.trim() !== "" && !/^[\d\s.,%+-]+$/.test(cell)) && new Set(row).size === row.length
