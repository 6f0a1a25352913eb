/** Reads a file of corrected items, as `failureFile` wrote it or with fewer rows and columns, and corrects them page by page. */
import type { PersistenceFailed } from "@detent/machine"
import {
  defaultTableLimits,
  FileInvalid,
  inspectTable,
  openRows,
  type Row,
  type TableFile,
  type TableFormat,
  type TableOptions,
  type TableProblem,
} from "@detent/tables"
import * as Effect from "effect/Effect"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import type { Kind, Uploading } from "../stages/Uploading.ts"
import { uncell } from "./Cells.ts"
import { type Correction, type CorrectionRefusal, type CorrectionResult, correctItems } from "./CorrectItems.ts"
import { failureColumns } from "./FailureFile.ts"

/** A row of the file whose correction is not used. */
export interface RefusedCorrection {
  /** The line of the file of corrections, or the row of its sheet. */
  readonly line: number
  /** The item, if the row says which. */
  readonly item: number | undefined
  readonly refusal: CorrectionRefusal
  readonly message: string
}

/** What a file of corrections changed. */
export interface CorrectionReport {
  readonly rows: number
  /** Items with other content, which the next retry stores. */
  readonly corrected: number
  /** Rows that are as the failed items are, or that were sent before. */
  readonly unchanged: number
  readonly refused: number
  /** The first refused rows. */
  readonly refusals: ReadonlyArray<RefusedCorrection>
}

/** How many refused rows a report lists. */
const mostRefusals = 100

const pageRows = 1000

/** Corrects the failed items of a batch. A file that is sent again after it was cut off changes nothing twice. */
export const correctFromFile = (
  uploading: Uploading,
  kind: Kind,
  batch: number,
  { table, totalItemsInFile }: UploadBatch,
  file: TableFile,
  given: TableOptions,
): Effect.Effect<CorrectionReport, TableProblem | PersistenceFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes, maxColumns } = uploading.limits
      const limits = {
        ...defaultTableLimits,
        maxFileBytes,
        maxUnpackedBytes,
        maxUnpackRatio,
        maxColumns: maxColumns + Object.keys(failureColumns).length,
        // An item with the keys and problems beside it.
        maxRowBytes: 2 * maxItemBytes,
      }
      const { format } = yield* inspectTable(file, given, limits)
      yield* checkColumns(file.name, format, kind, table)
      // A file that cannot be read to its end corrects nothing.
      yield* Effect.scoped(
        Effect.flatMap(openRows({ file, format, limits }), (rows) =>
          Effect.repeat(rows.take(pageRows), { until: ({ length }) => length === 0 }),
        ),
      )
      const rows = yield* openRows({ file, format, limits })
      const read = rowReader(format)
      const seen = new SeenItems(totalItemsInFile)
      const report = new Report()
      for (;;) {
        const page = yield* rows.take(pageRows)
        if (page.length === 0) return report.value()
        const corrections: Array<Correction & { readonly line: number }> = []
        const outcomes: Array<Outcome> = []
        const refuse = (line: number, item: number | undefined, refusal: CorrectionRefusal, message: string) =>
          outcomes.push({ line, item, result: { _tag: "Refused", refusal, message } })
        for (const row of page) {
          const found = read(row)
          const { line } = row
          if ("problem" in found) refuse(line, found.item, "bad_row", found.problem)
          else if (seen.add(found.index)) corrections.push({ ...found, line })
          else refuse(line, found.index, "repeated", `item ${found.index} is in the file before; only its first row is used`)
        }
        const results = yield* correctItems(uploading, kind, batch, corrections)
        for (const [position, { line, index: item }] of corrections.entries()) {
          const result = results[position]
          if (result !== undefined) outcomes.push({ line, item, result })
        }
        for (const outcome of outcomes.toSorted((left, right) => left.line - right.line)) report.add(outcome)
      }
    }),
  )

/** Refuses a table that does not say which items it corrects, or with columns that the items do not have. */
const checkColumns = (
  file: string,
  { columns }: TableFormat,
  { isTable }: Kind,
  original: TableFormat | undefined,
): Effect.Effect<void, FileInvalid> => {
  if (columns === undefined) return Effect.void
  const refuse = (problem: string, next: string) => Effect.fail(new FileInvalid({ file, problem, next }))
  const own = failureColumns.item
  if (!columns.includes(own))
    return refuse(`it has no column ${own}, which says the item of each row`, "correct the file of failures, and keep this column")
  if (!isTable || original?.columns === undefined) return Effect.void
  const known = new Set<string>([...original.columns, ...Object.values(failureColumns)])
  const unknown = columns.find((column) => !known.has(uncell(column)) && !/^column \d{1,6}$/.test(column))
  if (unknown === undefined) return Effect.void
  return refuse(
    `its column ${JSON.stringify(unknown.slice(0, 100))} is not in the uploaded file`,
    `use the columns of the file of failures: ${original.columns.slice(0, 20).join(", ").slice(0, 500)}`,
  )
}

