/** Mappings of uploads: given, kept for a kind or in its definition; previewed before anything is stored. */
import { readdirSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { workbook } from "../../tables/test/support/workbook.ts"
import { defineUpload, Items, type Mapping, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({
    sku: Schema.String,
    price: Schema.Finite,
    currency: Schema.optionalKey(Schema.String),
    since: Schema.optionalKey(Schema.Date),
    state: Schema.Literals(["new", "used"]),
    address: Schema.optionalKey(Schema.Struct({ city: Schema.String, country: Schema.optionalKey(Schema.String) })),
    tags: Schema.optionalKey(Schema.Array(Schema.String)),
  }),
  id: "sku",
})

const mapping: Mapping = {
  locale: "de-DE",
  fields: [
    { field: "sku", column: "Nr" },
    { field: "price", column: "Preis", as: "amount" },
    { field: "currency", column: "Preis", as: "currency" },
    { field: "since", column: "Seit", as: "date" },
    { field: "state", column: "Zustand", lookup: { neu: "new", gebraucht: "used" } },
    { field: "address.city", column: "Ort" },
    { field: "address.country", value: "DE" },
    { field: "tags", column: "Marken", as: "list" },
  ],
}

const csv = [
  "Nr;Preis;Seit;Zustand;Ort;Marken",
  '007;"1.012,50 EUR";31.12.2025;neu;Köln;a,b',
  "8;viel;1.1.2026;neu;Ulm;",
  "9;7 €;1.1.2026;kaputt;Ulm;",
  "10;7 €;;gebraucht;Ulm;",
].join("\n")

const seven = {
  sku: "007",
  price: 1012.5,
  currency: "EUR",
  since: new Date("2025-12-31"),
  state: "new",
  address: { city: "Köln", country: "DE" },
  tags: ["a", "b"],
} as const

const failures = [
  [
    "8",
    "invalid_field",
    'price (column Preis): "viel" is no amount in de-DE; currency (column Preis): "viel" has no currency, such as EUR or $',
  ],
  ["9", "invalid_field", 'state (column Zustand): its lookup has no "kaputt"; it has neu, gebraucht'],
]

