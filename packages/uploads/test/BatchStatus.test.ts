import { describe, expect, it } from "@effect/vitest"
import { isResting, statusOf } from "../src/BatchStatus.ts"
import { newBatch, type UploadBatch } from "../src/index.ts"

const batch = (fields: Partial<UploadBatch> = {}): UploadBatch => ({
  ...newBatch({ batchId: "b", kind: "Posts", fileName: "f.json", filePath: "/f.json" }),
  totalItemsInFile: 1000,
  ...fields,
})

const row = {
  batch: 1,
  batch_id: "b",
  kind: "Posts",
  file_name: "f.json",
  md5: "",
  created_at: 0,
  next_index: 400,
  next_offset: 0,
  next_line: 1,
  stored: 390,
  failed: 10,
  run_started_at: 10_000,
  run_start_index: 200,
  updated_at: 12_000,
}

const pending = (transition: string) => ({ transition, run: 1 })

describe("the status of a batch", () => {
  it("tells the rate since extraction began or went on, and when it will be done", () => {
    const status = statusOf({ _tag: "extracting", entity: batch(), pending: pending("start_extraction") }, row, 12_500)
    expect(status).toMatchObject({
      state: "extracting",
      step: "start_extraction",
      isResting: false,
      items: { total: 1000, waiting: 600, stored: 390, failed: 10 },
      // 200 items in two seconds; 600 are left.
      itemsPerSecond: 100,
      estimatedCompletionAt: 18_500,
    })
  })

  it("knows no rate before anything is stored, nor when nothing is extracted", () => {
    const fresh = { ...row, next_index: 200 }
    const extracting = { _tag: "extracting", entity: batch(), pending: pending("start_extraction") } as const
    expect(statusOf(extracting, fresh, 12_500)).toMatchObject({ itemsPerSecond: undefined, estimatedCompletionAt: undefined })
    expect(statusOf({ _tag: "processing", entity: batch() }, row, 12_500)).toMatchObject({ estimatedCompletionAt: undefined })
  })

  it("rests when no processors are at work: at its ends, and where a criterion keeps it", () => {
    const entity = batch()
    expect(isResting({ _tag: "completed", entity })).toBe(true)
    expect(isResting({ _tag: "partially_completed", entity, pending: pending("retry_failed_items") })).toBe(false)
    expect(isResting({ _tag: "uploaded", entity, pending: pending("validate_file") })).toBe(false)
    expect(isResting({ _tag: "processing", entity })).toBe(true)
  })

  it("can be retried where the transition would be taken now", () => {
    const canRetry = (state: string, fields: Partial<UploadBatch> = {}, now = 1000) =>
      statusOf({ _tag: state, entity: batch({ retryCount: 1, lastRetryAt: 0, ...fields }) }, row, now).canRetry
    expect(["completed", "uploaded", "extracting", "processing"].map((state) => canRetry(state))).toEqual([false, false, false, false])
    expect(canRetry("partially_completed")).toBe(true)
    expect([1, 2, 3].map((retryCount) => canRetry("failed", { retryCount }))).toEqual([true, true, false])
    expect(canRetry("failed", {}, 24 * 3_600_000)).toBe(false)
    expect(canRetry("failed", { fileName: "" })).toBe(false)
    const working = { _tag: "failed", entity: batch({ retryCount: 1, lastRetryAt: 0 }), pending: pending("mark_failed") } as const
    expect(statusOf(working, row, 1000).canRetry).toBe(false)
  })
})
