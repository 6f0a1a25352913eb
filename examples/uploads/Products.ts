/** Uploads items of a custom kind: their schema, their id, and their search index. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { defineUpload, Uploads } from "@detent/uploads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

export const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({
    sku: Schema.String,
    title: Schema.String,
    brand: Schema.String,
    price: Schema.Finite,
    addedAt: Schema.Finite,
  }),
  id: "sku",
  index: { text: ["title"], fields: ["brand"], time: "addedAt" },
  check: ({ price }) => (price < 0 ? "its price is below 0" : undefined),
  notify: ({ batchId, outcome }) => Effect.logInfo(`upload ${batchId} is ${outcome}`),
})

export const uploadsIn = (folder: string) =>
  Uploads.layer({ uploads: [Products] }).pipe(
    Layer.provide(Engine.layer()),
    Layer.provide(SqliteStore.layer({ filename: join(folder, "uploads.db") })),
  )

export const uploadProducts = (file: string) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    const products = uploads.of(Products)
    const { batchId } = yield* products.start(file)
    const first = yield* uploads.finished(batchId)
    const { items: failed } = yield* uploads.items(batchId, { state: "failed" })
    const refused = yield* Effect.flip(products.correct(batchId, 2, { sku: "c", title: "A saw", brand: "Acme", price: -3, addedAt: 3 }))
    yield* products.correct(batchId, 2, { sku: "c", title: "A saw", brand: "Acme", price: 3, addedAt: 3 })
    yield* uploads.retryFailed(batchId)
    const second = yield* uploads.finished(batchId)
    const { steps } = yield* uploads.history(batchId, 2)
    const { items: found } = yield* products.search({ text: "saw", where: { brand: "Acme" } })
    return { first, failed, refused, second, steps, found }
  })

if (import.meta.main) {
  const folder = await mkdtemp(join(tmpdir(), "detent-products-"))
  const file = join(folder, "products.json")
  await writeFile(
    file,
    JSON.stringify([
      { sku: "a", title: "A lathe", brand: "Acme", price: 4200, addedAt: 1 },
      { sku: "b", title: "A drill", brand: "Other", price: 80, addedAt: 2 },
      { sku: "c", title: "A saw", brand: "Acme", price: -3, addedAt: 3 },
    ]),
  )
  const { first, failed, refused, second, steps, found } = await Effect.runPromise(Effect.provide(uploadProducts(file), uploadsIn(folder)))
  console.log(first.state, first.items)
  for (const { id, problem } of failed) console.log(`${id}: ${problem?.message}`)
  console.log(refused.message)
  console.log(second.state, second.items)
  for (const { attempt, state } of steps) console.log(`attempt ${attempt}: ${state}`)
  console.log(found.map(({ item }) => item.title))
  await rm(folder, { recursive: true })
}
