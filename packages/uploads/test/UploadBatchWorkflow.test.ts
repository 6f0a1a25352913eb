/** The workflow of a batch by itself: its names are those of the specification, and its transitions do what that says. */
import { EntityWorkflow } from "@detent/entity"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type BatchWork, criteria, loadBatchWorkflow, loadItemWorkflow, newBatch, readDefinition, type UploadBatch } from "../src/index.ts"

const nothing = () => Effect.die("not asked for")
const noWork: BatchWork = {
  inspect: nothing,
  validate: nothing,
  extract: nothing,
  retryFailed: nothing,
  endRetry: nothing,
  count: nothing,
  summarizeErrors: nothing,
  notify: nothing,
}

const batch = (fields: Partial<UploadBatch> = {}): UploadBatch => ({
  ...newBatch({ batchId: "b", kind: "Posts", fileName: "f.json", filePath: "/f.json" }),
  ...fields,
})

describe("upload-batch.json", () => {
  it.effect("has the states, transitions, processors and criteria of the specification", () =>
    Effect.gen(function* () {
      const { definition } = yield* loadBatchWorkflow(readDefinition("upload-batch.json"), noWork)
      expect(definition.states).toEqual([
        "initial_state",
        "uploaded",
        "validated",
        "extracting",
        "processing",
        "completed",
        "failed",
        "partially_completed",
      ])
      const rows = definition.transitions.map(({ name, from, to, manual, processors = [], criteria = [] }) => [
        name,
        `${from} -> ${to}`,
        manual === true ? "manual" : "automatic",
        ...processors,
        ...criteria,
      ])
      expect(rows).toEqual([
        ["auto_upload", "initial_state -> uploaded", "automatic", "UploadBatchInitProcessor"],
        ["validate_file", "uploaded -> validated", "automatic", "UploadBatchValidationProcessor", "UploadBatchValidCriterion"],
        ["start_extraction", "validated -> extracting", "automatic", "UploadBatchExtractionProcessor"],
        [
          "start_processing",
          "extracting -> processing",
          "automatic",
          "UploadBatchProcessingProcessor",
          "UploadBatchExtractionCompleteCriterion",
        ],
        [
          "complete_batch",
          "processing -> completed",
          "automatic",
          "UploadBatchCompletionProcessor",
          "UploadBatchAllItemsCompleteCriterion",
        ],
        [
          "partial_completion",
          "processing -> partially_completed",
          "automatic",
          "UploadBatchPartialCompletionProcessor",
          "UploadBatchSomeItemsCompleteCriterion",
        ],
        ["mark_failed", "* -> failed", "manual", "UploadBatchFailureProcessor"],
        ["retry_batch", "failed -> uploaded", "manual", "UploadBatchRetryProcessor", "UploadBatchRetryableCriterion"],
        ["retry_failed_items", "partially_completed -> processing", "manual", "UploadBatchRetryFailedItemsProcessor"],
      ])
    }),
  )

  it.effect("is written back as it was read", () =>
    Effect.gen(function* () {
      for (const [name, workflow] of [
        ["upload-batch.json", yield* loadBatchWorkflow(readDefinition("upload-batch.json"), noWork)],
        ["upload-item.json", yield* loadItemWorkflow(readDefinition("upload-item.json"))],
      ] as const) {
        expect(JSON.parse(EntityWorkflow.toJson(workflow))).toEqual(JSON.parse(readDefinition(name)))
      }
    }),
  )
})

