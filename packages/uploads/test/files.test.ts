/** Files that are wrong: the error, its place, and that the rest continues. */
import { truncateSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Posts } from "../src/generate/Post.ts"
import { type BatchStatus, defaultLimits, type StartOptions, Uploads, type UploadsOptions } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { type Desk, makeDesk, story } from "./support/Desk.ts"

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

  const refused = (desk: Desk, path: string, start: StartOptions = {}, options?: UploadsOptions) =>
    desk.run(
      Effect.flatMap(Uploads, (uploads) => Effect.flip(uploads.start(path, start))),
      options,
    )

  describe("a file that cannot be taken is refused at once", () => {
    it.effect("a file that is not there, is empty, or is not JSON", () =>
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
        expect(yield* refused(desk, file("page.html", "<p>1</p>"), { contentType: "text/html" })).toMatchObject({
          _tag: "UnsupportedContentType",
          contentType: "text/html",
          message: expect.stringContaining("upload CSV, TSV, XLSX, JSON or JSON lines, plain or packed with gzip or zstd"),
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

    it.effect("a file with more items than allowed stores none of them, and all once the limit is higher", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const path = desk.file("many.json", Buffer.from(`[${"1,".repeat(9_000)}${JSON.stringify(story(1))}]`))
        const { state, batch, items } = yield* outcome(desk, path, { maxItems: 9_000 })
        expect([state, items.stored, items.failed]).toEqual(["failed", 0, 0])
        expect(batch.failure?.message).toBe(
          "many.json has more than 9000 items, and none is stored; split it, or raise limits.uploadItems of the configuration (maxItems of Uploads.layer)",
        )
        const retried = yield* desk.run(
          Effect.gen(function* () {
            const uploads = yield* Uploads
            yield* uploads.retryBatch(batch.batchId)
            return yield* uploads.finished(batch.batchId)
          }),
          { maxItems: 9_001 },
        )
        expect([retried.items.stored, retried.items.failed]).toEqual([1, 9_000])
      }),
    )

    it.effect("a file of which no item is any good says why none was stored", () =>
      Effect.gen(function* () {
        const desk = yield* makeDesk(database)
        const { state, batch } = yield* outcome(desk, desk.file("poor.json", [{ id: 1 }, { id: 2 }, 3]))
        expect(state).toBe("failed")
        expect(batch.failure?.message).toBe(
          "none of 3 items could be stored: 2 missing_field, such as item 0: type is missing; 1 not_an_object, such as item 2: it is a number, not an object",
        )
        expect(batch.failure).toMatchObject({ transition: "start_processing", stored: 0, failed: 3 })
      }),
    )
  })

  it.effect("one item that is too large fails alone", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("items.json", [story(1), story(2, { text: "x".repeat(3000) }), story(4)])
      const { state, batch, items } = yield* outcome(desk, path, { maxItemBytes: 2000 })
      expect([state, items.stored, items.failed]).toEqual(["partially_completed", 2, 1])
      expect(batch.errorSummary?.groups.map(({ reason, examples: [first] }) => [reason, first?.index, first?.message])).toEqual([
        ["too_large", 1, "it has more than 2000 bytes"],
      ])
    }),
  )

  it.effect("text in another encoding is read; bytes that are not text of the encoding refuse the file, and none of it is stored", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const text = JSON.stringify([story(1), story(2, { title: "Zürich" })])
      for (const [name, bytes] of [
        ["marked", Buffer.from(`\ufeff${text}`, "utf16le")],
        ["wide", Buffer.from(text, "utf16le")],
        ["latin", Buffer.from(text, "latin1")],
      ] as const) {
        const { state, items } = yield* outcome(yield* makeDesk(database), desk.file(`${name}.json`, bytes))
        expect([name, state, items.stored]).toEqual([name, "completed", 2])
      }
      const late = `[${Array.from({ length: 1000 }, (_, index) => `${JSON.stringify(story(index))},\n`).join("")}`
      const mixed = Buffer.concat([Buffer.from(late), Buffer.from(`${JSON.stringify(story(9000, { title: "Zürich" }))}]`, "latin1")])
      const { state, items, batch } = yield* outcome(desk, desk.file("mixed.json", mixed))
      expect([state, items.stored]).toEqual(["failed", 0])
      expect(batch.failure?.message).toContain("mixed.json: it is not utf-8 text")
      expect(batch.failure?.message).toContain("say which encoding it has, such as windows-1252")
      expect(yield* refused(desk, desk.file("said.json", mixed), { given: { encoding: "utf-16le" } })).toMatchObject({
        message: expect.stringContaining("it seems to be utf-8; nothing of it was taken"),
      })
    }),
  )

  it.effect("items with whatever in their names and values fail alone, and are reported by reason", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const hostile = [
        '{"__proto__":{"id":5,"type":"story"}}',
        '{"id":1e400,"type":"story"}',
        '{"id":9007199254740993,"type":"story"}',
        '{"id":3,"type":"\\u0000\\ud800"}',
        `{"id":4,"type":"${"x".repeat(5000)}"}`,
        `{"id":5,"type":"story","kids":${"[".repeat(400)}${"]".repeat(400)}}`,
        '{"id":6,"id":7,"type":"story","title":"\\ud83d"}',
        '{"id":8,"type":"story","title":"\u0000"}',
        '"\\"',
        "\u0007",
      ]
      const good = [story(100, { title: "'; drop table items; --", by: '"><script>' }), story(Number.MAX_SAFE_INTEGER, { time: 1 })]
      const lines = [...good.map((item) => JSON.stringify(item)), ...hostile].join("\n")
      const { state, items, batch } = yield* outcome(desk, desk.file("hostile.ndjson", lines))
      expect([state, items.stored, items.failed]).toEqual(["partially_completed", 2, hostile.length])
      expect(batch.errorSummary?.total).toBe(hostile.length)
      const stored = yield* desk.run(Effect.flatMap(Uploads, (uploads) => uploads.of(Posts).item(Number.MAX_SAFE_INTEGER)))
      expect(stored).toMatchObject({ value: { item: { id: Number.MAX_SAFE_INTEGER } } })
    }),
  )

  it.effect("what a check of your own says can be as long, and of any characters, as it likes", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const check = ({ id }: { readonly id: number }) => (id === 2 ? `x\u0000\ud800${"🚀".repeat(400)}` : undefined)
      const { state, items } = yield* outcome(desk, desk.file("a.json", [story(1), story(2)]), { uploads: [Posts.with({ check })] })
      expect([state, items.stored, items.failed]).toEqual(["partially_completed", 1, 1])
    }),
  )

  it.effect("a corrected file can be retried, three tries in all, within 24 hours", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("items.json", "[1, 2")
      const late = yield* desk.run(
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
          return late.batchId
        }),
      )
      // Between two processes: an engine would do all that it does every few seconds for a day.
      yield* TestClock.adjust("24 hours")
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          expect((yield* uploads.status(late)).canRetry).toBe(false)
          expect(yield* Effect.flip(uploads.retryBatch(late))).toMatchObject({ _tag: "BatchNotRetryable", retryCount: 1 })
        }),
      )
    }),
  )
})
