import { randomBytes } from "node:crypto"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { behind, defaultTableLimits, formatText, inspectTable, memoryFile, openRows, openTable, type Row } from "../src/index.ts"
import { readTable, shown } from "./support/tables.ts"
import { workbook } from "./support/workbook.ts"

const names = ["Zürich", "Köln", "Łódź"]
const csv = `id;city;size\r\n${names.map((city, index) => `${index + 1};${city};"${index},5"`).join("\r\n")}\r\n`
const rows = names.map((city, index) => ({ id: `${index + 1}`, city, size: `${index},5` }))

const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16()
/** Without the letters that Latin-1 has not. */
const latin = csv.replace("Łódź", "Gänse")
const latinRows = rows.map((row) => (row.city === "Łódź" ? { ...row, city: "Gänse" } : row))

describe("the format of a file is found", () => {
  it.effect.each([
    ["UTF-8", Buffer.from(csv), "utf-8", rows],
    ["UTF-8 with a mark", Buffer.from(`\ufeff${csv}`), "utf-8", rows],
    ["UTF-16 LE with a mark", Buffer.from(`\ufeff${csv}`, "utf16le"), "utf-16le", rows],
    ["UTF-16 LE", Buffer.from(csv, "utf16le"), "utf-16le", rows],
    ["UTF-16 BE with a mark", utf16be(`\ufeff${csv}`), "utf-16be", rows],
    ["UTF-16 BE", utf16be(csv), "utf-16be", rows],
    ["Latin-1", Buffer.from(latin, "latin1"), "windows-1252", latinRows],
  ] as const)("%s, plain and packed, however its bytes come", ([, bytes, encoding, expected]) =>
    Effect.gen(function* () {
      for (const [content, compression] of [
        [bytes, "none"],
        [gzipSync(bytes), "gzip"],
        [zstdCompressSync(bytes), "zstd"],
      ] as const) {
        for (const chunk of [1, 7, 100_000]) {
          const table = yield* readTable("cities", content, { chunk })
          expect(table.format).toEqual({
            format: "csv",
            compression,
            encoding,
            delimiter: ";",
            quote: '"',
            header: true,
            columns: ["id", "city", "size"],
          })
          expect(shown(table)).toEqual(expected)
        }
      }
    }),
  )

  it.effect("quotes, dashes and the euro sign of Windows-1252", () =>
    Effect.gen(function* () {
      const bytes = Buffer.concat([Buffer.from("id,price\n1,"), Buffer.from([0x80, 0x31, 0x92, 0x96]), Buffer.from("\n")])
      expect(shown(yield* readTable("prices.csv", bytes))).toEqual([{ id: "1", price: "€1’–" }])
      expect(shown(yield* readTable("prices.csv", bytes, { encoding: "latin-1" }))).toEqual([{ id: "1", price: "\u00801\u0092\u0096" }])
    }),
  )

  it.effect.each([
    [",", "a,b;c\n1,2;3\n4,5;6\n", ["a", "b;c"]],
    [";", "a;b\n1,5;2,5\n3,5;4,5\n", ["a", "b"]],
    ["\t", "a\tb c\n1, 2\t3\n", ["a", "b c"]],
    ["|", "a|b\n1|2\n", ["a", "b"]],
    [",", "'a','b'\n'1,5','it''s'\n", ["a", "b"]],
    [",", "word\nHouse\n", ["word"]],
  ] as const)("the delimiter %s of %j", ([delimiter, text, columns]) =>
    Effect.gen(function* () {
      const { format } = yield* readTable("table.csv", text)
      expect([format.delimiter, format.columns]).toEqual([delimiter, columns])
      expect(format.format).toBe(delimiter === "\t" ? "tsv" : "csv")
    }),
  )

  it.effect("a file whose first row has numbers has no header, and the user may say so", () =>
    Effect.gen(function* () {
      const bare = yield* readTable("table", "1,Ada\n2,Bob\n")
      expect(bare.format).toMatchObject({ header: false, columns: ["column 1", "column 2"] })
      expect(shown(bare)).toEqual([
        { "column 1": "1", "column 2": "Ada" },
        { "column 1": "2", "column 2": "Bob" },
      ])
      const named = yield* readTable("table", "Ada,x\nBob,y\n", { header: false })
      expect(named.rows).toHaveLength(2)
      expect(formatText(named.format)).toBe("csv, utf-8, delimiter ,, 2 columns, without a header")
    }),
  )

  it.effect("JSON and lines of JSON in any encoding", () =>
    Effect.gen(function* () {
      const items = [{ id: 1, name: "Zürich" }, { id: 2 }]
      const lines = items.map((item) => JSON.stringify(item)).join("\n")
      for (const bytes of [Buffer.from(lines), Buffer.from(lines, "utf16le"), Buffer.from(lines, "latin1"), gzipSync(utf16be(lines))]) {
        const table = yield* readTable("items", bytes, { chunk: 5 })
        expect(table.format.format).toBe("json-lines")
        expect(shown(table)).toEqual(items)
      }
      const array = yield* readTable("items.json", zstdCompressSync(JSON.stringify(items)))
      expect(array.format).toMatchObject({ format: "json", compression: "zstd" })
      expect(shown(array)).toEqual(items)
    }),
  )

  it.effect("what is no table is refused", () =>
    Effect.gen(function* () {
      const refused = (name: string, content: string | Uint8Array, options = {}) => Effect.flip(readTable(name, content, options))
      expect(yield* refused("a.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]))).toMatchObject({ _tag: "UnsupportedContentType" })
      expect(yield* refused("a.txt", "only words\nin lines\n")).toMatchObject({ _tag: "UnsupportedContentType" })
      expect(yield* refused("a.xls", Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1]))).toMatchObject({
        message: expect.stringContaining("save it as XLSX"),
      })
      expect(yield* refused("a.csv", "")).toMatchObject({ _tag: "FileInvalid", problem: "it is empty" })
      expect(yield* refused("a", csv, { format: "xlsx" })).toMatchObject({
        _tag: "FileInvalid",
        problem: expect.stringContaining("not xlsx"),
      })
      expect(yield* refused("a.json", csv)).toMatchObject({ _tag: "UnsupportedContentType" })
      expect(yield* refused("a.csv.gz", gzipSync(csv).subarray(0, 30))).toMatchObject({
        problem: expect.stringContaining("cannot be unpacked"),
      })
      expect(yield* refused("a.csv.zst", zstdCompressSync(csv.repeat(9)).subarray(0, 60))).toMatchObject({ _tag: "FileInvalid" })
    }),
  )
})

