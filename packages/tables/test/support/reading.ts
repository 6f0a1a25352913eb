/** Reads a table and prints the id or the problem of each row: node reading.ts FILE. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { localFile, openTable, rowValues } from "../../src/index.ts"

const [, , path = ""] = process.argv
const rows = await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(openTable(localFile(path), { limits: { maxUnpackRatio: 10_000 } }), (table) => Stream.runCollect(table.rows)),
  ),
)
console.log(JSON.stringify(rows.map((row) => row.problem ?? (rowValues(row) as { readonly id: string }).id)))
