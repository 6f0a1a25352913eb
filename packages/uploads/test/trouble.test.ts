/** What goes wrong around a batch: requests, checks, databases, files that vanish. The errors, and how it continues. */

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { writeItemFile } from "../src/generate/index.ts"
import { Posts } from "../src/generate/Post.ts"
import { Uploads } from "../src/index.ts"
import { breaking, hurrying } from "./support/Breaking.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

class MailAway extends Schema.TaggedError<MailAway>()("MailAway", { message: Schema.String }) {}

describe.each(databases)("$name", (database) => {
  it.effect("a transition that the state does not have is refused, with those it has", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("mixed.json", [story(1), {}]))
          yield* uploads.finished(batchId)
          expect(yield* Effect.flip(uploads.retryBatch(batchId))).toMatchObject({
            _tag: "InvalidTransition",
            state: "partially_completed",
            accepted: expect.arrayContaining(["retry_failed_items", "mark_failed"]),
          })
          const failed = yield* uploads.markFailed(batchId, "the source withdrew it")
          expect(failed).toMatchObject({
            state: "failed",
            batch: { failure: { message: "the source withdrew it", stored: 1, failed: 1 }, retryCount: 1 },
          })
          expect(yield* Effect.flip(uploads.retryFailed(batchId))).toMatchObject({ _tag: "InvalidTransition", state: "failed" })
          // Said again, it is the same failure for another reason, not another try.
          expect(yield* uploads.markFailed(batchId, "again")).toMatchObject({ batch: { failure: { message: "again" }, retryCount: 1 } })
          const done = yield* uploads.start(desk.file("done.json", [story(7)]))
          yield* uploads.finished(done.batchId)
          expect(yield* Effect.flip(uploads.markFailed(done.batchId))).toMatchObject({ _tag: "MachineStopped", state: "completed" })
          const asked: ReadonlyArray<Effect.Effect<unknown, Error>> = [
            uploads.status("nobody"),
            uploads.finished("nobody"),
            uploads.retryBatch("nobody"),
            uploads.retryFailed("nobody"),
            uploads.cancel("nobody"),
            uploads.items("nobody"),
            uploads.correct("nobody", 1, {}),
          ]
          for (const ask of asked) expect(yield* Effect.flip(ask)).toMatchObject({ _tag: "BatchNotFound" })
          expect(yield* Effect.flip(uploads.start(desk.file("x.json", [story(5)]), { batchId }))).toMatchObject({
            _tag: "BatchExists",
            batchId,
          })
        }),
      )
    }),
  )

  it.effect("a check of your own that always fails stops nothing; once it holds, a retry stores the rest", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      let blocked = true
      const check = ({ by }: { readonly by?: string }) => (blocked && by === "spam" ? "its author is blocked" : undefined)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("a.json", [story(1), story(2, { by: "spam" }), story(3)]))
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 2, failed: 1 } })
          blocked = false
          yield* uploads.retryFailed(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 3, failed: 0 } })
        }),
        { uploads: [Posts.with({ check })] },
      )
    }),
  )

  it.effect("a batch all of whose items failed is retried as a whole, and its items with it", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      let away = true
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("a.json", [story(1), story(2)]))
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "failed", items: { stored: 0, failed: 2 } })
          away = false
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "completed",
            items: { stored: 2, failed: 0 },
            batch: { itemsErrored: 0 },
          })
        }),
        { uploads: [Posts.with({ check: () => (away ? "the service that checks is away" : undefined) })] },
      )
    }),
  )

  it.effect("a listener that fails does not keep a batch from its end", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      let calls = 0
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("a.json", [story(1)]))
          const status = yield* hurrying(uploads.finished(batchId))
          expect(status).toMatchObject({ state: "completed", batch: { notificationError: "the mail server is away" } })
          expect(calls).toBe(3)
        }),
        {
          notify: () =>
            Effect.suspend(() => {
              calls++
              return Effect.fail(new MailAway({ message: "the mail server is away" }))
            }),
        },
      )
    }),
  )

  it.effect("a database that fails for good fails the batch with its words; put right, the batch continues", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const sql = yield* SqlClient
          yield* sql.unsafe(breaking[database.name]?.break ?? "")
          const { batchId } = yield* uploads.start(desk.file("a.json", [story(1), story(2)]))
          const failed = yield* hurrying(uploads.finished(batchId))
          expect(failed).toMatchObject({
            state: "failed",
            items: { stored: 0, failed: 0 },
            batch: { failure: { transition: "start_extraction" } },
          })
          expect(failed.batch.failure?.message).toMatch(/writeItems failed: .*no_more_items/)
          yield* repair
          yield* uploads.retryBatch(batchId)
          const put = yield* hurrying(uploads.finished(batchId))
          expect(put.batch.failure?.message).toBeUndefined()
          expect(put).toMatchObject({ state: "completed", items: { stored: 2 } })
        }),
        { storeTimeout: "2 seconds" },
      )
    }),
  )

  it.effect("a criterion that does not hold keeps a batch where it is, says so, and lets it be marked as failed", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(desk.file("a.json", [story(1)]), { fileName: "" })
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "uploaded",
            isResting: true,
            items: { stored: 0 },
            problem: {
              transition: "validate_file",
              criterion: "UploadBatchValidCriterion",
              message: "UploadBatchValidCriterion does not hold for the result of the processors",
            },
          })
          expect(yield* uploads.markFailed(batchId)).toMatchObject({ state: "failed" })
          expect(yield* Effect.flip(uploads.retryBatch(batchId))).toMatchObject({ _tag: "BatchNotRetryable" })
          const other = yield* uploads.start(desk.file("b.json", [story(2)]))
          expect((yield* uploads.finished(other.batchId)).state).toBe("completed")
        }),
      )
    }),
  )

  /** Begins a batch of 6000 items that gets no further than its first few thousand. */
  const beginHalf = (batchId: string, path: string) =>
    Effect.gen(function* () {
      const uploads = yield* Uploads
      yield* (yield* SqlClient).unsafe(breaking[database.name]?.breakLater ?? "")
      yield* Effect.promise(() => writeItemFile(path, { items: 6000 }))
      yield* uploads.start(path, { batchId })
      for (let stored = 0; stored === 0; ) {
        stored = (yield* uploads.status(batchId)).items.stored
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1)))
      }
    })

  const repair = Effect.flatMap(SqlClient, (sql) => sql.unsafe(breaking[database.name]?.repair ?? ""))

  it.effect("a file that is gone, or another one, when a batch continues is an error; put back, the batch is completed", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = `${desk.folder}/items.json`
      const batchId = "halfway"
      yield* desk.run(beginHalf(batchId, path))
      renameSync(path, `${path}.away`)
      const gone = yield* desk.run(
        Effect.andThen(
          repair,
          Effect.flatMap(Uploads, (uploads) => uploads.finished(batchId)),
        ),
      )
      expect(gone.items.stored).toBeGreaterThan(0)
      expect(gone.items.stored).toBeLessThan(6000)
      expect(gone.batch.failure?.message).toContain("items.json cannot be read: there is no such file; put it back and retry the batch")
      writeFileSync(path, JSON.stringify([story(1)]))
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* uploads.retryBatch(batchId)
          const changed = yield* uploads.finished(batchId)
          expect(changed.batch.failure?.message).toContain("items.json has changed: its MD5 is")
          rmSync(path)
          renameSync(`${path}.away`, path)
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { total: 6000, stored: 6000, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("a file that is written to while its items are extracted is noticed before any of that is stored", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = `${desk.folder}/items.json`
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const posts = uploads.of(Posts)
          yield* beginHalf("b", path)
          const before = readFileSync(path)
          // As long as it was, and still JSON: nothing but the time of writing tells.
          const after = Buffer.from(before.toString().replaceAll('"type":"comment"', '"type":"pollopt"'))
          expect([after.length, after.equals(before)]).toEqual([before.length, false])
          writeFileSync(path, after)
          yield* repair
          const changed = yield* hurrying(uploads.finished("b"))
          expect(changed.batch.failure?.message).toContain("items.json has changed: it was written to since it was validated")
          expect(
            (yield* posts.search({ where: { type: "pollopt" }, text: "the" })).items.every(({ item }) => item.poll !== undefined),
          ).toBe(true)
          writeFileSync(path, before)
          yield* uploads.retryBatch("b")
          expect(yield* hurrying(uploads.finished("b"))).toMatchObject({ state: "completed", items: { stored: 6000, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("a file that is deleted while its items are extracted is read to its end", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = `${desk.folder}/items.json`
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* beginHalf("b", path)
          rmSync(path)
          yield* repair
          expect(yield* hurrying(uploads.finished("b"))).toMatchObject({ state: "completed", items: { stored: 6000, failed: 0 } })
        }),
      )
    }),
  )

  it.effect("a batch that is cancelled while it extracts keeps what it has, and continues from there when retried", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* beginHalf("b", `${desk.folder}/items.json`)
          const { items } = yield* uploads.status("b")
          expect(yield* uploads.cancel("b")).toMatchObject({
            state: "failed",
            items,
            batch: { failure: { message: "it was cancelled", stored: items.stored } },
          })
          yield* repair
          expect((yield* uploads.status("b")).items).toEqual(items)
          yield* uploads.retryBatch("b")
          expect(yield* uploads.finished("b")).toMatchObject({ state: "completed", items: { stored: 6000, failed: 0 } })
        }),
      )
    }),
  )
})
