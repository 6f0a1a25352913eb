/** Reads the rows of a file a few at a time, from its start or after a row. */
import { createHash } from "node:crypto"
import { releasing } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { fileProblem } from "./bytes/FileBytes.ts"
import { TextBytes } from "./bytes/TextBytes.ts"
import { CsvSplitter } from "./csv/CsvSplitter.ts"
import { JsonSplitter } from "./json/JsonSplitter.ts"
import { bytesOfRows, type Position, type Row } from "./Row.ts"
import type { FileStamp, OpenedFile, TableFile } from "./TableFile.ts"
import type { Format, TableFormat } from "./TableFormat.ts"
import type { TableLimits } from "./TableLimits.ts"
import { isTableProblem, type TableProblem } from "./TableProblem.ts"
import { readSheet, SheetRows } from "./xlsx/SheetRows.ts"
import { Workbook } from "./xlsx/Workbook.ts"

export interface RowsOptions {
  readonly file: TableFile
  /** As {@link inspectTable} found it. */
  readonly format: TableFormat
  readonly limits: TableLimits
  /** Reads on after a row of the same file. */
  readonly from?: Position
}

/** The limit of bytes in memory, plus one row and what a source returns at once. */
const pageBytes = 4_000_000

/** A source that makes rows as they are taken returns them at this many bytes. */
const someBytes = 250_000

export interface Rows {
  /** Returns at least one row and at most `limit`, fewer if they are large; none at the end of the file. */
  readonly take: (limit: number) => Effect.Effect<ReadonlyArray<Row>, TableProblem>
  /** Bytes of the file read so far, before unpacking. */
  readonly readBytes: () => number
  /** The format, which for JSON is certain once a row was read. */
  readonly format: () => Format
  /** The current size and time of the open file, also where another file has taken its name or it was deleted. */
  readonly stamp: Effect.Effect<FileStamp, TableProblem>
  /** The MD5 of the file, once it has been read from its start to its end; empty where it was read from a position. */
  readonly md5: Effect.Effect<string, TableProblem>
}

/** Some rows. `bytes`: of their text, or of the text that they were read from where that is more. */
interface SomeRows {
  readonly rows: ReadonlyArray<Row>
  readonly bytes: number
}

/** Rows as they come, in the order of the file. */
interface RowSource {
  /** Some rows, perhaps none; undefined at the end. */
  next(): Promise<SomeRows | undefined>
  readBytes(): number
  format(): Format
  stamp(): Promise<FileStamp>
  md5(): Promise<string>
  close(): Promise<void>
}

/** Opens the rows of a file, and closes it with the scope. */
export const openRows = (options: RowsOptions): Effect.Effect<Rows, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { file, format } = options
    const source = yield* Effect.acquireRelease(
      Effect.sync(() => (format.format === "xlsx" ? new SheetSource(options) : new TextSource(options))),
      (open) => releasing(file.name, () => open.close()),
    )
    let isEnded = false
    /** Rows of the last chunk beyond the requested number: thousands if a row is one digit. */
    let left: ReadonlyArray<Row> = []
    const take = async (limit: number): Promise<ReadonlyArray<Row>> => {
      let taken = left
      let length = 0
      while (!isEnded && (taken.length === 0 || (taken.length < limit && length < pageBytes))) {
        const some = await source.next()
        isEnded = some === undefined
        length += some?.bytes ?? 0
        const more = some?.rows ?? []
        taken = taken.length === 0 ? more : more.length === 0 ? taken : [...taken, ...more]
      }
      left = taken.slice(limit)
      return taken.slice(0, limit)
    }
    return {
      take: (limit) => reading(() => take(limit)),
      stamp: reading(() => source.stamp()),
      readBytes: () => source.readBytes(),
      format: () => source.format(),
      md5: reading(() => source.md5()),
    }
  })

/** Sources reject with table problems; any other error is a defect of this program. */
const reading = <A>(read: () => Promise<A>): Effect.Effect<A, TableProblem> =>
  Effect.catchDefect(Effect.promise(read), (defect) => (isTableProblem(defect) ? Effect.fail(defect) : Effect.die(defect)))

/** The rows of a text: CSV, TSV or JSON. */
class TextSource implements RowSource {
  readonly #text: TextBytes
  readonly #splitter: CsvSplitter | JsonSplitter
  readonly #format: Format
  #isEnded = false

