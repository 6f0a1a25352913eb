/** Items that are made to take long: every step on their text is linear in its length, so the batch comes to its end. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { plainText } from "../src/generate/PlainText.ts"
import { Posts } from "../src/generate/Post.ts"
import { Uploads } from "../src/index.ts"
import { parseSearch, wordsOf } from "../src/store/SearchText.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const size = 300_000

/** Each would take minutes by a pattern that tries again from every character. */
const hostile: ReadonlyArray<readonly [name: string, text: string]> = [
  ["tags that never close", "<".repeat(size)],
  ["tags that open tags", "<a ".repeat(size / 3)],
  ["entities that never end", "&".repeat(size)],
  ["numbers that never end", `&#${"1".repeat(size)}`],
  ["one word", "a".repeat(size)],
  ["accents without letters", "\u0301".repeat(size / 2)],
  ["letters that become many", "\ufdfa".repeat(size / 30)],
  ["quotes", '\\"'.repeat(size / 2)],
  ["white space", " \t".repeat(size / 2)],
]

describe.each(databases)("$name", (database) => {
  it.effect.each(hostile)("an item of 300 kB of %s is stored like any other, and found", ([, text]) =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const path = file("items.json", [story(1, { text, title: "before" }), story(2, { text: `${text} behind` }), story(3)])
          const { batchId } = yield* uploads.start(path)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 3 } })
          expect((yield* posts.search({ text: "before" })).items.map(({ item }) => item.id)).toEqual([1])
          expect((yield* posts.search({ where: { by: "ada" } })).items).toHaveLength(3)
        }),
      )
    }),
  )

  it.effect("an item that is nested too deeply fails with that problem, and is not corrected with such content", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const deep = [499, 500, 5_000, 50_000].map((levels) => `{"id":${levels},"type":"story","kids":${nested(levels)}}`)
          const { batchId } = yield* uploads.start(file("items.jsonl", [JSON.stringify(story(1)), ...deep].join("\n")))
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 1, failed: 4 } })
          const [wrong, ...failed] = (yield* uploads.items(batchId, { state: "failed" })).items
          expect(wrong?.problem?.message).toBe("kids.0: Expected number")
          const message = expect.stringContaining("it is nested too deeply: it has more than 500 levels")
          for (const { problem } of failed) expect(problem).toEqual({ reason: "invalid_field", message })
          const circle: { self?: object } = {}
          circle.self = circle
          for (const kids of [JSON.parse(nested(500)), JSON.parse(nested(50_000)), circle])
            expect(yield* Effect.flip(uploads.correct(batchId, 1, story(2, { kids })))).toMatchObject({
              _tag: "ItemStillInvalid",
              message: expect.stringContaining("it is nested too deeply"),
            })
        }),
      )
    }),
  )
})

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

it.each(hostile)("a search for %s is read to its end", (_, text) => {
  expect(Array.isArray(parseSearch(text))).toBe(true)
  expect(Array.isArray(wordsOf(plainText(text)))).toBe(true)
})

it("text outside of tags stays, each tag becomes a space", () => {
  expect(plainText("a<b>c</b>d")).toBe("a c d")
  expect(plainText("1 < 2 and <i>more")).toBe("1  more")
  expect(plainText("<<<< no end")).toBe("<<<< no end")
  expect(plainText("x &lt;y&gt; &amp; &#65;&#x42; &unknown;")).toBe("x <y> & AB &unknown;")
})
