/**
 * A table in a file: CSV, TSV, XLSX, JSON or JSON lines, plain or packed with gzip or zstd, in any common encoding.
 *
 * ```ts
 * const table = yield* openTable(localFile("customers.csv"))
 * console.log(formatText(table.format)) // csv, windows-1252, delimiter ;, 12 columns
 * yield* Stream.runForEach(table.rows, (row) => Effect.log(row.line, rowValues(row)))
 * ```
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { inspectTable } from "./inspect/inspectTable.ts"
import type { Position, Row } from "./Row.ts"
import { openRows } from "./Rows.ts"
import type { TableFile } from "./TableFile.ts"
import type { TableFormat, TableOptions } from "./TableFormat.ts"
import { defaultTableLimits, type TableLimits } from "./TableLimits.ts"
import type { TableProblem } from "./TableProblem.ts"

export interface OpenTableOptions extends TableOptions {
  readonly limits?: Partial<TableLimits>
  /** Reads on after a row, at its {@link behind}. */
  readonly from?: Position
}

export interface Table {
  /** What was found in the file, and what the options say. */
  readonly format: TableFormat
  /** All rows, in the order of the file. Memory is bounded: rows are read as they are taken. */
  readonly rows: Stream.Stream<Row, TableProblem>
}

/** Opens a table, and closes its file with the scope. The rows can be taken once. */
export const openTable = (
  file: TableFile,
  { limits: changed, from, ...given }: OpenTableOptions = {},
): Effect.Effect<Table, TableProblem, Scope.Scope> =>
  Effect.gen(function* () {
    const limits = { ...defaultTableLimits, ...changed }
    const { format } = yield* inspectTable(file, given, limits)
    const rows = yield* openRows({ file, format, limits, ...(from === undefined ? {} : { from }) })
    const pages = Stream.paginate(undefined, () =>
      Effect.map(rows.take(pageRows), (page) => [page, page.length === 0 ? Option.none() : Option.some(undefined)] as const),
    )
    return { format, rows: pages }
  })

const pageRows = 1000

/** The value of a row: an object with a key for each column, or any value of a JSON file; undefined where it is no JSON. */
export const rowValues = ({ text }: Row): Schema.Json | undefined => {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Schema.Json
  } catch {
    // The text of an invalid item is in its row.
    return undefined
  }
}
