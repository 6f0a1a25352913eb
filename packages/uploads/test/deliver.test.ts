/** Stored items are sent in batches to a handler: each once, with the same key when a delivery is repeated. */
import { RetryPolicy } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { until } from "../../store/test/support/patience.ts"
import { type DeliverOptions, type Delivery, defineUpload, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const schema = Schema.Struct({ no: Schema.Int, at: Schema.optionalKey(Schema.Date) })
type Order = typeof schema.Type

const ordersTo = (deliver: DeliverOptions<Order>) => defineUpload({ name: "Orders", schema, id: "no", deliver })

describe.each(databases)("$name", (database) => {
  it.live("in the transaction of their upload, in order, and again with the same key after a failure", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const got: Array<Delivery<Order>> = []
      const Orders = ordersTo({
        batchSize: 40,
        retry: RetryPolicy.fixed({ delay: "10 millis", maxAttempts: 5 }),
        rate: { limit: 1000, interval: "1 second" },
        send: async (delivery) => {
          got.push(delivery)
          if (delivery.attempt === 1 && delivery.items.some(({ item }) => item.no === 50)) throw new Error("no connection")
        },
      })
      const rows = Array.from({ length: 100 }, (_, no) => `${no},2026-01-31`)
      const path = desk.file("orders.csv", `no,at\n${rows.join("\n")}\nx,\n`)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          yield* uploads.finished(batchId)
          yield* Effect.promise(() => until("all are delivered", () => got.length === 4))
          yield* uploads.correct(batchId, 100, { no: "100" })
          yield* uploads.retryFailed(batchId)
          yield* Effect.promise(() => until("the corrected one is delivered", () => got.length === 5))
          const keys = got.map(({ key, items, attempt }) => [key, items.length, attempt])
          expect(keys.toSorted((left, right) => String(left).localeCompare(String(right)))).toEqual([
            [`${batchId}:0`, 40, 1],
            [`${batchId}:100`, 1, 1],
            [`${batchId}:40`, 40, 1],
            [`${batchId}:40`, 40, 2],
            [`${batchId}:80`, 20, 1],
          ])
          expect(got[0]).toMatchObject({
            batchId,
            items: Array.from({ length: 40 }, (_, no) => ({ id: `${no}`, index: no, item: { no } })),
          })
          expect(got[0]?.items[0]?.item.at).toEqual(new Date("2026-01-31"))
          // The same items once more are no news.
          const again = yield* uploads.start(path, { force: true })
          yield* uploads.finished(again.batchId)
          const other = yield* uploads.start(desk.file("more.csv", "no,at\n7,2027-01-01\n"))
          yield* uploads.finished(other.batchId)
          yield* Effect.promise(() => until("the changed one is delivered", () => got.length === 6))
          expect(got[5]).toMatchObject({ batchId: other.batchId, items: [{ id: "7" }] })
        }),
        { uploads: [Orders] },
      )
    }),
  )

  it.effect("a batch size that cannot hold is refused when the kind is defined", () =>
    Effect.sync(() => {
      expect(() => ordersTo({ batchSize: 5000, send: () => Effect.void })).toThrow(
        "deliver of Orders: a batchSize of 5000 is not a whole number from 1 to 2000",
      )
    }),
  )
})
