/**
 * CSV as text, of any size: it is cut where a record ends and read batch by batch. What separates the cells is found out from the
 * first line, and so is whether that line names the columns.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { describe } from "../storage/Describe.ts"
import { DocumentMalformed } from "./ReadError.ts"
import { type Reading, TextBuilder } from "./Reading.ts"
import { addRecord, isHeader } from "./Records.ts"
import type { Encoding } from "./TextDecoding.ts"

/** One record, with the names of its columns. */
export interface CsvRecord {
  /** Counted from 1, without the line that names the columns. */
  readonly number: number
  readonly columns: ReadonlyArray<string>
  readonly cells: ReadonlyArray<string>
}

export const csvRecords = <E, R>(source: string, text: Stream.Stream<string, E, R>): Stream.Stream<CsvRecord, E | DocumentMalformed, R> =>
  Stream.unwrap(
    Effect.map(
      Effect.promise(() => import("csv-parse/sync")),
      ({ parse }) => {
        const table = new Table(source, (batch, delimiter) =>
          parse(batch, { delimiter, relax_column_count: true, skip_empty_lines: true, trim: true }),
        )
        const step = (read: () => ReadonlyArray<CsvRecord>) =>
          Effect.try({ try: read, catch: (error) => (error instanceof DocumentMalformed ? error : table.malformed(describe(error))) })
        return Stream.mapEffect(text, (piece) => step(() => table.push(piece))).pipe(
          Stream.concat(Stream.fromEffect(step(() => table.end()))),
          Stream.flattenIterable,
        )
      },
    ),
  )

/** The records as text with its map. */
export const csvReading = (records: Iterable<CsvRecord>, encoding: Encoding): Reading => {
  const builder = new TextBuilder()
  for (const record of records) addCsvRecord(builder, record)
  return builder.build(encoding)
}

/** One record as text. */
export const csvRecordText = (record: CsvRecord): string => {
  const builder = new TextBuilder()
  addCsvRecord(builder, record)
  return builder.build(undefined).text
}

const addCsvRecord = (builder: TextBuilder, { number, columns, cells }: CsvRecord): void =>
  addRecord(
    builder,
    columns,
    cells.map((text, index) => [{ text, place: { _tag: "Cell", record: number, column: columns[index] ?? `column ${index + 1}` } }]),
  )

type ParseRows = (batch: string, delimiter: string) => Array<Array<string>>

/** No cell is longer than this: a quotation mark that is never closed would otherwise take the rest of the document. */
const longestRecord = 8_000_000

class Table {
  readonly #source: string
  readonly #parse: ParseRows
  #held = ""
  #lines = 0
  #records = 0
  #delimiter: string | undefined
  #columns: ReadonlyArray<string> | undefined

  constructor(source: string, parse: ParseRows) {
    this.#source = source
    this.#parse = parse
  }

  push(piece: string): ReadonlyArray<CsvRecord> {
    this.#held += piece
    const end = lastRecordEnd(this.#held)
    if (end === 0) {
      if (this.#held.length > longestRecord) throw this.malformed("a quoted cell does not end")
      return []
    }
    const batch = this.#held.slice(0, end)
    this.#held = this.#held.slice(end)
    return this.#read(batch)
  }

  end(): ReadonlyArray<CsvRecord> {
    const batch = this.#held
    this.#held = ""
    return this.#read(batch)
  }

  malformed(problem: string): DocumentMalformed {
    // The parser counts from the beginning of its batch.
    const within = / (?:at|on) line (\d+)/.exec(problem)
    const line = this.#lines + Number(within?.[1] ?? 1)
    return new DocumentMalformed({ source: this.#source, format: "csv", line, problem: problem.replace(/ (?:at|on) line \d+/, "") })
  }

  #read(batch: string): ReadonlyArray<CsvRecord> {
    if (batch.trim() === "") return []
    this.#delimiter ??= delimiterOf(batch)
    const rows = this.#parse(batch, this.#delimiter)
    this.#lines += batch.split("\n").length - 1
    const first = rows[0]
    if (this.#columns === undefined && first !== undefined) this.#columns = isHeader(first) ? (rows.shift() ?? []) : []
    const columns = this.#columns ?? []
    return rows.map((cells) => ({ number: ++this.#records, columns, cells }))
  }
}

/** Behind the last line break that stands outside of quotation marks. */
const lastRecordEnd = (text: string): number => {
  let end = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quotationMark) isQuoted = !isQuoted
    else if (unit === lineBreak && !isQuoted) end = at + 1
  }
  return end
}

const quotationMark = 0x22
const lineBreak = 0x0a

/** What stands most often in the first line. */
const delimiterOf = (text: string): string => {
  const line = (text.split("\n", 1)[0] ?? "").replace(/"[^"]*"/g, "")
  const count = (mark: string) => line.split(mark).length
  return [",", ";", "\t", "|"].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}
