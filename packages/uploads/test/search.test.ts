/** Stored items are found as a plain search through all of them would find them, on both databases. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Chance } from "../src/generate/GeneratedPost.ts"
import { writeItemFile } from "../src/generate/index.ts"
import { plainText } from "../src/generate/PlainText.ts"
import { type Post, Posts } from "../src/generate/Post.ts"
import { type ItemQuery, Uploads } from "../src/index.ts"
import { parseSearch, type SearchTerm, wordsOf } from "../src/store/SearchText.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const has = (words: ReadonlyArray<string>, { words: wanted, prefix }: SearchTerm): boolean =>
  words.some((_, start) =>
    wanted.every((word, index) => {
      const found = words[start + index]
      return prefix && index === wanted.length - 1 ? found?.startsWith(word) === true : found === word
    }),
  )

type Query = ItemQuery<"type" | "by">

const searchText = ({ title, text }: Post) => [title, text].flatMap((html) => (html === undefined ? [] : [plainText(html)])).join(" ")

const matches = (item: Post, { text, where: { type, by } = {}, from, until }: Query): boolean => {
  const words = wordsOf(searchText(item))
  const terms = text === undefined ? [] : parseSearch(text)
  if (text !== undefined && terms.length === 0) return false
  return (
    terms.every((term) => has(words, term) !== term.excluded) &&
    (type === undefined || item.type === type) &&
    (by === undefined || item.by === by) &&
    (from === undefined || (item.time ?? 0) >= from) &&
    (until === undefined || (item.time ?? 0) < until)
  )
}

/** What a plain search finds, newest first. */
const expected = (items: ReadonlyArray<Post>, query: Query): ReadonlyArray<Post> => {
  const found = items.filter((item) => matches(item, query))
  return found.toSorted((left, right) => (right.time ?? 0) - (left.time ?? 0) || right.id - left.id)
}

const randomQuery = (chance: Chance, items: ReadonlyArray<Post>): Query => {
  const sample = chance.pick(items)
  const words = wordsOf(searchText(sample))
  const start = chance.between(0, Math.max(0, words.length - 2))
  const word = words[start] ?? "nothing"
  const other = words[chance.between(0, Math.max(0, words.length - 1))] ?? "something"
  const texts = [
    word,
    `${word} ${other}`,
    `"${word} ${words[start + 1] ?? ""}"`,
    `${word.slice(0, 3)}*`,
    `${other} -${word}`,
    `-${word}`,
    `NOT ${word} OR (${other})`,
  ]
  const { by, time = 0 } = sample
  return {
    ...(chance.happens(0.7) ? { text: chance.pick(texts) } : {}),
    where: { ...(chance.happens(0.3) ? { type: sample.type } : {}), ...(chance.happens(0.2) && by !== undefined ? { by } : {}) },
    ...(chance.happens(0.2) ? { from: time - chance.between(0, 5000) } : {}),
    ...(chance.happens(0.2) ? { until: time + chance.between(0, 5000) } : {}),
    limit: chance.pick([7, 60, 1000]),
  }
}

describe.each(databases)("$name", (database) => {
  it.effect("items are found by words, phrases, beginnings, type, author and time, page by page", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* Effect.promise(() => writeItemFile(path, { items: 1500, layout: "lines", seed: 3 }))
      const items = readFileSync(path, "utf8")
        .trim()
        .split("\n")
        .map((line): Post => JSON.parse(line))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(path)
          expect((yield* uploads.finished(batchId)).items.stored).toBe(1500)
          const chance = new Chance(11)
          let found = 0
          for (let round = 0; round < 60; round++) {
            const query = randomQuery(chance, items)
            const pages: Array<Post> = []
            let after: Query["after"]
            do {
              const page = yield* posts.search({ ...query, ...(after === undefined ? {} : { after }) })
              pages.push(...page.items.map(({ item }) => item))
              after = page.next
            } while (after !== undefined)
            expect(pages, JSON.stringify(query)).toEqual(expected(items, query))
            found += pages.length
          }
          expect(found).toBeGreaterThan(500)
        }),
      )
    }),
  )

  it.effect("accents, other scripts, markup and whatever is typed", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const titles = [
        "Café in Zürich",
        "日本語 テキスト",
        "Привет, мир!",
        "C++ &amp; <i>Rust</i>",
        "don&#x27;t panic",
        "नमस्ते दुनिया",
        "x".repeat(3000),
      ]
      const path = file(
        "items.json",
        titles.map((title, index) => story(index + 1, { title })),
      )
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          yield* uploads.finished((yield* uploads.start(path)).batchId)
          const ids = (text: string) => Effect.map(posts.search({ text }), ({ items }) => items.map(({ item }) => item.id))
          for (const [text, found] of [
            ["cafe", [1]],
            ["CAFÉ zurich", [1]],
            ["日本語", [2]],
            ["привет", [3]],
            ["rust", [4]],
            ["amp", []],
            ["don't", [5]],
            ["नमस्ते", [6]],
            ['"panic don"', []],
            ["", []],
            ['"', []],
            ["'; drop table x; --", []],
            ["NEAR(a b) * ^ : AND", []],
          ] as const) {
            expect(yield* ids(text), text).toEqual(found)
          }
        }),
      )
    }),
  )

  it.effect("an item that is uploaded again is found by its new words only", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const first = yield* uploads.start(file("a.json", [story(1, { title: "old words" }), story(2, { title: "old too" })]))
          yield* uploads.finished(first.batchId)
          const second = yield* uploads.start(file("b.json", [story(1, { title: "new words" }), { id: 2, type: "story", deleted: true }]))
          yield* uploads.finished(second.batchId)
          const found = (query: Query) => Effect.map(posts.search(query), ({ items }) => items.map(({ item }) => item.id))
          expect(yield* found({ text: "old" })).toEqual([])
          expect(yield* found({ text: "new words" })).toEqual([1])
          expect(yield* found({ batchId: second.batchId })).toEqual([1, 2])
          expect(yield* found({ batchId: first.batchId })).toEqual([])
          expect(yield* found({ from: 1 })).toEqual([1])
        }),
      )
    }),
  )
})
