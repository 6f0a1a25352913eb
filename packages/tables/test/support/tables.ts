/** Reads tables in memory for tests. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { memoryFile, type OpenTableOptions, openTable, type Row, type TableFormat } from "../../src/index.ts"

/** Chunks of this many bytes, so that every place of a file is at the end of one. */
export const chunked = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))

export interface ReadTable {
  readonly format: TableFormat
  readonly rows: ReadonlyArray<Row>
}

export const readTable = (name: string, content: string | Uint8Array, options: OpenTableOptions & { readonly chunk?: number } = {}) => {
  const { chunk = 1_000_000, ...others } = options
  const file = memoryFile(name, chunked(typeof content === "string" ? Buffer.from(content) : content, chunk))
  return Effect.scoped(
    Effect.gen(function* () {
      const { format, rows } = yield* openTable(file, others)
      const read: ReadTable = { format, rows: yield* Stream.runCollect(rows) }
      return read
    }),
  )
}

/** The values of rows, or the problem and the text of a refused one. */
export const shown = ({ rows }: ReadTable) =>
  rows.map(({ text, problem, line }) => (problem === undefined ? JSON.parse(text ?? "null") : [problem, line, text]))
