/** The first rows of a file, with its columns. */
import { bytesOfRows, openRows, type Row, rowValues, type TableFile, type TableFormat, type TableProblem } from "@detent/tables"
import * as Effect from "effect/Effect"
import { tableLimits, type UploadLimits } from "../file/UploadLimits.ts"

export interface FirstRows {
  readonly rows: ReadonlyArray<Row>
  /** The columns of a table, or the keys of these rows of JSON. */
  readonly columns: ReadonlyArray<string>
  /** Whether there are fewer rows than requested because they are large. */
  readonly isBounded: boolean
}

/** The most bytes of the text of first rows; one row may have more. */
export const mostTextBytes = 8 * 1024 * 1024

interface FirstRowsOptions {
  readonly file: TableFile
  readonly table: TableFormat
  readonly limits: UploadLimits
  readonly count: number
  /** The file is the beginning of a longer one: its last row and how it ends do not count. */
  readonly isPart: boolean
}

export const firstRows = ({ file, table, limits, count, isPart }: FirstRowsOptions): Effect.Effect<FirstRows, TableProblem> =>
  Effect.scoped(
    Effect.gen(function* () {
      const source = yield* openRows({ file, format: table, limits: tableLimits(limits) })
      let rows: Array<Row> = []
      let bytes = 0
      let isBounded = false
      let isCut = false
      while (rows.length <= count && !isBounded) {
        // One row at a time of a part: the rows before its cut are returned before the cut is found.
        const page = yield* Effect.catch(source.take(isPart ? 1 : count + 1 - rows.length), (problem) => {
          isCut = true
          return isPart && (rows.length > 0 || problem._tag === "FileInvalid") ? Effect.succeed([]) : Effect.fail(problem)
        })
        if (page.length === 0) break
        for (const row of page) {
          bytes += bytesOfRows([row])
          isBounded = bytes > mostTextBytes && rows.length > 0 && rows.length < count
          if (isBounded) break
          rows.push(row)
        }
      }
      // The last row of a part may be cut off; one of an array of JSON is not returned then.
      if (isPart && !isCut && !isBounded && rows.length <= count && source.format() !== "json") rows = rows.slice(0, -1)
      const first = rows.slice(0, count)
      return { rows: first, columns: table.columns ?? keysOf(first), isBounded }
    }),
  )

/** The most keys of rows of JSON. */
const mostKeys = 2_000

const keysOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const keys = new Set<string>()
  for (const row of rows) {
    const values = row.problem === undefined ? rowValues(row) : undefined
    if (typeof values === "object" && values !== null && !Array.isArray(values)) for (const key of Object.keys(values)) keys.add(key)
    if (keys.size > mostKeys) break
  }
  return [...keys].slice(0, mostKeys)
}
