/** Files that are wrong: a clear error, or a refused row with its number; nothing is stored twice. */
import { appendFileSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workbook, zip } from "../../tables/test/support/workbook.ts"
import { Items, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const cellBytes = 5_000_000

/** Sheets whose second row unpacks to 40 MB. */
const bomb = zip([
  ["xl/workbook.xml", '<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>'],
  ["xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="a" Target="/xl/s.xml"/></Relationships>'],
  [
    "xl/s.xml",
    `<worksheet><sheetData><row><c t="str"><v>id</v></c></row><row>${`<c t="str"><v>${"0".repeat(1_000_000)}</v></c>`.repeat(40)}</row></sheetData></worksheet>`,
  ],
])

describe.each(databases)("$name", (database) => {
  it.effect("rows with a broken quote, with too few or too many cells, or the header once more are refused by number", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const good = Array.from({ length: 5000 }, (_, index) => `${index},"a ""b"""`)
      const lines = ["id,name", ...good.slice(0, 2500), '2500x,"never closed', "2500y,1,2", "2500z", "id,name", ...good.slice(2500)]
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("broken.csv", lines.join("\n")))
          const { items } = yield* uploads.finished(batchId)
          expect(items).toMatchObject({ total: 5004, stored: 5000, failed: 4 })
          const failed = yield* uploads.items(batchId, { state: "failed" })
          expect(failed.items.map(({ index, line, problem }) => [index, line, problem?.message])).toEqual([
            [2500, 2502, "a quote is not closed, or text follows its end"],
            [2501, 2503, "it has more cells than the header"],
            [2502, 2504, "it has fewer cells than the header"],
            [2503, 2505, "it is the header once more"],
          ])
        }),
        { uploads: [Items] },
      )
    }),
  )

  it.effect.each([
    [
      "a header with a name twice",
      "twice.csv",
      "id,name,id\n1,2,3\n",
      "its header has id twice, in columns 1 and 3; rename one of them, or say that the file has no header",
    ],
    [
      "10,000 columns",
      "wide.csv",
      `${Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(",")}\n`,
      "it has 10000 columns, 2000 are allowed; leave out columns, or say which delimiter it has",
    ],
    [
      "10,000 columns of a sheet",
      "wide.xlsx",
      workbook([{ name: "S", rows: [Array.from({ length: 10_000 }, (_, index) => `c${index}`)] }]),
      "it has more than 2000 columns, 2000 are allowed; leave out columns",
    ],
  ] as const)("%s refuses the file, and nothing of it is stored", ([, name, content, message]) =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const refused = yield* Effect.flip(uploads.start(desk.file(name, content)))
          expect(refused.message).toContain(message)
          expect((yield* uploads.batches()).batches).toEqual([])
          expect((yield* uploads.of(Items).search({})).items).toEqual([])
        }),
        { uploads: [Items] },
      )
    }),
  )

  it.effect("a sheet that unpacks without end fails the upload while it is unpacked, and nothing of it is stored", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("bomb.xlsx", bomb))
          const { state, items, batch } = yield* uploads.finished(batchId)
          expect([state, items.stored, items.failed]).toEqual(["failed", 0, 0])
          expect(batch.failure?.message).toContain("bomb.xlsx unpacks to more than 100 times its size")
        }),
        { uploads: [Items] },
      )
    }),
  )

  it.effect("a row with a cell that is too large fails alone, in each format", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const large = "x".repeat(cellBytes)
      const rows = [
        ["1", "a"],
        ["2", large],
        ["3", "c"],
      ]
      const files = [
        ["large.csv", `id,name\n${rows.map((row) => row.join(",")).join("\n")}\n`],
        ["large.jsonl", rows.map(([id, name]) => JSON.stringify({ id, name })).join("\n")],
        [
          "large.xlsx",
          workbook([{ name: "S", rows: [["id", "name"], ...rows.map(([id = "", name = ""]) => [{ inline: id }, { inline: name }])] }]),
        ],
      ] as const
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          for (const [name, content] of files) {
            const { batchId } = yield* uploads.start(desk.file(name, content))
            expect((yield* uploads.finished(batchId)).items).toMatchObject({ stored: 2, failed: 1 })
            const [failed] = (yield* uploads.items(batchId, { state: "failed" })).items
            expect([failed?.index, failed?.problem]).toEqual([1, { reason: "too_large", message: "it has more than 1000000 bytes" }])
          }
          expect((yield* uploads.of(Items).search({})).items.map(({ id }) => id).toSorted()).toEqual(["1", "3"])
        }),
        { uploads: [Items], maxUnpackRatio: 1_000_000 },
      )
    }),
  )

  it.effect.each(["csv", "xlsx", "jsonl"] as const)(
    "a file of %s that changes while it is read is refused, and continues once put back",
    (ending) =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const count = 5000
        const ids = Array.from({ length: count }, (_, index) => index)
        const content =
          ending === "csv"
            ? `id\n${ids.join("\n")}\n`
            : ending === "jsonl"
              ? ids.map((id) => `{"id":${id}}`).join("\n")
              : workbook([{ name: "S", rows: [["id"], ...ids.map((id) => [id])] }])
        const path = desk.file(`ids.${ending}`, content)
        const before = readFileSync(path)
        const { atime, mtime } = statSync(path)
        let checked = 0
        const changing = Items.with({
          check: () => {
            // Every item is checked when the file is validated, and again when it is stored.
            if (++checked === count + 2500) appendFileSync(path, ending === "csv" ? "7\n" : " ")
            return undefined
          },
        })
        yield* desk.run(
          Effect.gen(function* () {
            const uploads = yield* Uploads
            const { batchId } = yield* uploads.start(path)
            const changed = yield* uploads.finished(batchId)
            expect(changed.batch.failure?.message).toContain(`ids.${ending} has changed: it was written to since it was validated`)
            expect(changed.items.stored).toBe(2000)
            writeFileSync(path, before)
            utimesSync(path, atime, mtime)
            yield* uploads.retryBatch(batchId)
            expect((yield* uploads.finished(batchId)).items).toMatchObject({ total: count, stored: count, failed: 0 })
          }),
          { uploads: [changing], keptBytes: 0 },
        )
      }),
  )
})
