/** Uploads of tables: what is found, what is refused by row, and what a correction changes. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { workbook } from "../../tables/test/support/workbook.ts"
import { defineUpload, Items, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({
    sku: Schema.String,
    price: Schema.Finite,
    isNew: Schema.Boolean,
    since: Schema.optionalKey(Schema.Date),
    address: Schema.Struct({ city: Schema.String }),
    note: Schema.optionalKey(Schema.String),
  }),
  id: "sku",
})

describe.each(databases)("$name", (database) => {
  it.effect("rows of CSV become items by the names of the columns, and bad rows are refused with their line", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file(
        "people.csv",
        'id;name;city\n1;Ada;Köln\n2;"Bob"x;Bonn\n3;Cy\n4;Dee;Ulm;more\nid;name;city\n6;Eve;"Bad\nEms"\n',
      )
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const { state, items, batch } = yield* uploads.finished(batchId)
          expect([state, items.stored, items.failed]).toEqual(["partially_completed", 2, 4])
          expect(batch.table).toEqual({
            format: "csv",
            compression: "none",
            encoding: "utf-8",
            delimiter: ";",
            quote: '"',
            header: true,
            columns: ["id", "name", "city"],
          })
          const failed = yield* uploads.items(batchId, { state: "failed" })
          expect(failed.items.map(({ index, line, problem }) => [index, line, problem?.reason, problem?.message])).toEqual([
            [1, 3, "bad_row", "a quote is not closed, or text follows its end"],
            [2, 4, "bad_row", "it has fewer cells than the header"],
            [3, 5, "bad_row", "it has more cells than the header"],
            [4, 6, "bad_row", "it is the header once more"],
          ])
          expect((yield* uploads.history(batchId, 3)).source).toBe('{"id":"4","name":"Dee","city":"Ulm","column 4":"more"}')
          // A row that was not corrected is refused again, although its cells alone would be an item.
          yield* uploads.correct(batchId, 1, { id: "2", name: 'Bob "x"', city: "Bonn" })
          yield* uploads.retryFailed(batchId)
          const retried = yield* uploads.finished(batchId)
          expect([retried.items.stored, retried.items.failed]).toEqual([3, 3])
          const found = yield* uploads.of(Items).search({})
          expect(
            found.items.map(({ item }) => item).toSorted((left, right) => String(left["id"]).localeCompare(String(right["id"]))),
          ).toEqual([
            { id: "1", name: "Ada", city: "Köln" },
            { id: "2", name: 'Bob "x"', city: "Bonn" },
            { id: "6", name: "Eve", city: "Bad\nEms" },
          ])
        }),
        { uploads: [Items] },
      )
    }),
  )

  it.effect("cells become what the schema wants: numbers, truth values, dates and nested fields; an empty cell is a missing field", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const csv =
        "sku,price,isNew,since,address.city,note\n007,12.5,true,2026-01-31,Köln,\nx,abc,true,,Bonn,\ny,,false,,Ulm,z\nz,3,maybe,,Ulm,\n"
      const rows = [
        ["sku", "price", "isNew", "since", "address.city"],
        [8, 2, false, { date: 46_053 }, "Ulm"],
      ]
      const path = desk.file("products.csv", csv)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const { state, items } = yield* uploads.finished(batchId)
          expect([state, items.stored, items.failed]).toEqual(["partially_completed", 1, 3])
          const products = uploads.of(Products)
          expect(yield* products.item("007")).toMatchObject({
            value: { item: { sku: "007", price: 12.5, isNew: true, since: new Date("2026-01-31"), address: { city: "Köln" } } },
          })
          const failed = yield* uploads.items(batchId, { state: "failed" })
          expect(failed.items.map(({ id, problem }) => [id, problem?.reason])).toEqual([
            ["x", "invalid_field"],
            ["y", "missing_field"],
            ["z", "invalid_field"],
          ])
          // A correction has the columns of the file.
          yield* uploads.correct(batchId, 1, { sku: "x", price: "9.5", isNew: "false", "address.city": "Bonn" })
          expect(
            yield* Effect.flip(uploads.correct(batchId, 2, { sku: "y", prise: "9", isNew: "false", "address.city": "Ulm" })),
          ).toMatchObject({
            message: expect.stringContaining("prise"),
          })
          yield* uploads.retryFailed(batchId)
          expect((yield* uploads.finished(batchId)).items).toMatchObject({ stored: 2, failed: 2 })
          expect(yield* products.item("x")).toMatchObject({ value: { item: { price: 9.5, isNew: false } } })
          const sheet = yield* uploads.start(desk.file("products.xlsx", workbook([{ name: "S", rows }])))
          expect((yield* uploads.finished(sheet.batchId)).state).toBe("completed")
          expect(yield* products.item("8")).toMatchObject({ value: { item: { sku: "8", price: 2, since: new Date("2026-01-31") } } })
        }),
        { uploads: [Products] },
      )
    }),
  )

  it.effect("a day that does not exist, or that a locale wrote, is refused instead of read as another day", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const days = ["2026-02-30", "1/2/2026", "31.01.2026", "2026-01-31T18:00:00Z", "2026-02-28"]
      const csv = `sku,price,isNew,since,address.city\n${days.map((day, at) => `${at},1,true,${day},Ulm\n`).join("")}`
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("days.csv", csv))
          expect((yield* uploads.finished(batchId)).items).toMatchObject({ stored: 2, failed: 3 })
          const { items } = yield* uploads.items(batchId, { state: "failed" })
          expect(items.map(({ id, problem }) => [id, problem])).toEqual(
            ["2026-02-30", "1/2/2026", "31.01.2026"].map((day, at) => [
              `${at}`,
              {
                reason: "invalid_field",
                message: `since: "${day}" is no date-time such as 2026-01-31T18:00:00; give the locale that wrote it`,
              },
            ]),
          )
          expect(yield* uploads.of(Products).item("3")).toMatchObject({ value: { item: { since: new Date("2026-01-31T18:00:00Z") } } })
        }),
        { uploads: [Products] },
      )
    }),
  )

  it.effect("a column such as address.city is the field of a field also where no row needs it", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const Customers = defineUpload({
        name: "Customers",
        schema: Schema.Struct({ id: Schema.String, address: Schema.optionalKey(Schema.Struct({ city: Schema.String })) }),
        id: "id",
      })
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("customers.csv", "id,address.city\n1,Köln\n2,\n"))
          expect((yield* uploads.finished(batchId)).state).toBe("completed")
          expect(yield* uploads.of(Customers).item("1")).toMatchObject({ value: { item: { id: "1", address: { city: "Köln" } } } })
        }),
        { uploads: [Customers] },
      )
    }),
  )

  it.effect("the sheet, the encoding and the header can be given, and hold for a retry", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const book = workbook([
        { name: "Notes", rows: [["x"]] },
        {
          name: "People",
          rows: [
            ["id", "born"],
            [7, { date: 45_000 }],
          ],
        },
      ])
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const sheet = yield* uploads.start(desk.file("people.xlsx", book), { given: { sheet: "People" } })
          expect((yield* uploads.finished(sheet.batchId)).items).toMatchObject({ total: 1, stored: 1 })
          expect(yield* uploads.of(Items).item(7)).toMatchObject({ value: { item: { id: 7, born: "2023-03-15" } } })
          const bare = desk.file("bare.csv", Buffer.from("id,name\n8,Zürich\n", "latin1"))
          const { batchId } = yield* uploads.start(bare, { given: { header: false, encoding: "latin-1" } })
          const { state, batch } = yield* uploads.finished(batchId)
          expect([state, batch.table?.columns]).toEqual(["failed", ["column 1", "column 2"]])
          expect(batch.failure?.message).toContain("2 missing_id")
        }),
        { uploads: [Items] },
      )
    }),
  )
})
