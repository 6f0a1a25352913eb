/** Writes the rows of lines of JSON with nothing but SQL: node plainLines.ts FILE DATABASE COUNT. Prints its measurements. */
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import { measured } from "./measured.ts"
import { plainInserts } from "./PlainInserts.ts"

const [, , file = "", database = "", count = "0"] = process.argv
const inserts = await plainInserts(database)

await measured(Number(count), async () => {
  for await (const line of createInterface({ input: createReadStream(file) })) inserts.add(JSON.parse(line))
  const written = inserts.end()
  if (written !== Number(count)) throw new Error(`${written} of ${count} rows were written`)
})