describe.each(databases)("$name", (database) => {
  it.effect("a given mapping makes items of columns, and refuses the rows whose cells do not fit; a correction has the columns", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("products.csv", csv), { mapping })
          const { state, items, batch } = yield* uploads.finished(batchId)
          expect([state, items.stored, items.failed, batch.mapping, batch.mappingSource]).toEqual([
            "partially_completed",
            2,
            2,
            mapping,
            "given",
          ])
          const products = uploads.of(Products)
          expect(yield* products.item("007")).toMatchObject({ value: { item: seven } })
          const failed = yield* uploads.items(batchId, { state: "failed" })
          expect(failed.items.map(({ id, problem }) => [id, problem?.reason, problem?.message])).toEqual(failures)
          const row = { Nr: "8", Preis: "8,50 €", Seit: "1.1.2026", Zustand: "neu", Ort: "Ulm" }
          expect(yield* Effect.flip(uploads.correct(batchId, 1, { ...row, Pries: "8" }))).toMatchObject({
            message: expect.stringContaining("Pries is not known; did you mean Preis?"),
          })
          yield* uploads.correct(batchId, 1, row)
          yield* uploads.retryFailed(batchId)
          expect((yield* uploads.finished(batchId)).items).toMatchObject({ stored: 3, failed: 1 })
          expect(yield* products.item("8")).toMatchObject({ value: { item: { price: 8.5 } } })
        }),
        { uploads: [Products] },
      )
    }),
  )

  it.effect("a mapping is kept for its kind, and used for files with its columns, until another one is kept or it is forgotten", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("products.csv", csv)
      const defined = defineUpload({
        name: "Products",
        schema: Products.schema,
        id: "sku",
        mapping: { ...mapping, fields: mapping.fields.filter(({ field }) => field !== "tags") },
      })
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const kept = yield* uploads.keepMapping("Products", mapping)
          expect(yield* uploads.keptMapping("Products")).toEqual(Option.some(kept))
          expect((yield* uploads.preview(path)).source).toBe("kept")
          const { batchId } = yield* uploads.start(path)
          // A batch keeps its mapping.
          expect(yield* uploads.forgetMapping("Products")).toBe(true)
          expect(yield* uploads.forgetMapping("Products")).toBe(false)
          const { items, batch } = yield* uploads.finished(batchId)
          expect([items.stored, batch.mappingSource]).toEqual([2, "kept"])
          expect((yield* uploads.preview(path)).source).toBe("definition")
          const again = yield* uploads.start(path, { force: true })
          expect((yield* uploads.finished(again.batchId)).batch.mappingSource).toBe("definition")
          const item = { sku: "11", price: 3, state: "new" }
          for (const [name, content] of [
            ["items.json", [item]],
            ["items.csv", "sku,price,state\n12,4,used\n"],
          ] as const) {
            const other = yield* uploads.start(desk.file(name, content))
            expect(yield* uploads.finished(other.batchId)).toMatchObject({ state: "completed", batch: { kind: "Products" } })
            expect((yield* uploads.status(other.batchId)).batch.mapping).toBeUndefined()
          }
          const none = yield* uploads.start(path, { force: true, mapping: "none" })
          expect((yield* uploads.finished(none.batchId)).items).toMatchObject({ stored: 0, failed: 4 })
          const missing = desk.file("missing.csv", "Nr;Pries;Zustand\n1;2;neu\n")
          expect(yield* Effect.flip(uploads.start(missing))).toMatchObject({
            _tag: "MappingRefused",
            message: expect.stringContaining(
              "price is read from a column that the file does not have: Preis is not known; did you mean Pries?",
            ),
          })
          expect((yield* uploads.batches()).batches.map(({ fileName }) => fileName)).not.toContain("missing.csv")
        }),
        { uploads: [defined] },
      )
    }),
  )

  it.effect("a mapping to a field that does not exist is refused wherever it is given, and nothing is stored", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const wrong: Mapping = { fields: [{ field: "prise", column: "Preis" }] }
      const problem = "there is no such field: prise is not known; did you mean price?"
      expect(() => defineUpload({ name: "Products", schema: Products.schema, id: "sku", mapping: wrong })).toThrow(
        `the mapping of upload Products cannot be used: ${problem}`,
      )
      const path = desk.file("products.csv", csv)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const refused = { _tag: "MappingRefused", problems: [problem] }
          expect(yield* Effect.flip(uploads.start(path, { mapping: wrong }))).toMatchObject(refused)
          expect(yield* Effect.flip(uploads.keepMapping("Products", wrong))).toMatchObject(refused)
          expect(yield* uploads.preview(path, { mapping: wrong })).toMatchObject({ problems: [problem], failing: 0 })
          expect((yield* uploads.batches()).batches).toEqual([])
        }),
        { uploads: [Products] },
      )
    }),
  )

  it.effect("a preview shows the items of the first rows, what would fail and why, and a proposal; it stores nothing", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("products.csv", csv.replace("Zustand", "State").replaceAll("neu", "NEW").replaceAll("gebraucht", "used"))
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const preview = yield* uploads.preview(path)
          expect(preview).toMatchObject({
            source: "proposed",
            columns: ["Nr", "Preis", "Seit", "State", "Ort", "Marken"],
            mapping: {
              locale: "de-DE",
              fields: [
                { field: "sku", column: "Nr" },
                { field: "price", column: "Preis", as: "amount" },
                { field: "state", column: "State", lookup: { new: "new", used: "used" } },
                { field: "currency", column: "Preis", as: "currency" },
                { field: "since", column: "Seit", as: "date" },
                { field: "address.city", column: "Ort" },
              ],
            },
            problems: [],
            missing: [],
            unused: ["Marken"],
            failing: 2,
          })
          expect(preview.rows.map(({ line, item, problem }) => [line, item !== undefined, problem?.message])).toEqual([
            [2, true, undefined],
            [3, false, failures[0]?.[2]],
            [4, false, 'state (column State): its lookup has no "kaputt"; it has new, used'],
            [5, true, undefined],
          ])
          expect(preview.fields?.find(({ path: field }) => field === "state")).toEqual({
            path: "state",
            type: "text",
            isRequired: true,
            choices: ["new", "used"],
          })
          expect(preview.fields?.find(({ path: field }) => field === "since")?.type).toBe("date")
          // The beginning of a file, as a browser sends it, cut off in the middle of a row.
          const bytes = (content: string | Buffer) => Stream.make(Uint8Array.from(Buffer.from(content)))
          const options = { fileName: "products.csv", mapping, isPart: true }
          const cut = yield* uploads.previewBytes(bytes(csv.slice(0, -20)), options)
          expect(cut.rows.map(({ index }) => index)).toEqual([0, 1, 2])
          const items = JSON.stringify([{ sku: "1", price: 2, state: "new" }, { sku: "2" }, { sku: "3" }])
          const json = yield* uploads.previewBytes(bytes(items.slice(0, -3)), { fileName: "items.json", isPart: true })
          expect([json.rows.length, json.failing, json.source]).toEqual([2, 1, "proposed"])
          const sheet = workbook([
            {
              name: "S",
              rows: [
                ["Nr", "Preis", "Zustand"],
                [1, 12.5, "neu"],
              ],
            },
          ])
          const table = yield* uploads.previewBytes(bytes(sheet), { fileName: "s.xlsx", mapping: { fields: mapping.fields.slice(0, 2) } })
          expect(table).toMatchObject({ missing: ["state"], failing: 1, rows: [{ problem: { reason: "missing_field" } }] })
          expect(yield* Effect.flip(uploads.previewBytes(bytes(""), { fileName: "e.csv" }))).toMatchObject({ _tag: "FileInvalid" })
          expect((yield* uploads.batches()).batches).toEqual([])
          expect(readdirSync(desk.folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("preview-"))).toEqual([])
        }),
        { uploads: [Products, Items], folder: desk.folder },
      )
    }),
  )

  it.effect("a preview of items of JSON knows the fields within their objects", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const schema = Schema.Struct({ id: Schema.String, name: Schema.String, address: Schema.Struct({ city: Schema.String }) })
      const People = defineUpload({ name: "People", schema, id: "id" })
      const whole = { id: "1", name: "A", address: { city: "Ulm" } }
      const path = desk.file("people.json", [whole, { ...whole, id: "2" }])
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const found = { missing: [], unused: [], failing: 0 }
          expect(yield* uploads.preview(path)).toMatchObject(found)
          const fields = ["id", "name", "address.city"].map((field) => ({ field, column: field }))
          expect(yield* uploads.preview(path, { mapping: { others: "drop", fields } })).toMatchObject(found)
          const none = yield* uploads.preview(desk.file("none.json", [{ id: "1", name: "A", address: { town: "Ulm" } }]))
          expect(none).toMatchObject({ missing: ["address.city"], unused: [], failing: 1 })
        }),
        { uploads: [People] },
      )
    }),
  )

  it.effect("a preview of large rows shows fewer, with their long texts cut, and says so", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const line = JSON.stringify({ sku: "1", price: 1, state: "new", tags: ["x".repeat(890_000)] })
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          for (const isPart of [false, true]) {
            const { rows, notes } = yield* uploads.preview(desk.file("items.jsonl", `${line}\n`.repeat(30)), { rows: 1_000, isPart })
            expect(rows.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
            expect(rows[0]?.item).toMatchObject({ sku: "1", tags: [`${"x".repeat(2_000)}…`] })
            expect(JSON.stringify(rows).length).toBeLessThan(100_000)
            expect(notes).toEqual([
              "only 9 rows are shown, as rows are large: a preview reads 8 MiB of text",
              "texts of more than 2000 characters are cut here, and end with …; an upload reads them completely",
            ])
          }
        }),
        { uploads: [Products] },
      )
    }),
  )

  it.effect("items of JSON are mapped by the paths of their keys", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const items = [
        { key: { nr: "1" }, cost: "12,50 €", state: "new" },
        { key: { nr: "2" }, cost: 3, state: "used" },
        { cost: "1", state: "new" },
      ]
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.keepMapping("Products", {
            locale: "de-DE",
            fields: [
              { field: "sku", column: "key.nr" },
              { field: "price", column: "cost", as: "amount" },
            ],
          })
          const { batchId } = yield* uploads.start(desk.file("items.json", items))
          expect((yield* uploads.finished(batchId)).items).toMatchObject({ stored: 2, failed: 1 })
          expect(yield* uploads.of(Products).item("1")).toMatchObject({ value: { item: { price: 12.5, state: "new" } } })
        }),
        { uploads: [Products] },
      )
    }),
  )
})
