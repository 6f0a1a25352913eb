/** Writes the rows of CSV with csv-parse and SQL: node csvParse.ts FILE DATABASE COUNT. Prints its measurements. */
import { createReadStream } from "node:fs"
import { parse } from "csv-parse"
import { measured } from "./measured.ts"
import { plainInserts } from "./PlainInserts.ts"
import { columns } from "./posts.ts"

const [, , file = "", database = "", count = "0"] = process.argv
const inserts = await plainInserts(database)

const numbers = new Set<string>(["id", "time", "score", "parent", "descendants", "poll"])
const truths = new Set<string>(["deleted", "dead"])

await measured(Number(count), async () => {
  const rows = createReadStream(file).pipe(parse({ columns: true, bom: true })) as AsyncIterable<Readonly<Record<string, string>>>
  for await (const cells of rows) {
    const row: Record<string, string | number | boolean> = {}
    for (const column of columns) {
      const cell = cells[column]
      if (cell === undefined || cell === "") continue
      row[column] = numbers.has(column) ? Number(cell) : truths.has(column) ? cell === "true" : cell
    }
    inserts.add(row)
  }
  const written = inserts.end()
  if (written !== Number(count)) throw new Error(`${written} of ${count} rows were written`)
})
