/** What commands print of an upload, from its status alone. The commands themselves run in upload.test.ts. */
import { assert, describe, it } from "vitest"
import { plain } from "../../src/output/Style.ts"
import { itemProblem, uploadExitCode, uploadNextStep, uploadStep, uploadText } from "../../src/upload/UploadView.ts"

type Status = Parameters<typeof uploadText>[0]

const here = { data: ".detent", database: undefined }

const status = (more: Partial<Status>): Status => ({
  batchId: "batch-1",
  kind: "Items",
  state: "completed",
  isResting: true,
  fileName: "items.jsonl",
  items: { total: 300, stored: 290, failed: 10, waiting: 0 },
  canRetry: false,
  canRetryItems: false,
  errors: [],
  ...more,
})

describe("an upload in the output of commands", () => {
  it("shows what its step does, and how far it is", () => {
    const storing = status({ state: "extracting", step: "start_extraction", items: { total: 300, stored: 100, failed: 1, waiting: 199 } })
    assert.deepStrictEqual(uploadStep(storing), { stage: "storing", percent: 33, text: "100 stored, 1 refused, 300 in all" })
    const empty = uploadStep(status({ state: "idle", items: { total: 0, stored: 0, failed: 0, waiting: 0 } }))
    assert.deepStrictEqual([empty.stage, empty.percent], ["idle", 0])
  })

  it("names its kind only where it is not the default, and every reason with an example", () => {
    const text = uploadText(status({ errors: [{ reason: "missing_id", count: 10, example: "item 3, line 4: it has no id" }] }), plain)
    assert.match(text, /^refused +10 missing_id, such as item 3, line 4: it has no id$/m)
    assert.notMatch(text, /^kind/m)
    assert.match(uploadText(status({ kind: "Parcel" }), plain), /^kind +Parcel$/m)
  })

  it("names the next step with the place, and has an exit code", () => {
    const place = { data: "home", database: undefined }
    assert.match(
      uploadNextStep(status({ state: "partially_completed" }), place) ?? "",
      /^then retry: +detent upload retry batch-1 --data home$/m,
    )
    assert.match(
      uploadNextStep(status({ state: "failed", canRetry: true }), here) ?? "",
      /^Correct the cause, then: detent upload retry batch-1$/,
    )
    assert.match(uploadNextStep(status({ state: "failed" }), here) ?? "", /detent upload run FILE --force$/)
    assert.isUndefined(uploadNextStep(status({}), here))
    const codes = (["completed", "partially_completed", "failed"] as const).map((state) => uploadExitCode(status({ state })))
    assert.deepStrictEqual(codes, [0, 5, 1])
  })

  it("says what a corrected item waits for", () => {
    const problem = { reason: "missing_id", message: "it has no id" } as never
    assert.strictEqual(itemProblem({ problem }), "it has no id")
    assert.strictEqual(itemProblem({ problem, correctedAt: 1 }), "corrected, waits for a retry")
  })
})
