/** Uploads that a user cancels, and retries afterwards. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { Posts } from "../src/generate/Post.ts"
import { Uploads, type UploadsService } from "../src/index.ts"
import { databases, uploadsLayer } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const bad = (index: number) => ({ id: index + 1 })

/** Every second item has no type. */
const mixed = (count: number) => Array.from({ length: count }, (_, index) => (index % 2 === 0 ? story(index + 1) : bad(index)))

const idsIn = (uploads: UploadsService, batchId: string, state: "stored" | "failed" | "processing") =>
  Effect.map(uploads.items(batchId, { state, limit: 1000 }), ({ items }) => items)

/** Starts a retry and returns while some of its items are being retried. */
const retrying = (uploads: UploadsService, batchId: string) =>
  Effect.gen(function* () {
    yield* uploads.retryFailed(batchId)
    while ((yield* idsIn(uploads, batchId, "processing")).length === 0) yield* turn
  })

describe.each(databases)("$name", (database) => {
  it.effect("a retry that is cancelled leaves its items failed, with their problems, and they can be corrected", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(file("a.json", mixed(800)))
          yield* uploads.finished(batchId)
          yield* retrying(uploads, batchId)
          const { items, isResting, state } = yield* uploads.cancel(batchId)
          expect([state, isResting, items.failed]).toEqual(["failed", true, 400])
          for (let waited = 0; waited < 20; waited++) yield* turn
          expect(yield* idsIn(uploads, batchId, "processing")).toEqual([])
          const failed = yield* idsIn(uploads, batchId, "failed")
          expect(failed).toHaveLength(400)
          expect(new Set(failed.map(({ problem }) => problem?.reason))).toEqual(new Set(["missing_field"]))
          for (const { index } of failed) yield* uploads.correct(batchId, index, story(index + 1))
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 800, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("a retry whose process ends, and that is cancelled afterwards, leaves its items failed", () =>
    Effect.gen(function* () {
      const { file, run, address } = yield* makeDesk(database)
      const path = file("a.json", mixed(800))
      const first = yield* Scope.make()
      const ended = yield* Layer.buildWithScope(uploadsLayer(address), first)
      const batchId = yield* Effect.gen(function* () {
        const uploads = yield* Uploads
        const { batchId } = yield* uploads.start(path)
        yield* uploads.finished(batchId)
        yield* retrying(uploads, batchId)
        return batchId
      }).pipe(Effect.provideContext(ended))
      yield* Scope.close(first, Exit.void)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.cancel(batchId)
          expect(yield* idsIn(uploads, batchId, "processing")).toEqual([])
          expect((yield* idsIn(uploads, batchId, "failed")).length).toBe((yield* uploads.status(batchId)).items.failed)
        }),
      )
    }),
  )

  it.effect("a correction that a cancelled retry had begun to use is kept", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          const { batchId } = yield* uploads.start(file("a.json", mixed(4)))
          yield* uploads.finished(batchId)
          yield* uploads.correct(batchId, 1, story(2, { title: "Corrected" }))
          const sql = yield* SqlClient
          const table = sql.literal(database.name === "SQLite" ? "detent_upload_entries" : "detent.upload_entries")
          yield* sql`update ${table} set state = 'processing' where state = 'failed'`
          yield* uploads.cancel(batchId, "a mistake")
          const [first] = yield* idsIn(uploads, batchId, "failed")
          expect(first).toMatchObject({ index: 1, problem: { reason: "missing_field" }, correctedAt: expect.any(Number) })
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 3, failed: 1 } })
          expect(Option.getOrThrow(yield* posts.item(2)).item.title).toBe("Corrected")
        }),
      )
    }),
  )

  it.effect("a cancelled upload can be retried as often as it is cancelled, and takes its corrections", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(file("a.json", mixed(4)))
          yield* uploads.finished(batchId)
          for (let round = 0; round < 5; round++) {
            expect(yield* uploads.cancel(batchId, "a mistake")).toMatchObject({ state: "failed", canRetry: true, batch: { retryCount: 0 } })
            yield* uploads.retryBatch(batchId)
            expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 2 } })
          }
          yield* uploads.cancel(batchId)
          yield* uploads.correct(batchId, 1, story(2))
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ items: { stored: 3, failed: 1 } })
        }),
      )
    }),
  )
})