describe("a wrong encoding refuses the whole file", () => {
  it.effect("text that is no UTF-8 far behind the start, with the place and the hint", () =>
    Effect.gen(function* () {
      const ascii = `id,name\n${Array.from({ length: 20_000 }, (_, index) => `${index},name ${index}\n`).join("")}`
      const error = yield* Effect.flip(readTable("a.csv", Buffer.concat([Buffer.from(ascii), Buffer.from("9,Zürich\n", "latin1")])))
      expect(error).toMatchObject({ _tag: "FileInvalid", place: { offset: ascii.length + 3 } })
      expect(error.message).toContain("nothing of it was taken; say which encoding it has, such as windows-1252")
    }),
  )

  it.effect("an encoding that the bytes contradict", () =>
    Effect.gen(function* () {
      const hint = (encoding: "utf-8" | "utf-16le" | "windows-1252", content: Uint8Array) =>
        Effect.map(Effect.flip(readTable("a.csv", content, { encoding })), ({ message }) => message)
      expect(yield* hint("windows-1252", Buffer.from(csv))).toContain("it is not windows-1252 text, it seems to be utf-8")
      expect(yield* hint("utf-8", Buffer.from(latin, "latin1"))).toContain("upload it again as windows-1252")
      expect(yield* hint("utf-16le", Buffer.from(csv))).toContain("upload it again as utf-8")
    }),
  )
})

describe("reading continues after any row", () => {
  const readAll = (name: string, content: Buffer, from?: Row) =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = memoryFile(name, [content])
        const { format } = yield* inspectTable(file, {}, defaultTableLimits)
        const read = yield* openRows({ file, format, limits: defaultTableLimits, ...(from === undefined ? {} : { from: behind(from) }) })
        const all: Array<Row> = []
        for (let page = yield* read.take(3); page.length > 0; page = yield* read.take(3)) all.push(...page)
        return all
      }),
    )

  const lines = Array.from({ length: 12 }, (_, index) => `${index},"Zürich\n${index}",${index % 4 === 0 ? '"x"y' : "ö"}`)
  const text = `id,city,more\n${lines.join("\n")}`
  const json = JSON.stringify(Array.from({ length: 12 }, (_, id) => ({ id, city: "Köln €" })))

  it.effect.each([
    ["CSV", "a.csv", Buffer.from(text)],
    ["packed CSV", "a.csv", gzipSync(text)],
    ["CSV in UTF-16", "a.csv", Buffer.from(text, "utf16le")],
    ["CSV in Latin-1", "a.csv", zstdCompressSync(Buffer.from(text, "latin1"))],
    ["JSON in UTF-16", "a.json", utf16be(json)],
    ["XLSX", "a.xlsx", workbook([{ name: "S", rows: Array.from({ length: 12 }, (_, index) => [`a${index}`, index]) }])],
  ] as const)("%s", ([, name, content]) =>
    Effect.gen(function* () {
      const all = yield* readAll(name, content)
      expect(all.length).toBeGreaterThan(10)
      for (const row of all) expect(yield* readAll(name, content, row)).toEqual(all.slice(row.index + 1))
    }),
  )
})

it.effect("rows are read as they are taken", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const line = `${randomBytes(500).toString("hex")},x\n`
      let chunks = 0
      const chunk = Buffer.from(line.repeat(100))
      const file = {
        name: "large.csv",
        open: () =>
          Promise.resolve({
            read: async function* () {
              yield Buffer.from("a,b\n")
              for (; chunks < 10_000; chunks++) yield chunk
            },
            stamp: () => Promise.resolve({ fileSize: 1e9, modifiedAt: 0 }),
            close: () => Promise.resolve(),
          }),
      }
      const { rows } = yield* openTable(file)
      expect(yield* Stream.runCollect(Stream.take(rows, 1000))).toHaveLength(1000)
      expect(chunks).toBeLessThan(200)
    }),
  ),
)