describe("the criteria of a batch", () => {
  const { UploadBatchValidCriterion: isValid, UploadBatchExtractionCompleteCriterion: isExtracted } = criteria
  const { UploadBatchAllItemsCompleteCriterion: isComplete, UploadBatchSomeItemsCompleteCriterion: isPartial } = criteria

  it("a file is valid with a name, a size, a hash, a format and items", () => {
    const table = { format: "csv", compression: "none", encoding: "utf-8" } as const
    const valid = { fileSize: 10, fileMd5Hash: "abc", table, totalItemsInFile: 1 }
    expect(isValid(batch(valid))).toBe(true)
    expect(isValid(batch({ ...valid, fileName: "" }))).toBe(false)
    expect(isValid(batch({ ...valid, fileSize: 0 }))).toBe(false)
    expect(isValid(batch({ ...valid, totalItemsInFile: 0 }))).toBe(false)
    const { table: format, ...unknown } = valid
    expect([format.format, isValid(batch(unknown))]).toEqual(["csv", false])
    const { fileMd5Hash, ...unhashed } = valid
    expect(isValid(batch(unhashed))).toBe(false)
  })

  it("extraction is complete when it says when", () => {
    expect(isExtracted(batch({ totalItemsInFile: 2, processingCompletedAt: 5 }))).toBe(true)
    expect(isExtracted(batch({ totalItemsInFile: 2 }))).toBe(false)
    expect(isExtracted(batch({ processingCompletedAt: 5 }))).toBe(false)
  })

  it.each([
    [0, 0, 0, false, false],
    [3, 3, 0, true, false],
    [3, 2, 1, false, true],
    [3, 2, 0, false, false],
    [3, 0, 3, false, false],
    [3, 1, 1, false, false],
  ])(
    "of %i items %i are stored and %i failed: complete %s, partial %s",
    (totalItemsInFile, itemsProcessed, itemsErrored, complete, partial) => {
      const counted = batch({ totalItemsInFile, itemsProcessed, itemsErrored })
      expect(isComplete(counted)).toBe(complete)
      expect(isPartial(counted)).toBe(partial)
    },
  )

  it("a batch can be retried until it has failed three times, for 24 hours", () => {
    const isRetryable = (retryCount: number, hours: number) =>
      criteria.UploadBatchRetryableCriterion(batch({ retryCount, lastRetryAt: 0 }), { at: hours * 3_600_000 })
    expect([1, 2, 3].map((count) => isRetryable(count, 1))).toEqual([true, true, false])
    expect([0, 23.99, 24].map((hours) => isRetryable(1, hours))).toEqual([true, true, false])
  })
})

describe("upload-item.json", () => {
  const item = { batchId: "b", itemIndex: 4, sourceType: "BULK_UPLOAD", attempts: 1 } as const
  const problem = { reason: "missing_field", message: "type is missing" } as const

  it.effect("a good item is stored by itself, on its way through validated", () =>
    Effect.gen(function* () {
      const { machine } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
      const { state, path } = simulate(machine, { ...item, itemId: "7" }, [], { at: 5 })
      expect(path).toEqual(["ingested", "validated", "stored"])
      expect(state).toEqual({ _tag: "stored", entity: { ...item, itemId: "7", storedAt: 5 } })
    }),
  )

  it.effect("a bad one fails with what is wrong, a second one of an id with the first", () =>
    Effect.gen(function* () {
      const { machine } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
      const bad = simulate(machine, { ...item, itemId: "7", problem }, [], { at: 5 })
      expect(bad.path).toEqual(["ingested", "failed"])
      expect(bad.state).toEqual({ _tag: "failed", entity: { ...item, itemId: "7", problem, failedAt: 5 } })
      const second = simulate(machine, { ...item, itemId: "7", duplicateOf: 2 }, [])
      expect(second.path).toEqual(["ingested", "validated", "failed"])
      expect(second.state.entity.problem).toEqual({ reason: "duplicate", message: "item 2 of the batch has the same id 7" })
    }),
  )

  it.effect("a failed one that is tried again begins with what it is given then", () =>
    Effect.gen(function* () {
      const { machine, trigger } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
      const again = trigger("retry_item", { argument: { itemId: "7", problem } })
      const corrected = trigger("retry_item", { argument: { itemId: "7" } })
      const { state, path } = simulate(machine, { ...item, problem }, [again, corrected])
      expect(path).toEqual(["ingested", "failed", "ingested", "failed", "ingested", "validated", "stored"])
      expect(state.entity).toMatchObject({ itemId: "7", attempts: 3 })
      expect(state.entity.problem).toBeUndefined()
    }),
  )
})
