import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CsvSplitter } from "../../src/csv/CsvSplitter.ts"
import type { Row } from "../../src/index.ts"
import { readTable, shown } from "../support/tables.ts"

const Cell = Schema.Literals(["", "a", "ö €", 'say "x"', "two\nlines", "c,d", "\r\n", " ", "'", "🚀"])
const Cells = Schema.Array(Schema.Tuple([Cell, Cell, Cell]))

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

const split = (text: string, chunk: number, maxRowBytes = 1_000_000): ReadonlyArray<Row> => {
  const splitter = new CsvSplitter({ file: "a.csv", delimiter: ",", quote: '"', columns: ["x", "y", "z"], header: true, maxRowBytes })
  const rows: Array<Row> = []
  // Chunks of whole characters, as the text of a file comes.
  const characters = [...text]
  for (let at = 0; at < characters.length; at += chunk) rows.push(...splitter.push(Buffer.from(characters.slice(at, at + chunk).join(""))))
  return [...rows, ...splitter.end()]
}

it.prop(
  "finds the cells that were written, however they come",
  [Cells, Schema.Literals(["\n", "\r\n", "\r"]), Schema.Int],
  ([cells, end, seed]) => {
    const text = [["x", "y", "z"], ...cells].map((row) => row.map(quoted).join(",")).join(end)
    const rows = split(text, 1 + (Math.abs(seed) % 9))
    expect(rows.map((row) => Object.values(JSON.parse(row.text ?? "")))).toEqual(cells)
    expect(rows.map(({ index }) => index)).toEqual(cells.map((_, index) => index))
    for (const { offset, endOffset, line } of rows) {
      const before = Buffer.from(text).toString("utf8", 0, offset)
      expect(endOffset).toBeGreaterThan(offset)
      if (end !== "\r") expect(line).toBe(before.split("\n").length)
    }
  },
)

describe("a row that is wrong is refused with its line, and the others are read", () => {
  it.effect.each([
    ["text after a quote", '1,"Ada"x,2\n2,b,c\n', [["quote", 2, '{"x":"1","y":"\\"Ada\\"x","z":"2"}'], { x: "2", y: "b", z: "c" }]],
    [
      "a quote that never closes",
      '1,"Ada,2\n2,b,c\n3,d,e\n',
      [["quote", 2, '{"x":"1","y":"\\"Ada","z":"2"}'], { x: "2", y: "b", z: "c" }, { x: "3", y: "d", z: "e" }],
    ],
    [
      "a quote that another row seems to close",
      '1,"Ada,2\n2,"b",c\n',
      [["quote", 2, '{"x":"1","y":"\\"Ada","z":"2"}'], { x: "2", y: "b", z: "c" }],
    ],
    ["too few cells", "1,2\n3,4,5\n", [["too_short", 2, '{"x":"1","y":"2"}'], { x: "3", y: "4", z: "5" }]],
    ["too many cells", "1,2,3,4\n3,4,5\n", [["too_long", 2, '{"x":"1","y":"2","z":"3","column 4":"4"}'], { x: "3", y: "4", z: "5" }]],
    ["the header once more", "1,2,3\nx,y,z\n", [{ x: "1", y: "2", z: "3" }, ["header_repeated", 3, '{"x":"x","y":"y","z":"z"}']]],
    [
      "a blank line is no row",
      "1,2,3\n\n\r\n4,5,6",
      [
        { x: "1", y: "2", z: "3" },
        { x: "4", y: "5", z: "6" },
      ],
    ],
  ])("%s", ([, text, expected]) =>
    Effect.gen(function* () {
      for (const chunk of [3, 1000]) expect(shown(yield* readTable("a.csv", `x,y,z\n${text}`, { chunk }))).toEqual(expected)
    }),
  )

  it("a cell of 50 MB, without being in memory", () => {
    const cell = "x".repeat(10_000)
    const splitter = new CsvSplitter({ file: "a.csv", delimiter: ",", quote: '"', columns: ["a", "b"], header: true, maxRowBytes: 100_000 })
    const rows: Array<Row> = [...splitter.push(Buffer.from('a,b\n1,2\n3,"'))]
    for (let count = 0; count < 5000; count++) rows.push(...splitter.push(Buffer.from(`${cell}\n,""`)))
    rows.push(...splitter.push(Buffer.from('"\n4,5\n')), ...splitter.end())
    expect(rows.map(({ text, problem, line }) => [text ?? problem, line])).toEqual([
      ['{"a":"1","b":"2"}', 2],
      ["too_large", 3],
      ['{"a":"4","b":"5"}', 5004],
    ])
    expect(rows[2]?.offset).toBe(rows[1]?.endOffset)
  })

  it("a row of more cells than anyone reads", () => {
    const [row] = split(`x,y,z\n${"1,".repeat(10_000)}1\n`, 100_000)
    expect(row).toMatchObject({ problem: "too_long", line: 2 })
    expect(Object.keys(JSON.parse(row?.text ?? "")).length).toBeLessThan(50)
  })
})

describe("a file that is wrong is refused", () => {
  const refused = (text: string, options = {}) => Effect.map(Effect.flip(readTable("a.csv", text, options)), ({ message }) => message)

  it.effect("a header with a name twice, with 10,000 columns, or with a broken quote", () =>
    Effect.gen(function* () {
      expect(yield* refused("id,name,id\n1,2,3\n")).toBe(
        "a.csv: its header has id twice, in columns 1 and 3; rename one of them, or say that the file has no header",
      )
      const wide = Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(",")
      expect(yield* refused(`${wide}\n${wide}\n`)).toContain("it has 10000 columns, 2000 are allowed")
    }),
  )

  it.effect("a quote that never closes in a file too large to read on from the next line", () =>
    Effect.gen(function* () {
      const text = `a,b\n1,2\n3,"open\n${"4,5\n".repeat(10_000)}`
      expect(yield* refused(text, { limits: { maxRowBytes: 1000 }, chunk: 500 })).toContain(
        'a quote " in row 2 is never closed (item 1, line 3)',
      )
    }),
  )

  it.effect("names of columns that objects have are columns as any other", () =>
    Effect.gen(function* () {
      const { rows } = yield* readTable("a.csv", "__proto__,constructor\nx,y\n")
      expect(Object.entries(JSON.parse(rows[0]?.text ?? ""))).toEqual([
        ["__proto__", "x"],
        ["constructor", "y"],
      ])
    }),
  )
})
