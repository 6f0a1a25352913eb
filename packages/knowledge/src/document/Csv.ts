/**
 * Reads CSV of any size as text: it is cut where a record ends and read batch by batch. The delimiter is detected from the first
 * line, and so is whether that line names the columns.
 */

import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { DocumentMalformed } from "./ReadError.ts"
import { addRecord, columnAt, isHeader, type Reading, TextBuilder } from "./Reading.ts"
import type { Encoding } from "./TextDecoding.ts"

/** One record, with the names of its columns. */
export interface CsvRecord {
  /** Counted from 1, without the line that names the columns. */
  readonly number: number
  readonly columns: ReadonlyArray<string>
  readonly cells: ReadonlyArray<string>
}

/** The state of the reader between two batches of records. */
export interface CsvPosition {
  readonly lines: number
  readonly records: number
  /** Detected from the first line. */
  readonly delimiter: string | undefined
  readonly columns: ReadonlyArray<string> | undefined
}

export const csvStart: CsvPosition = { lines: 0, records: 0, delimiter: undefined, columns: undefined }

export const csvRecords = <E, R>(source: string, text: Stream.Stream<string, E, R>): Stream.Stream<CsvRecord, E | DocumentMalformed, R> =>
  Stream.suspend(() => {
    let at = csvStart
    return csvBatches(source, text).pipe(
      Stream.mapEffect((batch) =>
        Effect.map(readCsvBatch(source, batch, at), ({ records, next }) => {
          at = next
          return records
        }),
      ),
      Stream.flattenIterable,
    )
  })

/** Cuts a text into batches of whole records, each of at least `batchLength` except the last. */
export const csvBatches = <E, R>(source: string, text: Stream.Stream<string, E, R>): Stream.Stream<string, E | DocumentMalformed, R> =>
  Stream.suspend(() => {
    const cutter = new RecordCutter()
    const cut = Stream.mapEffect(text, (piece) =>
      Effect.suspend(() => {
        const batch = cutter.push(piece)
        if (cutter.held <= longestRecord) return Effect.succeed(batch)
        return Effect.fail(new DocumentMalformed({ source, format: "csv", line: cutter.lines + 1, problem: "a quoted cell does not end" }))
      }),
    )
    return Stream.filter(
      Stream.concat(
        cut,
        Stream.sync(() => cutter.end()),
      ),
      (batch) => batch.trim() !== "",
    )
  })

/** The records of a batch, and where the next batch continues. */
export const readCsvBatch = (source: string, batch: string, at: CsvPosition) =>
  Effect.gen(function* () {
    const { parse } = yield* Effect.promise(() => import("csv-parse/sync"))
    const delimiter = at.delimiter ?? delimiterOf(batch)
    const rows = yield* Effect.try({
      try: (): Array<Array<string>> => parse(batch, { delimiter, relax_column_count: true, skip_empty_lines: true, trim: true }),
      catch: (error) => malformed(source, describe(error), at.lines),
    })
    const first = rows[0]
    const namesColumns = at.columns === undefined && first !== undefined && isHeader(first)
    const columns = namesColumns ? first : (at.columns ?? [])
    const body = namesColumns ? rows.slice(1) : rows
    const next: CsvPosition = {
      lines: at.lines + countBreaks(batch),
      records: at.records + body.length,
      delimiter,
      columns: first === undefined ? at.columns : columns,
    }
    return { records: body.map((cells, index): CsvRecord => ({ number: at.records + index + 1, columns, cells })), next }
  })

/** The records as text with its map. */
export const csvReading = (records: Iterable<CsvRecord>, encoding: Encoding): Reading => {
  const builder = new TextBuilder()
  for (const record of records) addCsvRecord(builder, record)
  return builder.build(encoding)
}

const addCsvRecord = (builder: TextBuilder, { number, columns, cells }: CsvRecord): void =>
  addRecord(
    builder,
    { table: "", number, columns },
    cells.map((text, index) => [{ text, place: { _tag: "Cell", record: number, column: columnAt(columns, index) } }]),
  )

/** The longest record, in characters: an unclosed quotation mark would otherwise take the rest of the document. */
const longestRecord = 8_000_000

/** In characters. */
const batchLength = 256_000

/** Holds text until a record ends. Examines each character once. */
class RecordCutter {
  #held = ""
  /** Up to where the held text was examined, and the end of the last whole record in it. */
  #seen = 0
  #end = 0
  #isQuoted = false
  /** Line breaks in all text that was cut off. */
  lines = 0

  get held(): number {
    return this.#held.length - this.#end
  }

  push(piece: string): string {
    this.#held += piece
    for (; this.#seen < this.#held.length; this.#seen++) {
      const unit = this.#held.charCodeAt(this.#seen)
      if (unit === quotationMark) this.#isQuoted = !this.#isQuoted
      else if (unit === lineBreak && !this.#isQuoted) this.#end = this.#seen + 1
    }
    return this.#end < batchLength ? "" : this.#cut(this.#end)
  }

  end(): string {
    return this.#cut(this.#held.length)
  }

  #cut(end: number): string {
    const batch = this.#held.slice(0, end)
    this.#held = this.#held.slice(end)
    this.#seen -= end
    this.#end = 0
    this.lines += countBreaks(batch)
    return batch
  }
}

const countBreaks = (text: string): number => {
  let count = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++
  return count
}

/** The parser counts lines from the beginning of its batch. */
const malformed = (source: string, problem: string, linesBefore: number): DocumentMalformed => {
  const within = / (?:at|on) line (\d+)/.exec(problem)
  const line = linesBefore + Number(within?.[1] ?? 1)
  return new DocumentMalformed({ source, format: "csv", line, problem: problem.replace(/ (?:at|on) line \d+/, "") })
}

const quotationMark = 0x22
const lineBreak = 0x0a

/** The separator that is most frequent in the first line. */
const delimiterOf = (text: string): string => {
  const line = (text.split("\n", 1)[0] ?? "").replace(/"[^"]*"/g, "")
  const count = (mark: string) => line.split(mark).length
  return [",", ";", "\t", "|"].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}
