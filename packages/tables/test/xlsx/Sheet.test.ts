import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultTableLimits, inspectTable, memoryFile, openRows } from "../../src/index.ts"
import { readTable, shown } from "../support/tables.ts"
import { workbook, zip } from "../support/workbook.ts"

const book = workbook([
  { name: "Hidden", state: "hidden", rows: [["x"]] },
  {
    name: "Orders",
    rows: [
      ["id", "name", "at", "paid", "price"],
      [1, 'Ada & "Bob" <x>', { date: 45_000 }, true, 12.5],
      [],
      [2, { inline: "Zürich €" }, { date: 45_000.75 }, false, null],
      [3, 'Ada & "Bob" <x>', { date: 0.5 }, null, { raw: '<c r="PLACE" t="str"><f>1+1</f><v>2&#8364;</v></c>' }],
    ],
  },
  {
    name: "More",
    rows: [
      ["a", "b"],
      ["x", "y"],
    ],
  },
])

describe("a sheet", () => {
  it.effect("has texts, numbers, dates and truth values, and empty cells are missing", () =>
    Effect.gen(function* () {
      for (const chunk of [50, 100_000]) {
        const table = yield* readTable("orders", book, { chunk })
        expect(table.format).toEqual({
          format: "xlsx",
          compression: "none",
          encoding: "utf-8",
          header: true,
          columns: ["id", "name", "at", "paid", "price"],
          sheet: "Orders",
          sheets: ["Orders", "More"],
        })
        expect(shown(table)).toEqual([
          { id: 1, name: 'Ada & "Bob" <x>', at: "2023-03-15", paid: true, price: 12.5 },
          { id: 2, name: "Zürich €", at: "2023-03-15T18:00:00", paid: false },
          { id: 3, name: 'Ada & "Bob" <x>', at: "12:00:00", price: "2€" },
        ])
        expect(table.rows.map(({ line }) => line)).toEqual([2, 4, 5])
      }
    }),
  )

  it.effect("is chosen by name or number; another is refused with those there are", () =>
    Effect.gen(function* () {
      expect(shown(yield* readTable("b.xlsx", book, { sheet: "More" }))).toEqual([{ a: "x", b: "y" }])
      expect(shown(yield* readTable("b.xlsx", book, { sheet: 2 }))).toEqual([{ a: "x", b: "y" }])
      expect(yield* Effect.flip(readTable("b.xlsx", book, { sheet: "Nowhere" }))).toMatchObject({
        message: "b.xlsx: it has no sheet Nowhere; choose one of its sheets: Orders, More",
      })
    }),
  )

  it.effect("refuses rows that are too long or too large, and reads the others", () =>
    Effect.gen(function* () {
      const rows = [
        ["a", "b"],
        ["1", "2"],
        ["1", "2", "3"],
        ["x".repeat(5000), "y"],
        ["a", "b"],
        ["5", "6"],
      ]
      const table = yield* readTable("b.xlsx", workbook([{ name: "S", rows }]), { limits: { maxRowBytes: 1000 } })
      expect(shown(table)).toEqual([
        { a: "1", b: "2" },
        ["too_long", 3, '{"a":"1","b":"2","column 3":"3"}'],
        ["too_large", 4, undefined],
        ["header_repeated", 5, '{"a":"a","b":"b"}'],
        { a: "5", b: "6" },
      ])
    }),
  )
})

