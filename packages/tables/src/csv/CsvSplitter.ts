/**
 * Splits CSV text into rows while it arrives. A broken quote refuses the line in which its row begins, and reading continues at the next
 * line. A row beyond the size limit is refused without being in memory.
 *
 * The splitter has one of two modes:
 * - Reading: the text from the start of the current row is in memory.
 * - Skipping: the current row is too large; only its end is looked for.
 */
import { type Position, type Row, type RowProblem, RowText } from "../Row.ts"
import { FileInvalid } from "../TableProblem.ts"
import { broken, CsvCells, carriageReturn, incomplete, newline } from "./CsvCells.ts"

export interface CsvOptions {
  readonly file: string
  readonly delimiter: string
  readonly quote: string
  readonly columns: ReadonlyArray<string>
  /** Whether the text begins with the header, which is no row. */
  readonly header: boolean
  readonly maxRowBytes: number
  /** Continues after a row: the pushed text begins at this position. */
  readonly from?: Position
}

interface Skipping {
  readonly _tag: "Skipping"
  readonly scan: CellScan
  /** Where the row began. */
  readonly offset: number
  readonly line: number
}

type Mode = { readonly _tag: "Reading" } | Skipping

const reading: Mode = { _tag: "Reading" }

export class CsvSplitter {
  readonly #options: CsvOptions
  readonly #delimiter: number
  readonly #quote: number
  readonly #cells: CsvCells
  readonly #text: RowText
  /** The cells of the header as they are written, to find it once more. */
  readonly #header: ReadonlyArray<string> | undefined
  #mode: Mode = reading
  /** The text that no row was made of, and whether all of it is ASCII. */
  #rest = ""
  #isAscii = true
  /** Text that is not split yet, because the row that begins in `rest` needs more of it. */
  #waiting: Array<string> = []
  #waitingLength = 0
  #index: number
  #offset: number
  #line: number
  #isHeaderNext: boolean
  #isStart: boolean
  #rows: Array<Row> = []

  constructor(options: CsvOptions) {
    const { delimiter, quote, columns, header, from } = options
    this.#options = options
    this.#delimiter = delimiter.charCodeAt(0)
    this.#quote = quote.charCodeAt(0)
    this.#cells = new CsvCells(delimiter, quote, columns.length + extraCells)
    this.#text = new RowText(columns)
    this.#header = header ? columns : undefined
    this.#index = from?.index ?? 0
    this.#offset = from?.offset ?? 0
    this.#line = from?.line ?? 1
    this.#isStart = this.#offset === 0
    this.#isHeaderNext = header && this.#index === 0
  }

  /** Takes the next text, of whole characters, and returns the rows that end in it. */
  push(chunk: Buffer): ReadonlyArray<Row> {
    this.#rows = []
    const text = chunk.toString("utf8")
    this.#waiting.push(text)
    this.#waitingLength += text.length
    if (text.length !== chunk.length) this.#isAscii = false
    // A row of many chunks is read again only when its text has doubled: reading takes linear time.
    if (this.#waitingLength >= this.#rest.length) this.#split(false)
    return this.#rows
  }

  /** Ends the text. Returns the last rows. */
  end(): ReadonlyArray<Row> {
    this.#rows = []
    this.#split(true)
    const mode = this.#mode
    if (mode._tag === "Skipping") {
      if (mode.scan.isQuoted) this.#failOpen(mode.line, "is never closed")
      this.#refuseLarge(mode)
    }
    return this.#rows
  }

  #split(isLast: boolean) {
    let text = this.#waiting.length === 1 ? this.#rest + (this.#waiting[0] as string) : this.#rest + this.#waiting.join("")
    this.#waiting = []
    this.#waitingLength = 0
    let start = 0
    if (this.#isStart && text !== "") {
      this.#isStart = false
      if (text.charCodeAt(0) === 0xfeff) {
        text = text.slice(1)
        this.#offset = 3
      }
    }
    while (start < text.length) {
      const end = this.#mode._tag === "Skipping" ? this.#skip(this.#mode, text, start, isLast) : this.#take(text, start, isLast)
      if (end === incomplete) break
      start = end
    }
    this.#rest = this.#mode._tag === "Skipping" ? "" : text.slice(start)
    const bytes = Buffer.byteLength(this.#rest)
    this.#isAscii = bytes === this.#rest.length
    if (!isLast && bytes > this.#options.maxRowBytes) this.#beginSkipping(this.#rest)
  }

  #bytesOf(text: string): number {
    return this.#isAscii ? text.length : Buffer.byteLength(text)
  }

  /** Takes the row that begins here. Returns where it ends, or `incomplete`. */
  #take(text: string, start: number, isLast: boolean): number {
    const end = this.#cells.read(text, start, isLast)
    if (end === incomplete) return incomplete
    if (end === broken) return this.#refuseLine(text, start)
    const { isQuoted } = this.#cells
    const bytes = this.#isAscii ? end - start : Buffer.byteLength(text.slice(start, end))
    this.#add(bytes, isQuoted ? Math.max(1, linesIn(text.slice(start, end))) : 1)
    return end
  }