type Found = Correction | { readonly problem: string; readonly item: number | undefined }

const rowReader = ({ format }: TableFormat): ((row: Row) => Found) =>
  format === "json" || format === "json-lines" ? correctionOfJson : correctionOfCells

const rowProblems: Readonly<Record<NonNullable<Row["problem"]>, string>> = {
  too_large: "the row is too large",
  too_short: "the row has fewer cells than the header",
  too_long: "the row has more cells than the header",
  quote: "a quote of the row is not closed, or text follows its end",
  header_repeated: "the row is the header once more",
}

const correctionOfCells = ({ text, problem }: Row): Found => {
  if (problem !== undefined || text === undefined) return { problem: rowProblems[problem ?? "too_large"], item: undefined }
  const cells = new Map<string, string>()
  for (const [column, cell] of Object.entries(JSON.parse(text) as Readonly<Record<string, string | number | boolean>>))
    cells.set(uncell(column), String(cell))
  const index = indexOf(cells.get(failureColumns.item))
  if (index === undefined) return { problem: `its ${failureColumns.item} is not the number of an item`, item: undefined }
  const id = uncell(cells.get(failureColumns.id) ?? "")
  for (const column of Object.values(failureColumns)) cells.delete(column)
  return { index, cells, ...(id === "" ? {} : { id }) }
}

const correctionOfJson = ({ text, problem }: Row): Found => {
  if (problem !== undefined || text === undefined) return { problem: rowProblems[problem ?? "too_large"], item: undefined }
  const value = valueOf(text)
  if (typeof value !== "object" || value === null) return { problem: "it is not a JSON object", item: undefined }
  const { item, id: given, content, cells } = value as Readonly<Record<"item" | "id" | "content" | "cells", unknown>>
  const index = indexOf(item)
  if (index === undefined) return { problem: "its `item` is not the number of an item", item: undefined }
  const id = typeof given === "string" && given !== "" ? { id: given } : {}
  if (isObject(content)) return { index, content, ...id }
  if (isObject(cells)) return { index, ...id, cells: new Map(Object.entries(cells).map(([column, cell]) => [column, String(cell ?? "")])) }
  return { problem: "its `content` is not an object: write the corrected item there, or changed fields as `cells`", item: index }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value)

const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The row is refused with its line.
    return undefined
  }
}

const indexOf = (value: unknown): number | undefined => {
  const text = typeof value === "number" ? String(value) : value
  return typeof text === "string" && /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
}

/** The items that the file has corrected: a bit for each item of the batch. */
class SeenItems {
  readonly #bits: Uint8Array

  constructor(items: number) {
    this.#bits = new Uint8Array(Math.ceil(items / 8))
  }

  /** Returns false for an item that was added before. Items that the batch does not have are refused elsewhere. */
  add(index: number): boolean {
    const byte = this.#bits[index >>> 3]
    if (index > 2 ** 31 || byte === undefined) return true
    const bit = 1 << (index & 7)
    this.#bits[index >>> 3] = byte | bit
    return (byte & bit) === 0
  }
}

/** The result of a row. */
interface Outcome {
  readonly line: number
  readonly item: number | undefined
  readonly result: CorrectionResult
}

class Report {
  #rows = 0
  #corrected = 0
  #unchanged = 0
  #refused = 0
  readonly #refusals: Array<RefusedCorrection> = []

  add({ line, item, result }: Outcome) {
    this.#rows++
    if (result._tag === "Corrected") this.#corrected++
    else if (result._tag === "Unchanged") this.#unchanged++
    else {
      this.#refused++
      const { refusal, message } = result
      if (this.#refusals.length < mostRefusals) this.#refusals.push({ line, item, refusal, message: message.slice(0, 600).toWellFormed() })
    }
  }

  value(): CorrectionReport {
    return {
      rows: this.#rows,
      corrected: this.#corrected,
      unchanged: this.#unchanged,
      refused: this.#refused,
      refusals: this.#refusals,
    }
  }
}
