/** A file with items that are stored already: a dry run counts what an upload would do, and the upload does that. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { defineUpload, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const Goods = defineUpload({
  name: "Goods",
  schema: Schema.Struct({ sku: Schema.String, price: Schema.Finite, title: Schema.optionalKey(Schema.String) }),
  id: "sku",
  index: { text: ["title"] },
  check: ({ price }) => (price < 0 ? "its price is below 0" : undefined),
})

const options = { uploads: [Goods] }

describe.each(databases)("$name", (database) => {
  it.effect("inserts new items, updates those that differ, skips the others, and a dry run counts each", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const first = desk.file("first.csv", "sku,price,title\na,1,saw\nb,2,axe\nc,3,pin\n")
      const text = "sku,price,title\na,1,saw\nb,9,hammer\nd,4,nail\ne,-1,\nd,5,\nf\n"
      const second = desk.file("second.csv", text)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const goods = uploads.of(Goods)
          const { batchId } = yield* goods.start(first)
          yield* uploads.finished(batchId)
          const plan = yield* uploads.plan(second)
          expect(plan).toMatchObject({ items: 6, insert: 1, update: 1, skip: 1, fail: 3, table: { format: "csv" } })
          expect(plan.errors.groups.map(({ reason, count }) => [reason, count])).toEqual([
            ["rejected", 1],
            ["duplicate", 1],
            ["bad_row", 1],
          ])
          expect(yield* uploads.receivePlan(Stream.make(Buffer.from(text)), { fileName: "second.csv", existing: "skip" })).toMatchObject({
            insert: 1,
            update: 0,
            skip: 2,
            fail: 3,
          })
          // Nothing is stored by a dry run.
          expect((yield* uploads.batches()).batches).toHaveLength(1)
          expect(yield* (yield* SqlClient).unsafe(`select detent_id from ${uploads.kinds[0]?.view}`)).toHaveLength(3)

          const kept = yield* goods.start(second, { existing: "skip" })
          expect((yield* uploads.finished(kept.batchId)).items).toMatchObject({ stored: 3, failed: 3 })
          expect(yield* goods.item("b")).toMatchObject({ value: { item: { price: 2 }, batchId } })
          expect(yield* goods.item("d")).toMatchObject({ value: { item: { price: 4 }, batchId: kept.batchId } })
          expect((yield* goods.search({ text: "hammer" })).items).toEqual([])

          const replacing = yield* goods.start(second, { force: true })
          yield* uploads.finished(replacing.batchId)
          expect(yield* goods.item("b")).toMatchObject({ value: { item: { price: 9 }, batchId: replacing.batchId } })
          // An item that is the same is not written again.
          expect(yield* goods.item("a")).toMatchObject({ value: { batchId } })
          expect((yield* goods.search({ text: "hammer" })).items.map(({ id }) => id)).toEqual(["b"])
          expect((yield* goods.search({ text: "axe" })).items).toEqual([])
          expect(yield* uploads.plan(second)).toMatchObject({ insert: 0, update: 0, skip: 3, fail: 3 })
          expect((yield* Effect.flip(uploads.plan("/nowhere.csv")))._tag).toBe("FileUnreadable")
        }),
        options,
      )
    }),
  )
})
