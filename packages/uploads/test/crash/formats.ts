/** A process that is killed in the middle of storing a file of each format and encoding: the next one ends like one that never was. */
import { writeFileSync } from "node:fs"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workbook } from "../../../tables/test/support/workbook.ts"
import type { Database } from "../support/Databases.ts"
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

const texts = { csv: csv(","), "semicolons.csv": csv(";"), tsv: csv("\t"), json: `[${lines.join(",\n")}]`, jsonl: lines.join("\n") }

const encodings = {
  "UTF-8": (text: string) => Buffer.from(text),
  "UTF-8 with a mark": (text: string) => Buffer.from(`\ufeff${text}`),
  "UTF-16 LE with a mark": (text: string) => Buffer.from(`\ufeff${text}`, "utf16le"),
  "UTF-16 BE": (text: string) => Buffer.from(text, "utf16le").swap16(),
  "Latin-1": (text: string) => Buffer.from(text, "latin1"),
}

const packings = {
  plain: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gzipSync(bytes),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
}

export interface FormatCase {
  readonly ending: keyof typeof texts | "xlsx"
  readonly encoding: keyof typeof encodings
  readonly packing: keyof typeof packings
}

const bytesOf = ({ ending, encoding, packing }: FormatCase): Buffer =>
  ending === "xlsx"
    ? workbook([{ name: "Cities", rows: [["id", "city"], ...ids.map((id) => [hasId(id) ? id : null, cityOf(id)])] }])
    : packings[packing](encodings[encoding](texts[ending]))

/** Every format in every encoding; the packings take turns. */
export const allFormats: ReadonlyArray<FormatCase> = [
  ...(Object.keys(texts) as ReadonlyArray<keyof typeof texts>).flatMap((ending, row) =>
    (Object.keys(encodings) as ReadonlyArray<keyof typeof encodings>).map((encoding, column): FormatCase => {
      const packing = (["plain", "gzip", "zstd"] as const)[(row + column) % 3] ?? "plain"
      return { ending, encoding, packing }
    }),
  ),
  { ending: "xlsx", encoding: "UTF-8", packing: "plain" },
]

/** The tests of these files. */
export const killedFormats = (database: Database, cases: ReadonlyArray<FormatCase>) =>
  describe(`on ${database.name}, killed while its items are stored`, () => {
    it.live.each(cases)("$ending, $encoding, $packing", (one) =>
      Effect.gen(function* () {
        const { address, folder } = yield* makeDesk(database)
        const path = `${folder}/cities.${one.ending}`
        writeFileSync(path, bytesOf(one))
        const expected = ids.map((id) => (hasId(id) ? id : undefined))
        const good = expected.filter((id) => id !== undefined).length
        const ended = yield* Effect.promise(async () => {
          const [first, second] = [new WorkerProcess(), new WorkerProcess()]
          try {
            // Every item is checked when the file is validated, and again when it is stored.
            const dies = { _tag: "Checking", items: good + 3000 } as const
            await first.begin({ address, batchId, nodeId: "uploader", kind: "Items", ask: { _tag: "Upload", path }, dies })
            expect(await first.finished).toBeUndefined()
            await second.begin({ address, batchId, nodeId: "uploader", ask: { _tag: "Resume" } })
            return await second.finished
          } finally {
            await Promise.all([first.kill(), second.kill()])
          }
        })
        expect(ended).toMatchObject({ state: "partially_completed", items: { total: count, stored: good } })
        expect(yield* Effect.promise(() => problemsOf(address, batchId, expected))).toEqual([])
      }),
    )
  })
