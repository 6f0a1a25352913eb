/** The SQL view of a kind: typed columns of its fields, on both databases. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { defineUpload, Items, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const fields = {
  sku: Schema.String,
  count: Schema.Int,
  price: Schema.Finite,
  isNew: Schema.optionalKey(Schema.Boolean),
  since: Schema.NullOr(Schema.Date),
  address: Schema.Struct({ city: Schema.String }),
  tags: Schema.Array(Schema.String),
  "odd name": Schema.optionalKey(Schema.String),
}

const Goods = defineUpload({ name: "Goods-1", schema: Schema.Struct(fields), id: "sku" })

/** The same kind after a change of its schema. */
const Changed = defineUpload({
  name: "Goods-1",
  schema: Schema.Struct({ sku: Schema.String, count: Schema.String, price: Schema.Finite, weight: Schema.optionalKey(Schema.Finite) }),
  id: "sku",
})

const good = { sku: "a", count: 7, price: 1.5, isNew: true, since: "2026-01-31T12:00:00.000Z", address: { city: "Köln" }, tags: ["x"] }

describe.each(databases)("$name", (database) => {
  const isSqlite = database.name === "SQLite"
  it.effect("stored items are rows of a view with typed columns, which follows the schema", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("goods.json", [good, { ...good, sku: "b", since: null, isNew: false, "odd name": "it's" }])
      const view = isSqlite ? "detent_items_goods_1" : "detent.items_goods_1"
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          expect(uploads.kinds[0]).toMatchObject({ name: "Goods-1", view })
          expect(uploads.kinds[0]?.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
            "sku text",
            "count integer",
            "price number",
            "isNew boolean",
            "since time",
            "address.city text",
            "tags json",
            "odd name text",
          ])
          const { batchId } = yield* uploads.start(path)
          yield* uploads.finished(batchId)
          const sql = yield* SqlClient
          const rows = yield* sql.unsafe(`select * from ${view} order by sku`)
          expect(rows).toMatchObject([
            {
              sku: "a",
              count: isSqlite ? 7 : 7n,
              price: 1.5,
              isNew: isSqlite ? 1 : true,
              since: isSqlite ? good.since : new Date(good.since),
              "address.city": "Köln",
              tags: isSqlite ? '["x"]' : ["x"],
              "odd name": null,
              detent_id: "a",
              detent_upload: batchId,
            },
            { sku: "b", since: null, isNew: isSqlite ? 0 : false, "odd name": "it's" },
          ])
          const sum = yield* sql.unsafe(`select sum(price * count) as total from ${view} where "address.city" = 'Köln'`)
          expect(sum).toEqual([{ total: 21 }])
          const plan = yield* sql.unsafe(`${isSqlite ? "explain query plan" : "explain"} select * from ${view} where detent_id = 'a'`)
          expect(JSON.stringify(plan)).toMatch(isSqlite ? /USING INDEX detent_upload_items_id/ : /upload_items_(kind_id_key|time)/)
        }),
        { uploads: [Goods, Items] },
      )
      yield* desk.run(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          // A count is a text now, and the stored numbers are null; the whole item is still there.
          const rows = yield* sql.unsafe(`select count, price, weight, detent_json from ${view} where sku = 'a'`)
          expect(rows).toMatchObject([{ count: null, price: 1.5, weight: null }])
          expect(JSON.stringify(rows[0])).toContain("Köln")
        }),
        { uploads: [Changed] },
      )
    }),
  )

  it.effect("texts that are no times are null in a column of times, and fail no query", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const of = (at: Schema.Codec<unknown, unknown>) =>
        defineUpload({ name: "Times", schema: Schema.Struct({ sku: Schema.String, at }), id: "sku" })
      const texts = ["2024-02-29T10:00:00.000Z", "2023-02-29T10:00:00.000Z", "2026-13-45T99:99:99Z", "0000-01-01T00:00:00.000Z", "soon"]
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(
            desk.file(
              "times.json",
              texts.map((at, index) => ({ sku: `s${index}`, at })),
            ),
          )
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed" })
        }),
        { uploads: [of(Schema.String)] },
      )
      yield* desk.run(
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const view = isSqlite ? "detent_items_times" : "detent.items_times"
          const rows = yield* sql.unsafe<{ at: unknown }>(`select at from ${view} order by sku`)
          if (!isSqlite) expect(rows.map(({ at }) => at)).toEqual([new Date(texts[0] ?? ""), null, null, null, null])
          expect(rows).toHaveLength(texts.length)
        }),
        { uploads: [of(Schema.Date)] },
      )
    }),
  )
})
