/** The same file again, and failed items again. */

import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Posts } from "../src/generate/Post.ts"
import { Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

describe.each(databases)("$name", (database) => {
  it.effect("the same file again is recognised by its hash, whatever it is called, and uploaded with force", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const first = file("a.json", [story(1), story(2)])
      const second = file("b.json", [story(1), story(2)])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(first)
          yield* uploads.finished(batchId)
          const refused = yield* Effect.flip(uploads.start(second))
          expect(refused).toMatchObject({ _tag: "AlreadyUploaded", batchId, state: "completed", file: "b.json" })
          expect(refused.message).toContain(`was uploaded before as ${batchId}, which is completed; upload it with force`)
          const again = yield* uploads.start(second, { force: true })
          expect((yield* uploads.finished(again.batchId)).items).toMatchObject({ stored: 2 })
          // Uploaded again, an item that is the same stays as it is.
          expect((yield* posts.search({})).items.map(({ batchId, item }) => [batchId, item.id])).toEqual([
            [batchId, 2],
            [batchId, 1],
          ])
          expect(yield* Effect.flip(uploads.start(first))).toMatchObject({ _tag: "AlreadyUploaded", batchId })
          const { batches, next } = yield* uploads.batches({ limit: 1 })
          expect(batches).toMatchObject([{ batchId: again.batchId, fileName: "b.json", stored: 2, failed: 0 }])
          expect((yield* uploads.batches({ after: next ?? 0 })).batches).toMatchObject([{ batchId }])
        }),
      )
    }),
  )

  it.effect("items whose ids are between those of an earlier batch are added, and those with the same ids are replaced", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const first = file("a.json", [story(1), story(5), story(9)])
      const between = file("b.json", [story(3), story(7)])
      const mixed = file("c.json", [story(4), story(5, { title: "Replaced" })])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          for (const path of [first, between, mixed]) {
            const { batchId } = yield* uploads.start(path)
            expect((yield* uploads.finished(batchId)).state).toBe("completed")
          }
          const idsOf = (text: string) => Effect.map(posts.search({ text }), ({ items }) => items.map(({ item }) => item.id))
          expect(yield* idsOf("story")).toEqual([9, 7, 4, 3, 1])
          expect(yield* idsOf("replaced")).toEqual([5])
        }),
      )
    }),
  )

  it.effect("two uploads of the same file at once are one batch", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("a.json", [story(1)])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const outcomes = yield* Effect.all(
            [1, 2, 3].map(() => Effect.result(uploads.start(path))),
            { concurrency: "unbounded" },
          )
          const ids = outcomes.map((one) =>
            one._tag === "Success" ? one.success.batchId : one.failure._tag === "AlreadyUploaded" ? one.failure.batchId : "",
          )
          expect(new Set(ids).size).toBe(1)
          expect((yield* uploads.finished(ids[0] ?? "")).state).toBe("completed")
        }),
      )
    }),
  )

  it.effect("a batch that a process entered and died before it began is begun by the next upload of the file", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("a.json", [story(1)])
      const other = file("b.json", [story(2)])
      const md5 = (one: string) => createHash("md5").update(readFileSync(one)).digest("hex")
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const sql = yield* SqlClient
          const table = sql.literal(database.name === "SQLite" ? "detent_upload_batches" : "detent.upload_batches")
          const original = database.name === "SQLite" ? 1 : true
          for (const [batchId, hash] of [
            ["died-1", md5(path)],
            ["died-2", md5(other)],
          ]) {
            yield* sql`insert into ${table} (batch_id, kind, file_name, md5, original, created_at, updated_at) values (${batchId}, 'Posts', 'x', ${hash}, ${original}, 0, 0)`
          }
          const taken = yield* uploads.start(path)
          expect(taken.batchId).toBe("died-1")
          expect((yield* uploads.finished("died-1")).state).toBe("completed")
          expect(yield* Effect.flip(uploads.start(path, { batchId: "died-2" }))).toMatchObject({ _tag: "BatchExists" })
          expect((yield* uploads.start(other, { batchId: "died-2" })).batchId).toBe("died-2")
          expect((yield* uploads.finished("died-2")).state).toBe("completed")
        }),
      )
    }),
  )

  it.effect("failed items are corrected and tried again, and only those", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [story(1), { id: 2 }, { type: "story" }, story(1, { title: "again" }), story(5)])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(path)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 3 } })
          yield* uploads.correct(batchId, 1, story(2, { title: "corrected" }))
          yield* uploads.correct(batchId, 3, story(4))
          yield* uploads.retryFailed(batchId)
          const second = yield* uploads.finished(batchId)
          expect(second).toMatchObject({
            state: "partially_completed",
            items: { stored: 4, failed: 1 },
            batch: { itemsProcessed: 4, itemsErrored: 1 },
          })
          expect(second.batch.errorSummary).toMatchObject({ total: 1, groups: [{ reason: "missing_id", examples: [{ index: 2 }] }] })
          const { items } = yield* uploads.items(batchId)
          expect(items.map(({ state, attempts }) => [state, attempts])).toEqual([
            ["stored", 1],
            ["stored", 2],
            ["failed", 2],
            ["stored", 2],
            ["stored", 1],
          ])
          expect(Option.getOrThrow(yield* posts.item(2)).item.title).toBe("corrected")
          yield* uploads.correct(batchId, 2, story(3))
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 5, failed: 0 } })
          expect(yield* Effect.flip(uploads.correct(batchId, 2, story(3)))).toMatchObject({ _tag: "ItemNotFailed", index: 2 })
          expect(yield* Effect.flip(uploads.retryFailed(batchId))).toMatchObject({ _tag: "MachineStopped", state: "completed" })
        }),
      )
    }),
  )
})
