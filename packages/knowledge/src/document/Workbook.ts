/** Reads the visible sheets of a workbook: each is a table, whose rows are records. */
import { defaultTableLimits, FileInvalid, memoryFile, openTable, type Row, rowValues, sheetsOf, type TableProblem } from "@detent/tables"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { DocumentMalformed } from "./ReadError.ts"
import { addRecord, type Reading, TextBuilder } from "./Reading.ts"

export const readWorkbook = (source: string, bytes: Uint8Array): Effect.Effect<Reading, DocumentMalformed> =>
  Effect.gen(function* () {
    const file = memoryFile(source, [bytes])
    const builder = new TextBuilder()
    for (const sheet of yield* sheetsOf(file, defaultTableLimits)) {
      const { format, rows } = yield* openTable(file, { format: "xlsx", sheet })
      const columns = format.columns ?? []
      yield* Stream.runForEach(rows, (some) => Effect.sync(() => addRow(builder, some, columns, sheet)))
    }
    return builder.build(undefined)
  }).pipe(
    Effect.scoped,
    Effect.mapError((problem) => new DocumentMalformed({ source, format: "xlsx", problem: problemText(problem) })),
  )

const problemText = (problem: TableProblem): string => (problem instanceof FileInvalid ? problem.problem : problem.message)

const addRow = (builder: TextBuilder, row: Row, columns: ReadonlyArray<string>, sheet: string): void => {
  const values = rowValues(row)
  if (typeof values !== "object" || values === null || Array.isArray(values)) return
  const cells = columns.map((column) => (values as Readonly<Record<string, unknown>>)[column])
  const number = row.index + 1
  addRecord(
    builder,
    { table: sheet, number, columns },
    cells.map((value, index) => [
      { text: value === undefined ? "" : String(value), place: { _tag: "Cell", record: number, column: columns[index] ?? "", sheet } },
    ]),
    cells,
  )
}