  constructor({ file, format, limits, from }: RowsOptions) {
    const resumed = from !== undefined && from.index > 0 ? from : undefined
    const { compression, encoding, delimiter = ",", quote = '"', header = true, columns = [] } = format
    const { maxRowBytes } = limits
    this.#format = format.format
    this.#text = new TextBytes({ file, compression, encoding, limits, offset: resumed?.offset ?? 0 })
    const layout = format.format === "json" ? "array" : "lines"
    this.#splitter =
      format.format === "csv" || format.format === "tsv"
        ? new CsvSplitter({
            file: file.name,
            delimiter,
            quote,
            header,
            columns,
            maxRowBytes,
            ...(resumed === undefined ? {} : { from: resumed }),
          })
        : new JsonSplitter({ file: file.name, maxRowBytes, ...(resumed === undefined ? {} : { from: { layout, position: resumed } }) })
  }

  async next() {
    if (this.#isEnded) return undefined
    const chunk = await this.#text.next()
    this.#isEnded = chunk === undefined
    const rows = chunk === undefined ? this.#splitter.end() : this.#splitter.push(chunk)
    // Rows have the names of their columns, which can be longer than their cells.
    return { rows, bytes: Math.max(chunk?.length ?? 0, bytesOfRows(rows)) }
  }

  readBytes() {
    return this.#text.bytes.readBytes
  }

  format(): Format {
    if (!(this.#splitter instanceof JsonSplitter)) return this.#format
    const { layout } = this.#splitter
    return layout === undefined ? this.#format : layout === "array" ? "json" : "json-lines"
  }

  stamp() {
    return this.#text.bytes.stamp()
  }

  md5() {
    return Promise.resolve(this.#text.bytes.md5())
  }

  close() {
    return this.#text.bytes.close()
  }
}

/** The rows of a sheet. Reading after a row unpacks the sheet from its start. */
class SheetSource implements RowSource {
  readonly #options: RowsOptions
  readonly #sheet: SheetRows
  readonly #rows: AsyncGenerator<SomeRows, undefined>
  #opened: Promise<OpenedFile> | undefined
  #workbook: Workbook | undefined

  constructor(options: RowsOptions) {
    const { columns = [], header = true } = options.format
    this.#options = options
    this.#sheet = new SheetRows(columns, header)
    this.#rows = this.#read(options.from?.index ?? 0)
  }

  async next() {
    try {
      return (await this.#rows.next()).value
    } catch (cause) {
      throw fileProblem(this.#options.file.name, cause)
    }
  }

  /** The text of rows can be much longer than the sheet, whose cells refer to shared texts: it is made a few rows at a time. */
  async *#read(from: number): AsyncGenerator<SomeRows, undefined> {
    const { file, format, limits } = this.#options
    const workbook = await Workbook.open(file.name, await this.#open(), limits)
    this.#workbook = workbook
    let rows: Array<Row> = []
    let bytes = 0
    for await (const read of readSheet(workbook, workbook.sheet(format.sheet).part, limits)) {
      for (const cells of read) {
        const row = this.#sheet.next(cells, from)
        if (row === undefined) continue
        rows.push(row)
        bytes += row.text?.length ?? 0
        if (bytes < someBytes) continue
        yield { rows, bytes }
        rows = []
        bytes = 0
      }
      if (rows.length > 0) yield { rows, bytes }
      rows = []
      bytes = 0
    }
    return undefined
  }

  #open(): Promise<OpenedFile> {
    this.#opened ??= this.#options.file.open()
    return this.#opened
  }

  readBytes() {
    return this.#workbook?.archive.readBytes ?? 0
  }

  format(): Format {
    return "xlsx"
  }

  async stamp() {
    try {
      return await (await this.#open()).stamp()
    } catch (cause) {
      throw fileProblem(this.#options.file.name, cause)
    }
  }

  /** The parts of an archive are not read in their order, so that the file is read once more. */
  async md5() {
    if ((this.#options.from?.index ?? 0) > 0) return ""
    try {
      const hash = createHash("md5")
      for await (const chunk of (await this.#open()).read(0)) hash.update(chunk)
      return hash.digest("hex")
    } catch (cause) {
      throw fileProblem(this.#options.file.name, cause)
    }
  }

  async close() {
    await this.#rows.return?.(undefined)
    const file = await this.#opened?.catch(() => undefined)
    await file?.close()
  }
}
