/** Failed items are retried from the database: their file is read only for items that were not taken yet. */
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Uploads } from "../src/index.ts"
import { breaking, hurrying } from "./support/Breaking.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

describe.each(databases)("$name", (database) => {
  it.effect("a batch whose items all failed is retried after its file is gone, with the corrections", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [{ id: 1 }, { id: 2 }])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "failed", items: { total: 2, stored: 0, failed: 2 } })
          yield* uploads.correct(batchId, 0, story(1))
          rmSync(path)
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "partially_completed",
            items: { total: 2, waiting: 0, stored: 1, failed: 1 },
            batch: { retryCount: 1, invalidItemsInFile: 2 },
          })
          yield* uploads.correct(batchId, 1, story(2))
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { total: 2, stored: 2, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("a partially completed batch that was cancelled is retried after its file is gone", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [story(1), { id: 2 }])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed" })
          yield* uploads.cancel(batchId, "not now")
          yield* uploads.correct(batchId, 1, story(2))
          rmSync(path)
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { total: 2, stored: 2, failed: 0 } })
        }),
      )
    }),
  )

  /** Stores the first of 6,000 items; the database refuses the others, and the batch is marked as failed. */
  const halfway = (path: string) =>
    Effect.gen(function* () {
      const uploads = yield* Uploads
      const sql = yield* SqlClient
      writeFileSync(path, JSON.stringify(Array.from({ length: 6000 }, (_, index) => story(index + 1))))
      const { breakLater = "", repair = "" } = breaking[database.name] ?? {}
      yield* sql.unsafe(breakLater)
      yield* uploads.start(path, { batchId: "b" })
      yield* hurrying(uploads.finished("b"))
      yield* sql.unsafe(repair)
      return yield* uploads.status("b")
    })

  it.effect("a retry that needs a missing file is refused and uses up no try; the counts stay", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const before = yield* halfway(path)
          expect(before).toMatchObject({ state: "failed", canRetry: true, batch: { retryCount: 1 } })
          const { stored } = before.items
          expect(stored).toBeGreaterThan(0)
          expect(before.items).toEqual({ total: 6000, waiting: 6000 - stored, stored, failed: 0 })
          renameSync(path, `${path}.away`)
          for (let round = 0; round < 4; round++) {
            const refused = yield* Effect.flip(uploads.retryBatch("b"))
            expect(refused).toMatchObject({ _tag: "FileUnreadable" })
            expect(refused.message).toBe("items.json cannot be read: there is no such file; put it back and retry the batch")
            expect(yield* uploads.status("b")).toMatchObject({
              state: "failed",
              canRetry: true,
              items: before.items,
              batch: { retryCount: 1 },
            })
          }
          renameSync(`${path}.away`, path)
          yield* uploads.retryBatch("b")
          expect(yield* uploads.finished("b")).toMatchObject({ state: "completed", items: { total: 6000, stored: 6000, failed: 0 } })
        }),
        { storeTimeout: "1 second" },
      )
    }),
  )

  it.effect("a retry that fails in validation keeps every count, also when it is repeated", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { items } = yield* halfway(path)
          renameSync(path, `${path}.away`)
          writeFileSync(path, "[1, 2")
          for (const retryCount of [2, 3]) {
            yield* uploads.retryBatch("b")
            expect(yield* uploads.finished("b")).toMatchObject({ state: "failed", items, batch: { retryCount } })
          }
        }),
        { storeTimeout: "1 second" },
      )
    }),
  )

  it.effect("a correction is refused when no retry can use it", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [{ id: 1 }, { id: 2 }])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          for (const retryCount of [1, 2, 3]) {
            expect(yield* uploads.finished(batchId)).toMatchObject({ state: "failed", batch: { retryCount } })
            if (retryCount < 3) yield* uploads.retryBatch(batchId)
          }
          expect((yield* uploads.status(batchId)).canRetry).toBe(false)
          const refused = yield* Effect.flip(uploads.correct(batchId, 1, story(2)))
          expect(refused).toMatchObject({ _tag: "BatchNotRetryable", batchId, retryCount: 3, correction: 1 })
          expect(refused.message).toContain(`the correction of item 1 would never be used; upload the corrected item in a file of its own`)
          expect((yield* uploads.history(batchId, 1)).source).toBe('{"id":2}')
        }),
      )
    }),
  )
})
