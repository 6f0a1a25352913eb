/** A process that is killed in the middle of storing a file of each format and encoding: the next one ends like one that never was. */
import { writeFileSync } from "node:fs"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workbook } from "../../../tables/test/support/workbook.ts"
import { databases } from "../support/Databases.ts"
import { makeDesk } from "../support/Desk.ts"
import { problemsOf } from "./Proof.ts"
import { WorkerProcess } from "./WorkerProcess.ts"

const batchId = "formats"
const count = 5000
const ids = Array.from({ length: count }, (_, index) => index + 1)

/** One of a hundred rows lacks its id. */
const hasId = (id: number) => id % 100 !== 0
const idOf = (id: number) => (hasId(id) ? `${id}` : "")
const cities = ["Zürich", "Köln", "Genève"]
const cityOf = (id: number) => cities[id % cities.length] as string

const csv = (delimiter: string) =>
  `id${delimiter}city\r\n${ids.map((id) => `${idOf(id)}${delimiter}"${cityOf(id)}${id % 7 === 0 ? "\r\nNorth" : ""}"\r\n`).join("")}`
const lines = ids.map((id) => JSON.stringify({ ...(hasId(id) ? { id } : {}), city: cityOf(id) }))
const sheet = workbook([{ name: "Cities", rows: [["id", "city"], ...ids.map((id) => [hasId(id) ? id : null, cityOf(id)])] }])

const [database = databases[0]] = databases

describe("killed while its items are stored", () => {
  it.live.each([
    ["cities.csv", Buffer.from(csv(",")), "csv"],
    ["cities.csv.gz", gzipSync(Buffer.from(csv(";"), "latin1")), "csv"],
    ["cities.tsv", Buffer.from(`\ufeff${csv("\t")}`, "utf16le"), "tsv"],
    ["cities.xlsx", sheet, "xlsx"],
    ["cities.json.zst", zstdCompressSync(Buffer.from(`[${lines.join(",\n")}]`, "utf16le").swap16()), "json"],
    ["cities.jsonl", Buffer.from(lines.join("\n"), "latin1"), "json-lines"],
  ] as const)("%s", ([name, bytes]) =>
    Effect.gen(function* () {
      const { address, folder } = yield* makeDesk(database as (typeof databases)[number])
      const path = `${folder}/${name}`
      writeFileSync(path, bytes)
      const expected = ids.map((id) => (hasId(id) ? id : undefined))
      const good = expected.filter((id) => id !== undefined).length
      const ended = yield* Effect.promise(async () => {
        const [one, two] = [new WorkerProcess(), new WorkerProcess()]
        try {
          // Every item is checked when the file is validated, and again when it is stored.
          const dies = { _tag: "Checking", items: good + 3000 } as const
          await one.begin({ address, batchId, nodeId: "uploader", kind: "Items", ask: { _tag: "Upload", path }, dies })
          expect(await one.finished).toBeUndefined()
          await two.begin({ address, batchId, nodeId: "uploader", ask: { _tag: "Resume" } })
          return await two.finished
        } finally {
          await Promise.all([one.kill(), two.kill()])
        }
      })
      expect(ended).toMatchObject({ state: "partially_completed", items: { total: count, stored: good } })
      expect(yield* Effect.promise(() => problemsOf(address, batchId, expected))).toEqual([])
    }),
  )
})
