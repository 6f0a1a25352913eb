/** Words and phrases of long items are found, on both databases. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Posts } from "../src/generate/Post.ts"
import { defineUpload, Uploads, type UploadsOptions } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const Pages = defineUpload({
  name: "Pages",
  schema: Schema.Struct({ id: Schema.String, text: Schema.String, tags: Schema.optionalKey(Schema.Array(Schema.String)) }),
  id: "id",
  index: { text: ["text"], fields: ["tags"] },
})

const repeated = (count: number, word: (index: number) => string) => Array.from({ length: count }, (_, index) => word(index)).join(" ")

describe.each(databases)("$name", (database) => {
  /** Uploads one text as an item of a kind and as a post; gives the searches that find it. */
  const finding = (text: string, searches: ReadonlyArray<string>, options: UploadsOptions = {}) =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      return yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const pages = service.of(Pages)
          const others = ["another text of a few words", "few words"]
          const path = file("pages.json", [{ id: "long", text }, ...others.map((other, index) => ({ id: `${index}`, text: other }))])
          const newsPath = file("news.json", [
            story(7, { title: "", text }),
            ...others.map((other, index) => story(index + 1, { title: other })),
          ])
          for (const { batchId } of [yield* pages.start(path), yield* service.start(newsPath, { kind: "Posts" })])
            expect((yield* service.finished(batchId)).state).toBe("completed")
          const isFound = (search: string) =>
            Effect.gen(function* () {
              const page = (yield* pages.search({ text: search })).items.some(({ id }) => id === "long")
              const news = (yield* service.of(Posts).search({ text: search })).items.some(({ item }) => item.id === 7)
              expect(news, `${search.slice(0, 80)} in posts`).toBe(page)
              return page
            })
          return yield* Effect.filter(searches, isFound)
        }),
        { uploads: [Pages, Posts], ...options },
      )
    })

  it.effect("a phrase that follows a word that occurs 400 times", () =>
    Effect.gen(function* () {
      const text = `first of all ${repeated(400, () => "the")} old house by the lake`
      const there = [
        '"the old house"',
        '"old house by the lake"',
        '"first of all the"',
        '"by the"',
        "hous*",
        '-"old lake"',
        '"of all" lake -"lake the"',
      ]
      const absent = ['"the house"', '"lake the"', '"old houses"', '-"old house"', '"house by a"', "house -the"]
      expect(yield* finding(text, [...there, ...absent])).toEqual(there)
    }),
  )

  it.effect("words and phrases after the 16,000th word, and after 200,000 letters", () =>
    Effect.gen(function* () {
      const many = `${repeated(20_000, (index) => `w${index}`)} the very end`
      const there = ["end", "w19999", '"w19999 the very end"', '"w16382 w16383 w16384"', "w1999*", "w1 end", '-"end very"']
      const absent = ["w20000", '"w1 w3"', '"very the"', "-end", "w1 -end"]
      expect(yield* finding(many, [...there, ...absent])).toEqual(there)
      const wide = `${repeated(900, (index) => `${index}${"x".repeat(300)}`)} the very end`
      expect(yield* finding(wide, ['"very end"', "end", `"899${"x".repeat(300)} the"`, '"very the"'])).toEqual([
        '"very end"',
        "end",
        `"899${"x".repeat(300)} the"`,
      ])
    }),
  )

  it.effect("a word of more than 500 letters stands between its neighbours, and is found", () =>
    Effect.gen(function* () {
      const word = "é".normalize().repeat(400) + "\u{10428}".repeat(300)
      const there = ['"left right of"', word, `"here ${word} there"`, `${word.slice(0, 400)}*`, `${word.slice(0, 900)}*`]
      const absent = ['"here there"', word.slice(0, 500), `${word}x`, `-${word}`, `"${word} here"`]
      expect(yield* finding(`left right of here ${word} there`, [...there, ...absent])).toEqual(there)
    }),
  )

  it.effect("an item of 1 MB of different words is stored, and its first and last word are found", () =>
    Effect.gen(function* () {
      const text = repeated(110_000, (index) => index.toString(36).padStart(8, "z"))
      const last = (109_999).toString(36).padStart(8, "z")
      const there = ["zzzzzzz0", last, `"${(109_998).toString(36).padStart(8, "z")} ${last}"`]
      expect(yield* finding(text, [...there, `"${last} zzzzzzz0"`])).toEqual(there)
    }),
  )

  it.effect("where items may be larger, PostgreSQL finds the words of the first megabyte only", () =>
    Effect.gen(function* () {
      const text = repeated(150_000, (index) => index.toString(36).padStart(8, "z"))
      const searches = ["zzzzzzz0", '"zzzzzzz0 zzzzzzz1"', (149_999).toString(36).padStart(8, "z")]
      const expected = database.name === "SQLite" ? searches : searches.slice(0, 2)
      expect(yield* finding(text, searches, { maxItemBytes: 2_000_000 })).toEqual(expected)
    }),
  )

  it.effect("an item with more values of a field than an index takes is stored; PostgreSQL finds it by the first 10,000", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const tags = Array.from({ length: 40_000 }, (_, index) => `tag ${index}`)
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const pages = service.of(Pages)
          const { batchId } = yield* pages.start(
            file("pages.json", [
              { id: "a", text: "some words", tags },
              { id: "b", text: "words" },
            ]),
          )
          expect((yield* service.finished(batchId)).items).toMatchObject({ stored: 2, failed: 0 })
          const found = (tag: string) => Effect.map(pages.search({ text: "some", where: { tags: tag } }), ({ items }) => items.length)
          expect([yield* found("tag 0"), yield* found("tag 9999")]).toEqual([1, 1])
          expect(yield* found("tag 39999")).toBe(database.name === "SQLite" ? 1 : 0)
        }),
        { uploads: [Pages], storeTimeout: "1 second" },
      )
    }),
  )
})
