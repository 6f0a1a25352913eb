/** Uploads of items of any schema: the same states, correction, retry and search, beside other kinds. */

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { Engine } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as z from "zod"
import { Posts } from "../src/generate/Post.ts"
import { defineUpload, type Notice, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const Product = Schema.Struct({
  sku: Schema.String,
  title: Schema.String,
  brand: Schema.String,
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  price: Schema.Finite,
  addedAt: Schema.optionalKey(Schema.Finite),
})

const Products = defineUpload({
  name: "Products",
  schema: Product,
  id: "sku",
  index: { text: ["title"], fields: ["brand", "tags"], time: "addedAt" },
  check: ({ price }) => (price < 0 ? "its price is below 0" : undefined),
})

/** Items whose values are not their JSON, and whose id is a number. */
const Meetings = defineUpload({
  name: "Meetings",
  schema: Schema.Struct({ number: Schema.Int, day: Schema.Date, room: Schema.String }),
  id: ({ number }) => number,
  index: { fields: ["room"], time: ({ day }) => day.getTime() },
})

const product = (sku: string, more: object = {}) => ({ sku, title: `The ${sku} lathe`, brand: "Acme", price: 10, ...more })
const uploads = [Products, Meetings, Posts]

describe.each(databases)("$name", (database) => {
  it.effect("items of a schema go the way of all items, and are found by words, fields and time", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("products.json", [
        product("a", { addedAt: 10, tags: ["new", "steel"] }),
        product("b", { addedAt: 30, brand: "Dúplex & Sons", title: "A drill, 'quoted'" }),
        product("c", { addedAt: 20, tags: ["steel"] }),
        product("a", { title: "again" }),
        { sku: "d", title: "no brand", price: 1 },
        product("e", { price: -1 }),
        product("", {}),
        "no object",
      ])
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const products = service.of(Products)
          const { batchId, kind } = yield* products.start(path)
          expect(kind).toBe("Products")
          const status = yield* service.finished(batchId)
          expect(status).toMatchObject({ state: "partially_completed", items: { total: 8, stored: 3, failed: 5 }, canRetry: true })
          const { items } = yield* service.items(batchId)
          expect(items.map(({ id, problem }) => [id, problem?.reason])).toEqual([
            ["a", undefined],
            ["b", undefined],
            ["c", undefined],
            ["a", "duplicate"],
            ["d", "missing_field"],
            ["e", "rejected"],
            [undefined, "missing_id"],
            [undefined, "not_an_object"],
          ])
          expect(items[4]?.problem?.message).toBe("brand is missing")
          expect(items[3]?.problem?.message).toBe("item 0 of the batch has the same id a")
          const found = (query: Parameters<typeof products.search>[0]) =>
            Effect.map(products.search(query), (page) => page.items.map(({ id }) => id))
          expect(yield* found({})).toEqual(["b", "c", "a"])
          expect(yield* found({ text: "lathe" })).toEqual(["c", "a"])
          expect(yield* found({ text: "-lathe" })).toEqual(["b"])
          expect(yield* found({ text: "dril*" })).toEqual(["b"])
          expect(yield* found({ text: "?!" })).toEqual([])
          expect(yield* found({ where: { brand: "Acme" } })).toEqual(["c", "a"])
          expect(yield* found({ where: { brand: "acme" } })).toEqual([])
          expect(yield* found({ where: { brand: "Dúplex & Sons" } })).toEqual(["b"])
          expect(yield* found({ where: { tags: "steel", brand: "Acme" } })).toEqual(["c", "a"])
          expect(yield* found({ where: { tags: "new" }, text: "lathe -drill" })).toEqual(["a"])
          expect(yield* found({ where: { tags: "new" }, text: "-lathe" })).toEqual([])
          expect(yield* found({ from: 20, until: 30 })).toEqual(["c"])
          expect(yield* found({ batchId })).toHaveLength(3)
          const first = yield* products.search({ limit: 2 })
          expect(yield* found({ limit: 2, after: first.next ?? "" })).toEqual(["a"])
          const matched = yield* products.search({ text: "lathe", limit: 1 })
          expect(yield* found({ text: "lathe", limit: 1, after: matched.next ?? "" })).toEqual(["a"])
          // A field that is not indexed does not type-check; a program that does not check its types gets an error.
          const unindexed = yield* Effect.flip(products.search({ where: { price: 10 } as never }))
          expect(unindexed.message).toContain("has no indexed field price: it indexes brand, tags")
          expect(Option.getOrThrow(yield* products.item("a"))).toEqual({
            id: "a",
            item: product("a", { addedAt: 10, tags: ["new", "steel"] }),
            batchId,
            index: 0,
          })
          expect(yield* products.item("d")).toEqual(Option.none())
          const counts = yield* (yield* Engine).list({ name: "UploadItem" } as never, { limit: 100 })
          expect(counts.instances).toHaveLength(8)
        }),
        { uploads },
      )
    }),
  )

  it.effect("an id whose digits a number cannot hold is refused, so that no two items share one", () =>
    Effect.gen(function* () {
      const Numbered = defineUpload({ name: "Numbered", schema: Schema.Struct({ id: Schema.Finite }), id: "id" })
      const { file, run } = yield* makeDesk(database)
      const ids = ["9007199254740993", "9007199254740992", "-9007199254740993", "1e21", "9007199254740991", "-5", "0.25", "1e3"]
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const { batchId } = yield* service.of(Numbered).start(file("ids.jsonl", ids.map((id) => `{"id":${id}}`).join("\n")))
          expect((yield* service.finished(batchId)).items).toMatchObject({ stored: 4, failed: 4 })
          const { items } = yield* service.items(batchId)
          expect(items.map(({ id, problem }) => problem?.reason ?? id)).toEqual([
            ...Array.from({ length: 4 }, () => "invalid_id"),
            ...["9007199254740991", "-5", "0.25", "1000"],
          ])
          expect(items[0]?.problem?.message).toBe(
            "its id is a whole number beyond 9007199254740991, whose last digits are lost; write the id as a string, and define it as one",
          )
        }),
        { uploads: [Numbered] },
      )
    }),
  )

  it.effect("corrected items are tried again; one that would fail again is refused with the reason", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("products.json", [product("a"), { sku: "b" }, product("c", { price: -1 })])
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const products = service.of(Products)
          const { batchId } = yield* products.start(path)
          yield* service.finished(batchId)
          expect(yield* Effect.flip(service.correct(batchId, 1, { sku: "b" }))).toMatchObject({
            _tag: "ItemStillInvalid",
            reason: "missing_field",
            message: expect.stringContaining("would fail again (missing_field): title is missing"),
          })
          // A key that is not known would be dropped in silence.
          for (const [key, problem] of [
            ["tag", "tag is not known; did you mean tags?"],
            ["colour", "colour is not known; use one of sku, title, brand, tags, price, addedAt"],
          ] as const) {
            const item = { sku: "b", title: "A saw", brand: "Acme", price: 2, [key]: ["new"] }
            expect(yield* Effect.flip(service.correct(batchId, 1, item))).toMatchObject({ reason: "invalid_field", problem })
          }
          const corrected = { sku: "b", title: "A saw", brand: "Acme", price: 2 }
          expect(yield* Effect.flip(products.correct(batchId, 1, { ...corrected, sku: "a" }))).toMatchObject({ reason: "duplicate" })
          expect(yield* Effect.flip(products.correct(batchId, 2, { ...corrected, sku: "c", price: -2 }))).toMatchObject({
            reason: "rejected",
            problem: "its price is below 0",
          })
          yield* products.correct(batchId, 1, corrected)
          const waiting = Effect.map(service.items(batchId), ({ items }) =>
            items.filter(({ correctedAt }) => correctedAt !== undefined).map(({ index }) => index),
          )
          expect(yield* waiting).toEqual([1])
          yield* service.retryFailed(batchId)
          expect(yield* service.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
          expect(yield* waiting).toEqual([])
          yield* products.correct(batchId, 2, { ...corrected, sku: "c" })
          yield* service.retryFailed(batchId)
          expect(yield* service.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 3, failed: 0 }, canRetry: false })
          const { steps } = yield* service.history(batchId, 2)
          expect(steps.map(({ state, attempt }) => `${attempt} ${state}`)).toEqual([
            "1 ingested",
            "1 failed",
            "2 ingested",
            "2 failed",
            "3 ingested",
            "3 validated",
            "3 stored",
          ])
        }),
        { uploads },
      )
    }),
  )

  it.effect("an item that is uploaded again replaces the one before, in its kind alone", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const products = service.of(Products)
          const meetings = service.of(Meetings)
          for (const [name, items] of [
            ["one", [product("7"), product("8")]],
            ["two", [product("7", { title: "A newer plane", brand: "Other" })]],
          ] as const) {
            yield* service.finished((yield* products.start(file(`${name}.json`, items))).batchId)
          }
          const day = "2026-02-03T00:00:00.000Z"
          const { batchId } = yield* meetings.start(file("meetings.json", [{ number: 7, day, room: "east" }]))
          yield* service.finished(batchId)
          expect((yield* products.search({ text: "lathe" })).items.map(({ id }) => id)).toEqual(["8"])
          expect((yield* products.search({ where: { brand: "Other" } })).items.map(({ item }) => item.title)).toEqual(["A newer plane"])
          expect(Option.getOrThrow(yield* meetings.item(7)).item).toEqual({ number: 7, day: new Date(day), room: "east" })
          expect((yield* meetings.search({ from: new Date(day).getTime() })).items).toHaveLength(1)
          // As JSON, for programs that work with any kind.
          const named = yield* service.named("Meetings")
          expect((yield* named.search({ where: { room: "east" } })).items.map(({ item }) => item)).toEqual([
            { number: 7, day, room: "east" },
          ])
        }),
        { uploads },
      )
    }),
  )

  it.effect("a file is known once in each kind, and is taken as the first kind where none is named", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [{ id: 1, type: "story", sku: "x", title: "both", brand: "b", price: 1 }])
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          expect(service.kinds).toMatchObject([
            { name: "Products", fields: ["brand", "tags"], isDefault: true },
            { name: "Meetings", fields: ["room"], isDefault: false },
            { name: "Posts", fields: ["type", "by"], isDefault: false },
          ])
          const products = yield* service.start(path)
          const stories = yield* service.start(path, { kind: Posts })
          expect([products.kind, stories.kind]).toEqual(["Products", "Posts"])
          for (const { batchId } of [products, stories]) expect((yield* service.finished(batchId)).state).toBe("completed")
          expect(yield* Effect.flip(service.start(path))).toMatchObject({ _tag: "AlreadyUploaded", batchId: products.batchId })
          expect((yield* service.batches()).batches.map(({ kind }) => kind)).toEqual(["Posts", "Products"])
          const unknown = yield* Effect.flip(service.start(path, { kind: "Prodcts" }))
          expect(unknown).toMatchObject({ _tag: "UploadUnknown", known: ["Products", "Meetings", "Posts"] })
          expect((yield* service.of(Posts).search({ where: { type: "story" } })).items).toMatchObject([{ id: "1" }])
        }),
        { uploads },
      )
    }),
  )

  it.effect("a batch whose kind is no longer defined fails with the next step, and resumes when it is defined again", () =>
    Effect.gen(function* () {
      const { address, file, run } = yield* makeDesk(database)
      const path = file("products.json", [product("a"), {}])
      const batchId = yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const { batchId } = yield* service.start(path)
          yield* service.finished(batchId)
          return batchId
        }),
        { uploads },
      )
      expect(address).toBeDefined()
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          yield* service.retryFailed(batchId)
          const failed = yield* service.finished(batchId)
          expect(failed.state).toBe("failed")
          expect(failed.batch.failure?.message).toContain("no upload Products is defined; use one of Posts")
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          yield* service.retryBatch(batchId)
          expect(yield* service.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 1, failed: 1 } })
        }),
        { uploads },
      )
    }),
  )

  it.effect("a definition has its own notification and its own check of the file", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const notices: Array<readonly [string, Notice["outcome"]]> = []
      const telling = (name: string) => (notice: Notice) => Effect.sync(() => void notices.push([name, notice.outcome]))
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          for (const [kind, item] of [
            ["Products", product("a")],
            ["Posts", story(1)],
          ] as const) {
            yield* service.finished((yield* service.start(file(`${kind}.json`, [item]), { kind })).batchId)
          }
          expect(notices).toEqual([
            ["products", "completed"],
            ["all", "completed"],
          ])
        }),
        { uploads: [Products.with({ notify: telling("products"), integrity: "hash" }), Posts], notify: telling("all") },
      )
    }),
  )

  it.effect("bytes whose MD5 is not the one that was sent are refused and leave no batch", () =>
    Effect.gen(function* () {
      const { file, folder, run } = yield* makeDesk(database)
      const path = file("items.json", [story(1)])
      const md5 = createHash("md5").update(readFileSync(path)).digest("hex")
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const bytes = Stream.succeed(readFileSync(path))
          expect(yield* Effect.flip(service.receive(bytes, { fileName: "sent.json", md5: "0".repeat(32) }))).toMatchObject({
            _tag: "FileDamaged",
            md5,
          })
          expect((yield* service.batches()).batches).toEqual([])
          const { batchId } = yield* service.start(path, { md5: md5.toUpperCase() })
          expect((yield* service.finished(batchId)).state).toBe("completed")
        }),
        { folder: `${folder}/inbox` },
      )
    }),
  )
})

