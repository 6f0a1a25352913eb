/** What a batch says of itself on its way: its states, the history of its items, why it failed, and whether it can be retried. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { writeItemFile } from "../src/generate/index.ts"
import { Uploads } from "../src/index.ts"
import { breaking, hurrying } from "./support/Breaking.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

describe.each(databases)("$name", (database) => {
  it.live("a batch is extracting while its items are stored, and processing while failed ones are tried again", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      const path = `${folder}/items.json`
      yield* Effect.promise(() => writeItemFile(path, { items: 8000, bad: { missing_field: 0.1 } }))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          const seen = yield* Stream.runCollect(uploads.watch(batchId, "5 millis"))
          const storing = seen.filter(({ items }) => items.stored > 0 && items.waiting > 0)
          expect(storing.length).toBeGreaterThan(0)
          expect(new Set(storing.map(({ state, step }) => `${state} ${step}`))).toEqual(new Set(["extracting start_extraction"]))
          expect(seen.at(-1)?.state).toBe("partially_completed")
          expect(yield* uploads.retryFailed(batchId)).toMatchObject({ state: "processing", step: "retry_failed_items", canRetry: false })
          const retried = yield* Stream.runCollect(uploads.watch(batchId, "5 millis"))
          expect(new Set(retried.slice(0, -1).map(({ state }) => state))).toEqual(new Set(["processing"]))
          expect(retried.at(-1)).toMatchObject({ state: "partially_completed", isResting: true })
        }),
      )
    }),
  )

  it.effect("an item has a history: ingested, validated, stored, with times in order", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      const path = file("items.json", [story(1), { id: 2 }, story(1)])
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(path)
          yield* uploads.finished(batchId)
          const states = (index: number) => Effect.map(uploads.history(batchId, index), ({ steps }) => steps.map(({ state }) => state))
          expect(yield* states(0)).toEqual(["ingested", "validated", "stored"])
          expect(yield* states(1)).toEqual(["ingested", "failed"])
          expect(yield* states(2)).toEqual(["ingested", "validated", "failed"])
          const { entry, steps } = yield* uploads.history(batchId, 1)
          expect(entry).toMatchObject({ index: 1, state: "failed", id: "2" })
          expect(steps.at(-1)?.problem).toEqual({ reason: "missing_field", message: expect.stringContaining("type") })
          yield* uploads.correct(batchId, 1, story(2))
          yield* uploads.retryFailed(batchId)
          yield* uploads.finished(batchId)
          const retried = yield* uploads.history(batchId, 1)
          expect(retried.steps.map(({ state, attempt }) => `${attempt} ${state}`)).toEqual([
            "1 ingested",
            "1 failed",
            "2 ingested",
            "2 validated",
            "2 stored",
          ])
          const times = retried.steps.map(({ at }) => at)
          expect(times).toEqual(times.toSorted((left, right) => left - right))
          expect(yield* Effect.flip(uploads.history(batchId, 9))).toMatchObject({ _tag: "ItemNotFound", index: 9 })
        }),
      )
    }),
  )

  it.effect("the status says why a batch was cancelled, and whether it can be retried", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const { batchId } = yield* uploads.start(file("a.json", [story(1), {}]))
          expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", canRetry: true })
          const cancelled = yield* uploads.cancel(batchId, "the source withdrew it")
          expect(cancelled).toMatchObject({
            state: "failed",
            canRetry: true,
            batch: { failure: { message: "it was cancelled: the source withdrew it", cancelled: true } },
          })
          const marked = yield* uploads.markFailed(batchId, "another reason")
          expect(marked.batch.failure?.cancelled).toBeUndefined()
          const unnamed = yield* uploads.start(file("b.json", [story(2)]), { fileName: "" })
          yield* uploads.finished(unnamed.batchId)
          // Held where it is, it cannot be retried; marked as failed, its criterion refuses a file without a name.
          expect((yield* uploads.status(unnamed.batchId)).canRetry).toBe(false)
          expect((yield* uploads.markFailed(unnamed.batchId)).canRetry).toBe(false)
          expect(yield* Effect.flip(uploads.retryBatch(unnamed.batchId))).toMatchObject({ _tag: "BatchNotRetryable" })
        }),
      )
    }),
  )

  it.effect("a batch that fails has the cause of its failure", () =>
    Effect.gen(function* () {
      const { file, run } = yield* makeDesk(database)
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          yield* (yield* SqlClient).unsafe(breaking[database.name]?.break ?? "")
          const { batchId } = yield* uploads.start(file("a.json", [story(1)]))
          const { batch } = yield* hurrying(uploads.finished(batchId))
          const causes = batch.failure?.cause?.split("\n") ?? []
          expect(causes[0]).toMatch(/^PersistenceFailed: .*writeItems/)
          expect(causes.length).toBeGreaterThan(1)
          expect(causes.at(-1)).toContain("no_more_items")
        }),
        { storeTimeout: "1 second" },
      )
    }),
  )
})
