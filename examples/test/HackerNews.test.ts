/** Uploads of Hacker News: every state and transition of a batch, with its processors and criteria. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { readDefinition, type UploadBatch, Uploads } from "@detent/uploads"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { HackerNews } from "../uploads/HackerNews.ts"

const story = (id: number, more: object = {}) => ({ id, type: "story", by: "ada", time: 1_700_000_000 + id, title: `Story ${id}`, ...more })

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-example-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

/** A database of uploads of Hacker News, and a function that writes a file of items. */
const desk = Effect.map(freshFolder, (folder) => {
  const store = SqliteStore.layer({ filename: join(folder, "uploads.db") })
  return {
    file: (name: string, items: ReadonlyArray<unknown>) => {
      const path = join(folder, name)
      writeFileSync(path, JSON.stringify(items))
      return path
    },
    layer: Uploads.layer({ uploads: [HackerNews] }).pipe(Layer.provideMerge(Engine.layer()), Layer.provide(store)),
    remove: (path: string) => rmSync(path),
  }
})

/** The states of a batch, in the order in which it had them. */
const statesOf = (batchId: string) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const machine = Option.getOrThrow(engine.machine("UploadBatch"))
    const instance = Option.getOrThrow(yield* engine.get(machine, batchId))
    const history = yield* instance.historyPage({ limit: 1000 })
    const states = history.map(({ state }) => (state as { readonly _tag: string })._tag)
    return states.filter((state, index) => state !== states[index - 1])
  })

it("a batch has the transitions of its definition, each with its processor and its criterion", () => {
  const { states, transitions } = JSON.parse(readDefinition("upload-batch.json"))
  expect(states).toEqual([
    "initial_state",
    "uploaded",
    "validated",
    "extracting",
    "processing",
    "completed",
    "failed",
    "partially_completed",
  ])
  const rows = transitions.map((one: Record<string, unknown>) => [
    one["name"],
    one["from"],
    one["to"],
    one["manual"],
    one["processors"],
    one["criteria"] ?? [],
  ])
  expect(rows).toEqual([
    ["auto_upload", "initial_state", "uploaded", false, ["UploadBatchInitProcessor"], []],
    ["validate_file", "uploaded", "validated", false, ["UploadBatchValidationProcessor"], ["UploadBatchValidCriterion"]],
    ["start_extraction", "validated", "extracting", false, ["UploadBatchExtractionProcessor"], []],
    ["start_processing", "extracting", "processing", false, ["UploadBatchProcessingProcessor"], ["UploadBatchExtractionCompleteCriterion"]],
    ["complete_batch", "processing", "completed", false, ["UploadBatchCompletionProcessor"], ["UploadBatchAllItemsCompleteCriterion"]],
    [
      "partial_completion",
      "processing",
      "partially_completed",
      false,
      ["UploadBatchPartialCompletionProcessor"],
      ["UploadBatchSomeItemsCompleteCriterion"],
    ],
    ["mark_failed", "*", "failed", true, ["UploadBatchFailureProcessor"], []],
    ["retry_batch", "failed", "uploaded", true, ["UploadBatchRetryProcessor"], ["UploadBatchRetryableCriterion"]],
    ["retry_failed_items", "partially_completed", "processing", true, ["UploadBatchRetryFailedItemsProcessor"], []],
  ])
})

it.live("items with id or hnId are stored, with nulls and unknown fields left out", () =>
  Effect.gen(function* () {
    const { file, layer } = yield* desk
    const path = file("items.json", [story(1, { url: null, extra: 1 }), { hnId: 2, type: "job" }])
    yield* Effect.gen(function* () {
      const uploads = yield* Uploads
      const news = uploads.of(HackerNews)
      const { batchId } = yield* news.start(path)
      const { state, batch } = yield* uploads.finished(batchId)
      expect(state).toBe("completed")
      const hashed: Partial<UploadBatch> = { contentType: "application/json", totalItemsInFile: 2, itemsProcessed: 2, itemsErrored: 0 }
      expect(batch).toMatchObject({ ...hashed, fileMd5Hash: expect.stringMatching(/^[0-9a-f]{32}$/) })
      expect(batch.resultSummary).toMatchObject({ items: 2, stored: 2, failed: 0 })
      expect(yield* statesOf(batchId)).toEqual(["uploaded", "extracting", "processing", "completed"])
      const { id: _, ...fields } = story(1)
      expect(Option.getOrThrow(yield* news.item(1)).item).toEqual({ hnId: 1, ...fields })
      expect((yield* news.search({ where: { type: "job" } })).items.map(({ id }) => id)).toEqual(["2"])
    }).pipe(Effect.provide(layer))
  }),
)

it.live("invalid items leave a batch partially completed; only they are retried", () =>
  Effect.gen(function* () {
    const { file, layer } = yield* desk
    const path = file("items.json", [story(1), { id: 2 }, { type: "story" }, { id: 4, type: "stroy" }])
    yield* Effect.gen(function* () {
      const uploads = yield* Uploads
      const news = uploads.of(HackerNews)
      const { batchId } = yield* news.start(path)
      const first = yield* uploads.finished(batchId)
      expect(first).toMatchObject({ state: "partially_completed", items: { total: 4, stored: 1, failed: 3 } })
      expect(first.batch.errorSummary?.groups.map(({ reason, count }) => [reason, count]).toSorted()).toEqual([
        ["invalid_field", 1],
        ["missing_field", 1],
        ["missing_id", 1],
      ])
      const corrected = [2, 3, 4].map((hnId) => ({ hnId, type: "story", title: `Corrected ${hnId}` }) as const)
      for (const [place, item] of corrected.entries()) yield* news.correct(batchId, place + 1, item)
      yield* uploads.retryFailed(batchId)
      expect(yield* uploads.finished(batchId)).toMatchObject({ state: "completed", items: { stored: 4, failed: 0 } })
      expect((yield* statesOf(batchId)).slice(-3)).toEqual(["partially_completed", "processing", "completed"])
    }).pipe(Effect.provide(layer))
  }),
)

it.live("a batch that is marked as failed is retried", () =>
  Effect.gen(function* () {
    const { file, layer } = yield* desk
    const path = file("items.json", [story(1), { id: 2 }])
    yield* Effect.gen(function* () {
      const uploads = yield* Uploads
      const { batchId } = yield* uploads.of(HackerNews).start(path)
      yield* uploads.finished(batchId)
      const failed = yield* uploads.markFailed(batchId, "the wrong file")
      expect(failed).toMatchObject({ state: "failed", canRetry: true, batch: { retryCount: 1, failure: { message: "the wrong file" } } })
      yield* uploads.retryBatch(batchId)
      expect(yield* uploads.finished(batchId)).toMatchObject({ state: "partially_completed", items: { stored: 1, failed: 1 } })
      const states = yield* statesOf(batchId)
      expect(states.slice(states.indexOf("failed"))).toEqual(["failed", "uploaded", "extracting", "processing", "partially_completed"])
    }).pipe(Effect.provide(layer))
  }),
)