it("a name that cannot be one is refused", () => {
  const named = (name: string) => () => defineUpload({ name, schema: Product, id: "sku" })
  expect(named("a b")).toThrow('"a b" cannot name an upload; use up to 64 letters, digits, - and _, with a letter first')
})

describe("schemas of other libraries", () => {
  it("an upload with a schema of zod reads, refuses and encodes items", () => {
    const Tools = defineUpload({
      name: "Tools",
      schema: z.object({ sku: z.string(), price: z.number().positive(), tags: z.array(z.string()).default([]) }),
      id: "sku",
      index: { text: ["sku"], fields: ["tags"] },
    })
    expect(Tools.kind.read({ sku: "a", price: 3 })).toEqual({ _tag: "Good", item: { sku: "a", price: 3, tags: [] } })
    expect(Tools.kind.read({ sku: "a", price: -3 })).toMatchObject({
      problem: { reason: "invalid_field", message: expect.stringMatching(/^price: /) },
    })
    expect(Tools.kind.encode({ sku: "a", price: 3, tags: ["x"] })).toEqual({ sku: "a", price: 3, tags: ["x"] })
  })

  it("one whose items cannot be stored and read back equal is refused", () => {
    expect(() => defineUpload({ name: "Dates", schema: z.object({ id: z.string(), at: z.date() }), id: "id" })).toThrow(
      "at in the item of upload Dates is a date",
    )
  })
})
