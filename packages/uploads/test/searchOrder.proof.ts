/** Pages of found items: the same order on both databases, and a clear refusal of a search that means nothing. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Posts } from "../src/generate/Post.ts"
import { defineUpload, type ItemQuery, Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const Note = Schema.Struct({ id: Schema.String, title: Schema.String, shelf: Schema.String, at: Schema.optionalKey(Schema.Finite) })

const Notes = defineUpload({ name: "Notes", schema: Note, id: "id", index: { text: ["title"], fields: ["shelf"], time: "at" } })

const Timeless = defineUpload({ name: "Timeless", schema: Note, id: "id", index: { text: ["title"], fields: ["shelf"] } })

const note = (id: string, at?: number) => ({ id, title: `an order of ${id}`, shelf: "top", ...(at === undefined ? {} : { at }) })

const uploads = [Notes, Timeless, Posts]

const queries: ReadonlyArray<ItemQuery<"shelf">> = [
  {},
  { text: "order" },
  { where: { shelf: "top" } },
  { text: "order -nothing", where: { shelf: "top" } },
  { text: "-nothing" },
]

describe.each(databases)("$name", (database) => {
  const found = (kind: typeof Notes | typeof Timeless, query: ItemQuery<"shelf">) =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      const notes = (yield* Uploads).of(kind)
      let after: string | undefined
      do {
        const page = yield* notes.search({ ...query, limit: 2, ...(after === undefined ? {} : { after }) })
        ids.push(...page.items.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      return ids.join(" ")
    })

  const upload = (kind: typeof Notes | typeof Timeless, path: string) =>
    Effect.gen(function* () {
      const service = yield* Uploads
      const { batchId } = yield* service.of(kind).start(path)
      expect((yield* service.finished(batchId)).state).toBe("completed")
      return batchId
    })

  it.effect("found items come with the largest time first, whatever is searched for and however they were stored", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          yield* upload(Notes, file("a.json", [note("z", 3), note("m", 2), note("a", 1), note("y", 5), note("b", 4)]))
          for (const query of queries) expect(yield* found(Notes, query), JSON.stringify(query)).toBe("y b z m a")
          // An item that is uploaded again has the place of its new time.
          yield* upload(Notes, file("b.json", [note("a", 6), note("c", 0)]))
          for (const query of queries) expect(yield* found(Notes, query), JSON.stringify(query)).toBe("a y b z m c")
        }),
        { uploads },
      )
    }),
  )

  it.effect("of items with the same time, the one that was added last comes first, in the order of the files", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          yield* upload(Timeless, file("a.json", [note("z"), note("a"), note("m")]))
          yield* upload(Timeless, file("b.json", [note("k"), note("z"), note("b")]))
          for (const query of queries) expect(yield* found(Timeless, query), JSON.stringify(query)).toBe("b k m a z")
          expect((yield* (yield* Uploads).of(Timeless).search({ text: "order", limit: 2 })).items.map(({ id }) => id)).toEqual(["b", "k"])
        }),
        { uploads },
      )
    }),
  )

  it.effect("two batches that write the same items in opposite orders both end", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const notes = Array.from({ length: 3000 }, (_, index) => note(`n${(index * 7919) % 3000}`, index))
      const paths = [file("a.json", notes), file("b.json", notes.toReversed())]
      yield* run(
        Effect.forEach(paths, (path) => upload(Timeless, path), { concurrency: 2 }),
        { uploads },
      )
    }),
  )

  it.effect("a search with a text that is no cursor, or with a batch that does not exist, is refused", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const service = yield* Uploads
          const batchId = yield* upload(Notes, file("a.json", [note("a", 1.5), note("b", -2), note("c", 1e21)]))
          const notes = service.of(Notes)
          for (const after of ["zzz", "", "_", "1_", "_1", "1_2_3", "1_x", "1_1.5", "Infinity_1", " 1_2"]) {
            const refused = yield* Effect.flip(notes.search({ after }))
            expect(refused, after).toMatchObject({ _tag: "QueryRefused" })
            expect(refused.message).toContain("its after is not the cursor of a page; pass the next of the previous page")
          }
          const named = yield* service.named("Posts")
          expect(yield* Effect.flip(named.search({ text: "story", after: "zzz" }))).toMatchObject({ _tag: "QueryRefused" })
          expect(yield* Effect.flip(named.search({ batchId: "no such" }))).toMatchObject({ _tag: "BatchNotFound", batchId: "no such" })
          expect(yield* Effect.flip(notes.search({ batchId: "no such" }))).toMatchObject({ _tag: "BatchNotFound", batchId: "no such" })
          expect(yield* found(Notes, { batchId })).toBe("c a b")
          const news = (yield* service.start(file("news.json", [story(1), story(2)]), { kind: "Posts" })).batchId
          yield* service.finished(news)
          const first = yield* named.search({ batchId: news, limit: 1 })
          expect((yield* named.search({ batchId: news, after: first.next ?? "" })).items.map(({ id }) => id)).toEqual(["1"])
        }),
        { uploads },
      )
    }),
  )
})