describe("a hostile file is refused with bounded memory", () => {
  const refused = (content: Buffer, options = {}) => Effect.flip(readTable("b.xlsx", content, options))
  const sheet = (xml: string, texts = "<sst/>") =>
    zip([
      ["xl/workbook.xml", '<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>'],
      ["xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="a" Target="/xl/s.xml"/></Relationships>'],
      ["xl/sharedStrings.xml", texts],
      ["xl/s.xml", xml],
    ])

  it.effect("a bomb, in the sheet and in the shared texts", () =>
    Effect.gen(function* () {
      const cells = `<c t="str"><v>${"0".repeat(1_000_000)}</v></c>`
      const bomb = sheet(`<worksheet><sheetData><row><c t="str"><v>a</v></c></row><row>${cells.repeat(40)}</row></sheetData></worksheet>`)
      expect(bomb.length).toBeLessThan(100_000)
      expect(yield* refused(bomb)).toMatchObject({ _tag: "FileTooLarge", what: "ratio" })
      expect(yield* refused(bomb, { limits: { maxUnpackedBytes: 1_000_000 } })).toMatchObject({ _tag: "FileTooLarge", what: "unpacked" })
      const texts = sheet("<worksheet/>", `<sst>${`<si><t>${"ab".repeat(1000)}</t></si>`.repeat(1000)}</sst>`)
      expect(yield* refused(texts, { limits: { maxSharedBytes: 1_000_000 } })).toMatchObject({
        message: expect.stringContaining("save the sheet as CSV and upload that"),
      })
    }),
  )

  it.effect("a text that many cells share: it counts for each, and a page of rows is bounded", () =>
    Effect.gen(function* () {
      const row = '<row><c t="s"><v>1</v></c></row>'
      const book = (length: number, rows: number) =>
        sheet(
          `<worksheet><sheetData><row><c t="s"><v>0</v></c></row>${row.repeat(rows)}</sheetData></worksheet>`,
          `<sst><si><t>name</t></si><si><t>${"x".repeat(length)}</t></si></sst>`,
        )
      const bomb = book(900_000, 5_000)
      expect(bomb.length).toBeLessThan(10_000)
      expect(yield* refused(bomb)).toMatchObject({ _tag: "FileTooLarge", what: "ratio" })
      expect(yield* refused(bomb, { limits: { maxUnpackRatio: 1e9, maxUnpackedBytes: 1e9 } })).toMatchObject({ what: "unpacked" })
      const limits = { ...defaultTableLimits, maxUnpackRatio: 1e9 }
      const file = memoryFile("b.xlsx", [book(100_000, 2_000)])
      const { format } = yield* inspectTable(file, {}, limits)
      const pages = yield* Effect.scoped(
        Effect.gen(function* () {
          const rows = yield* openRows({ file, format, limits })
          const found: Array<number> = []
          for (;;) {
            const page = yield* rows.take(5_000)
            if (page.length === 0) return found
            found.push(page.length)
          }
        }),
      )
      expect(pages.reduce((sum, length) => sum + length)).toBe(2_000)
      expect(Math.max(...pages)).toBeLessThan(50)
      // Reading continues after a row without the text of those before.
      const last = yield* Effect.scoped(
        Effect.flatMap(openRows({ file, format, limits, from: { index: 1_999, offset: 0, line: 0 } }), (rows) => rows.take(10)),
      )
      expect(last.map(({ index, line }) => [index, line])).toEqual([[1_999, 2_001]])
    }),
  )

  it.effect("a name of a column that would be in each row", () =>
    Effect.gen(function* () {
      for (const [name, content] of [
        ["b.csv", `${"n".repeat(1_001)}\n${"1\n".repeat(10)}`],
        ["b.xlsx", workbook([{ name: "S", rows: [["n".repeat(1_001)], ["1"]] }])],
      ] as const)
        expect(yield* Effect.flip(readTable(name, content))).toMatchObject({
          problem: "the name of column 1 has more than 1000 characters",
        })
    }),
  )

  it.effect.each([
    ["entities", "<!DOCTYPE x [<!ENTITY a 'b'>]><worksheet/>"],
    ["rows that go back", '<worksheet><sheetData><row r="5"><c t="str"><v>a</v></c></row><row r="4"/></sheetData></worksheet>'],
    ["texts that are not there", '<worksheet><sheetData><row><c t="s"><v>7</v></c></row></sheetData></worksheet>'],
    ["a tag without an end", `<worksheet ${"x".repeat(300_000)}`],
  ] as const)("%s", ([, xml]) =>
    Effect.gen(function* () {
      expect(yield* refused(sheet(xml))).toMatchObject({ _tag: "FileInvalid", problem: expect.stringContaining("damaged") })
    }),
  )

  it.effect("an archive that was cut off, that is no workbook, or without a sheet", () =>
    Effect.gen(function* () {
      for (const content of [
        book.subarray(0, 500),
        zip([["a.txt", "x"]]),
        Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(100)]),
      ])
        expect(yield* refused(content)).toMatchObject({ _tag: "FileInvalid" })
      expect(yield* refused(sheet("<worksheet><sheetData/></worksheet>"))).toMatchObject({ problem: "its sheet S is empty" })
      expect(
        yield* refused(sheet(`<worksheet><sheetData><row>${'<c t="str"><v>x</v></c>'.repeat(10_000)}</row></sheetData></worksheet>`)),
      ).toMatchObject({
        problem: expect.stringContaining("more than 2000 columns"),
      })
    }),
  )
})
