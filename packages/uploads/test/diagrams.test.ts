import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { draw, readDiagram } from "./diagrams.ts"

describe("the diagrams of the workflows", () => {
  it.effect("are what would be drawn now; run npx node packages/uploads/test/diagrams.ts", () =>
    Effect.map(draw, (diagrams) => {
      for (const [name, content] of diagrams) expect(readDiagram(name), name).toBe(content)
    }),
  )

  it("show every transition with its processors and criteria", () => {
    const edges = readDiagram("UploadBatch.mmd")
      .split("\n")
      .filter((line) => line.includes("-->"))
      .map((line) => line.trim())
    expect(edges).toEqual([
      "[*] --> initial_state",
      "initial_state --> uploaded : auto_upload (UploadBatchInitProcessor)",
      "uploaded --> validated : validate_file (UploadBatchValidationProcessor + UploadBatchValidCriterion)",
      "validated --> extracting : start_extraction (UploadBatchExtractionProcessor)",
      "extracting --> processing : start_processing (UploadBatchProcessingProcessor + UploadBatchExtractionCompleteCriterion)",
      "processing --> completed : complete_batch (UploadBatchCompletionProcessor + UploadBatchAllItemsCompleteCriterion)",
      "processing --> partially_completed : partial_completion (UploadBatchPartialCompletionProcessor + UploadBatchSomeItemsCompleteCriterion)",
      "any1 --> failed : mark_failed (UploadBatchFailureProcessor) [manual] [on failure]",
      "failed --> uploaded : retry_batch (UploadBatchRetryProcessor + UploadBatchRetryableCriterion) [manual]",
      "partially_completed --> processing : retry_failed_items (UploadBatchRetryFailedItemsProcessor) [manual]",
      "completed --> [*]",
    ])
  })
})
