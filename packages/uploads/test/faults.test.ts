/** Files and requests that are wrong: what is told, where, and that the rest goes on. */
import { renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { writeItemFile } from "../src/generate/index.ts"
import { type BatchStatus, defaultLimits, Uploads, type UploadsOptions } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { type Desk, makeDesk, story } from "./support/Desk.ts"

class MailAway extends Schema.TaggedError<MailAway>()("MailAway", { message: Schema.String }) {}

describe.each(databases)("$name", (database) => {
  /** What becomes of a file, and of another one after it. */
  const outcome = (desk: Desk, path: string, options?: UploadsOptions) =>
    desk.run(
      Effect.gen(function* () {
        const uploads = yield* Uploads
        const status = yield* uploads.finished((yield* uploads.start(path)).batchId)
        const other = yield* uploads.start(desk.file("other.json", [story(900_001)]))
        expect((yield* uploads.finished(other.batchId)).state).toBe("completed")
        return status
      }),
      options,
    ) as Effect.Effect<BatchStatus>

  const refused = (desk: Desk, path: string, start: { readonly contentType?: string } = {}, options?: UploadsOptions) =>
    desk.run(
      Effect.flatMap(Uploads, (uploads) => Effect.flip(uploads.start(path, start))),
      options,
    )

  describe("a file that cannot be taken is refused at once", () => {
    it.effect("a file that is not there, is empty, or is no JSON", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const { file, folder } = desk
        expect(yield* refused(desk, `${folder}/missing.json`)).toMatchObject({
          _tag: "FileUnreadable",
          message: "missing.json cannot be read: there is no such file; put it back and retry the batch",
        })
        expect(yield* refused(desk, file("empty.json", ""))).toMatchObject({ _tag: "FileInvalid", problem: "it is empty" })
        expect(yield* refused(desk, file("image.png", Buffer.from([0x89, 0x50, 0x4e, 0x47])))).toMatchObject({
          _tag: "UnsupportedContentType",
        })
        expect(yield* refused(desk, file("table.csv", "id,type\n1,story\n"), { contentType: "text/csv" })).toMatchObject({
          _tag: "UnsupportedContentType",
          contentType: "text/csv",
          message: expect.stringContaining("upload JSON (application/json) or lines of JSON (application/x-ndjson), plain or gzip"),
        })
      }),
    )

    it.effect("a file over the limit, by its size alone", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const path = desk.file("items.json", [story(1), story(2)])
        expect(yield* refused(desk, path, {}, { maxFileBytes: 100 })).toMatchObject({ _tag: "FileTooLarge", limit: 100, what: "file" })
        // A gigabyte of nothing: the file system keeps no more than its length.
        const large = desk.file("large.json", "[")
        truncateSync(large, 1_000_000_001)
        expect(yield* refused(desk, large)).toMatchObject({ _tag: "FileTooLarge", bytes: 1_000_000_001, limit: defaultLimits.maxFileBytes })
      }),
    )
  })

  describe("a file whose content is wrong fails its batch, with the place", () => {
    it.effect.each([
      ["cut off inside an item", '[{"id":1,"type":"story"},\n{"id":2,"ty', "it ends inside an item (item 1, line 2, byte 26)"],
      ["cut off between items", '[{"id":1,"type":"story"},', "it ends before its array does (item 1, line 1, byte 25)"],
      ["with brackets that do not fit", '[{"id":1,"kids":[1}]', "} closes what [ opened (item 0, line 1, byte 18)"],
      ["with text after its end", '[{"id":1,"type":"story"}] and so on', "a follows the end of its array (item 1, line 1, byte 26)"],
      ["without items", "[]", "it holds no items"],
      ["of white space", "  \n ", "it holds no items"],
    ])("%s", ([, content, message]) =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const { state, batch, problem, items } = yield* outcome(desk, desk.file("bad.json", content))
        expect(state).toBe("failed")
        expect(items).toMatchObject({ stored: 0, failed: 0 })
        expect(batch.failure).toMatchObject({ transition: "validate_file", processor: "UploadBatchValidationProcessor" })
        expect(batch.failure?.message).toContain(`bad.json: ${message}`)
        expect(problem?.message).toBe(batch.failure?.message)
      }),
    )

    it.effect("a gzip file that was cut off, or that is none", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const packed = gzipSync(JSON.stringify(Array.from({ length: 500 }, (_, index) => story(index + 1))))
        const { batch } = yield* outcome(desk, desk.file("cut.json.gz", packed.subarray(0, packed.length - 40)))
        expect(batch.failure?.message).toContain("cut.json.gz: it is gzip and cannot be unpacked: unexpected end of file")
        expect(yield* refused(desk, desk.file("none.json.gz", Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])))).toMatchObject({
          _tag: "FileInvalid",
        })
      }),
    )

    it.effect("a small file that unpacks without end is stopped while it is unpacked", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const bomb = gzipSync(`[${" ".repeat(30_000_000)}1]`)
        expect(bomb.length).toBeLessThan(40_000)
        const { batch } = yield* outcome(desk, desk.file("bomb.json.gz", bomb))
        expect(batch.failure?.message).toContain("bomb.json.gz unpacks to more than 100 times its size")
        const limited = yield* outcome(yield* makeDesk(database), desk.file("bomb2.json.gz", bomb), { maxUnpackedBytes: 5_000_000 })
        expect(limited.batch.failure?.message).toContain("bomb2.json.gz unpacks to more than 5000000 bytes")
      }),
    )

    it.effect("a file of which no item is any good says why none was stored", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const { state, batch } = yield* outcome(desk, desk.file("poor.json", [{ id: 1 }, { id: 2 }, 3]))
        expect(state).toBe("failed")
        expect(batch.failure?.message).toBe(
          "none of 3 items could be stored: 2 missing_type, such as item 0: it has no type; 1 not_an_object, such as item 2: it is a number, not an object",
        )
        expect(batch.failure).toMatchObject({ transition: "start_processing", stored: 0, failed: 3 })
      }),
    )
  })

  it.effect("one item that is too large, or no text, fails alone", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const large = JSON.stringify(story(2, { text: "x".repeat(3000) }))
      const parts = [
        `[${JSON.stringify(story(1))},`,
        `${large},`,
        '{"id":3,"type":"story","text":"',
        Buffer.from([0xff]),
        `"},${JSON.stringify(story(4))}]`,
      ]
      const path = desk.file("items.json", Buffer.concat(parts.map((part) => Buffer.from(part as string))))
      const { state, batch, items } = yield* outcome(desk, path, { maxItemBytes: 2000 })
      expect([state, items.stored, items.failed]).toEqual(["partially_completed", 2, 2])
      expect(batch.errorSummary?.groups.map(({ reason, examples: [first] }) => [reason, first?.index, first?.message])).toEqual([
        ["not_text", 2, "it is no UTF-8 text"],
        ["too_large", 1, "it has more than 2000 bytes"],
      ])
    }),
  )

  it.effect("a corrected file can be retried, three tries in all, within 24 hours", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("items.json", "[1, 2")
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const failed = yield* uploads.finished(batchId)
          expect(failed).toMatchObject({ state: "failed", canRetry: true, batch: { retryCount: 1 } })
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "failed", batch: { retryCount: 2 } })
          writeFileSync(path, JSON.stringify([story(1), story(2)]))
          yield* uploads.retryBatch(batchId)
          expect(yield* uploads.finished(batchId)).toMatchObject({
            state: "completed",
            items: { total: 2, stored: 2 },
            batch: { retryCount: 2 },
          })
          // The corrected file is known by its own hash from now on.
          expect(yield* Effect.flip(uploads.start(path))).toMatchObject({ _tag: "AlreadyUploaded", batchId })

          const worse = yield* uploads.start(desk.file("worse.json", "[1,"))
          for (const retryCount of [1, 2, 3]) {
            expect((yield* uploads.finished(worse.batchId)).batch.retryCount).toBe(retryCount)
            if (retryCount < 3) yield* uploads.retryBatch(worse.batchId)
          }
          const error = yield* Effect.flip(uploads.retryBatch(worse.batchId))
          expect(error).toMatchObject({ _tag: "BatchNotRetryable", retryCount: 3 })
          expect(error.message).toContain("upload its file again with force")

          const late = yield* uploads.start(desk.file("late.json", "[2,"))
          yield* uploads.finished(late.batchId)
          yield* TestClock.adjust("24 hours")
          expect((yield* uploads.status(late.batchId)).canRetry).toBe(false)
          expect(yield* Effect.flip(uploads.retryBatch(late.batchId))).toMatchObject({ _tag: "BatchNotRetryable", retryCount: 1 })
        }),
      )
    }),
  )

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
        { check },
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
        { check: () => (away ? "the service that checks is away" : undefined) },
      )
    }),
  )

  it.effect("whoever cannot be told does not keep a batch from its end", () =>
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
            Effect.suspend(() => Effect.fail(new MailAway({ message: `the mail server is ${calls++ < 0 ? "there" : "away"}` }))),
        },
      )
    }),
  )

  it.effect("a database that fails for good fails the batch with its words; put right, the batch goes on", () =>
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
              message: "UploadBatchValidCriterion does not hold for what the processors made",
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

  it.effect("a file that is gone, or another one, when a batch goes on is told; put back, the batch is completed", () =>
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

  it.effect("a batch that is cancelled while it extracts keeps what it has, and goes on from there when retried", () =>
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

const trigger = (condition: string) =>
  `create trigger no_more_items before insert on detent_items ${condition} begin select raise(abort, 'no_more_items'); end`

const constraint = (allowed: string) => `alter table detent.items add constraint no_more_items check (${allowed})`

/** Keeps items, or those with larger ids, from being written, and lets them be written again. */
const breaking: Readonly<Record<string, { readonly break: string; readonly breakLater: string; readonly repair: string }>> = {
  SQLite: { break: trigger(""), breakLater: trigger("when new.hn_id > 5000"), repair: "drop trigger no_more_items" },
  PostgreSQL: {
    break: constraint("hn_id < 0"),
    breakLater: constraint("hn_id <= 5000"),
    repair: "alter table detent.items drop constraint no_more_items",
  },
}

/** Lets time pass until something is done. */
const hurrying = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    effect,
    Effect.forever(
      Effect.andThen(
        TestClock.adjust("100 millis"),
        Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2))),
      ),
    ),
  )