  /** Adds the row of the cells, which ends after so many bytes and lines. */
  #add(bytes: number, lines: number) {
    const { cells } = this.#cells
    const { columns, maxRowBytes } = this.#options
    if (cells.length === 1 && cells[0] === "") return this.#pass(bytes, lines)
    if (this.#isHeaderNext) {
      this.#isHeaderNext = false
      return this.#pass(bytes, lines)
    }
    if (bytes > maxRowBytes) return this.#found(bytes, lines, undefined, "too_large")
    const problem = cells.length < columns.length ? "too_short" : cells.length > columns.length ? "too_long" : undefined
    if (problem === undefined && this.#isHeader(cells)) return this.#found(bytes, lines, this.#text.of(cells), "header_repeated")
    this.#found(bytes, lines, this.#text.of(cells), problem)
  }

  #isHeader(cells: ReadonlyArray<string>): boolean {
    return this.#header?.every((column, index) => column === (cells[index] ?? "").trim()) === true
  }

  #found(bytes: number, lines: number, text: string | undefined, problem: RowProblem | undefined) {
    const offset = this.#offset
    const line = this.#line
    this.#pass(bytes, lines)
    this.#rows.push({ index: this.#index++, offset, line, endOffset: this.#offset, endLine: this.#line, text, problem })
  }

  #pass(bytes: number, lines: number) {
    this.#offset += bytes
    this.#line += lines
  }

  /** Refuses the line in which a row with a broken quote begins. Returns the start of the next line. */
  #refuseLine(text: string, start: number): number {
    const at = text.indexOf("\n", start)
    const end = at < 0 ? text.length : at + 1
    const line = text.slice(start, end)
    const cells = line.replace(/\r?\n$/, "").split(this.#options.delimiter)
    if (this.#isHeaderNext) this.#failOpen(this.#line, this.#cells.problem)
    this.#found(this.#bytesOf(line), 1, this.#text.of(cells), "quote")
    return end
  }

  // Rows that are too large

  #beginSkipping(row: string) {
    if (this.#isHeaderNext) {
      const problem = `its header has more than ${this.#options.maxRowBytes} bytes`
      throw new FileInvalid({ file: this.#options.file, problem, place: { line: this.#line, offset: this.#offset } })
    }
    const scan = new CellScan(this.#delimiter, this.#quote)
    const mode: Skipping = { _tag: "Skipping", scan, offset: this.#offset, line: this.#line }
    this.#mode = mode
    this.#rest = ""
    this.#skip(mode, row, 0, false)
    this.#isAscii = true
  }

  /** Looks for the end of the row. Returns the start of the next one, or `incomplete`. */
  #skip(mode: Skipping, text: string, start: number, isLast: boolean): number {
    const end = mode.scan.endOf(text, start, isLast)
    if (mode.scan.isBroken) this.#failOpen(mode.line, "is followed by more text")
    const part = text.slice(start, end < 0 ? text.length : end)
    this.#pass(this.#bytesOf(part), linesIn(part))
    if (end < 0) return incomplete
    this.#refuseLarge(mode)
    return end
  }

  #refuseLarge({ offset, line }: Skipping) {
    this.#rows.push({
      index: this.#index++,
      offset,
      line,
      endOffset: this.#offset,
      endLine: this.#line,
      text: undefined,
      problem: "too_large",
    })
    this.#mode = reading
  }

  #failOpen(line: number, what: string): never {
    const { file, quote } = this.#options
    const row = this.#isHeaderNext ? "its header" : `row ${this.#index + 1}`
    throw new FileInvalid({
      file,
      problem: `a quote ${quote} in ${row} ${what}`,
      place: { index: this.#index, line },
      next: "close the quote, or say which character quotes cells, and upload it again",
    })
  }
}

/** How many cells beyond the header are kept to show them. */
const extraCells = 20

const linesIn = (text: string): number => {
  let lines = 0
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

/** Looks for the end of a row without keeping its cells. */
class CellScan {
  readonly #delimiter: number
  readonly #quote: number
  #in: "start" | "cell" | "quoted" | "after quote" | "after return" = "start"
  isBroken = false

  constructor(delimiter: number, quote: number) {
    this.#delimiter = delimiter
    this.#quote = quote
  }

  get isQuoted(): boolean {
    return this.#in === "quoted"
  }

  /** Returns the start of the next row, or -1. */
  endOf(text: string, start: number, isLast: boolean): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#in === "quoted") {
        if (code === this.#quote) this.#in = "after quote"
        continue
      }
      if (this.#in === "after return") return code === newline ? at + 1 : at
      if (code === newline) return at + 1
      if (code === carriageReturn) this.#in = "after return"
      else if (code === this.#delimiter) this.#in = "start"
      else if (code === this.#quote && (this.#in === "start" || this.#in === "after quote")) this.#in = "quoted"
      else if (this.#in === "after quote") {
        this.isBroken = true
        return at
      } else this.#in = "cell"
    }
    return isLast && this.#in === "after return" ? text.length : -1
  }
}
