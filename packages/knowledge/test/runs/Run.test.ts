import { ContentHash } from "@detent/blobs/ContentHash"
import { MemUri } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  changeStatus,
  defaultPipelineConfig,
  ExtractionRun,
  nextStatuses,
  PipelineConfig,
  RunEnding,
  RunStatus,
} from "../../src/runs/Run.ts"
import { DocumentId, RunId } from "../../src/storage/Identity.ts"

const at = (millis: number) => DateTime.makeUnsafe(millis)

const queued = new ExtractionRun({
  runId: RunId.make("00000000-0000-8000-a000-000000000001"),
  status: "queued",
  statusVersion: 0,
  ontologyHash: ContentHash.make("a1b2c3d4e5f6a7b8"),
  schemaVersion: "1.0.0",
  documentId: DocumentId.make("doc-0123456789ab"),
  batchId: Option.none(),
  attempt: 0,
  inputUri: MemUri.make("mem://documents/a.txt"),
  inputHash: Option.none(),
  config: defaultPipelineConfig,
  createdAt: at(1000),
  startedAt: Option.none(),
  completedAt: Option.none(),
  ending: Option.none(),
  errorMessage: Option.none(),
})

const changed = (run: ExtractionRun, status: RunStatus, millis: number, detail?: string) =>
  Result.getOrThrow(
    changeStatus(run, {
      expectedVersion: run.statusVersion,
      status,
      at: at(millis),
      ...(detail === undefined ? {} : { ending: RunEnding.cases.Failed.make({ code: "Overloaded", detail }) }),
    }),
  )

describe("a run", () => {
  it("notes when it began and when it ended", () => {
    const running = changed(queued, "running", 2000)
    const succeeded = changed(running, "succeeded", 3000)
    assert.deepStrictEqual([running.statusVersion, running.startedAt, running.completedAt], [1, Option.some(at(2000)), Option.none()])
    assert.deepStrictEqual(
      [succeeded.statusVersion, succeeded.startedAt, succeeded.completedAt],
      [2, Option.some(at(2000)), Option.some(at(3000))],
    )
  })

  it("can be taken up again after it failed or was cancelled", () => {
    const failed = changed(changed(queued, "running", 2000), "failed", 3000, "the model is overloaded")
    assert.deepStrictEqual(failed.errorMessage, Option.some("the model is overloaded"))
    const resumed = changed(failed, "running", 4000)
    assert.deepStrictEqual(
      [resumed.completedAt, resumed.errorMessage, resumed.startedAt],
      [Option.none(), Option.none(), Option.some(at(4000))],
    )
    assert.strictEqual(changed(changed(queued, "cancelled", 2000), "running", 3000).status, "running")
  })

  it("refuses a writer that saw an older version", () => {
    const running = changed(queued, "running", 2000)
    const late = changeStatus(running, { expectedVersion: 0, status: "cancelled", at: at(3000) })
    assert.isTrue(Result.isFailure(late))
    if (Result.isFailure(late)) assert.include(late.failure.message, "is at status version 1, not 0; read it again")
  })

  it("refuses what cannot follow", () => {
    const succeeded = changed(changed(queued, "running", 2000), "succeeded", 3000)
    const refused = changeStatus(succeeded, { expectedVersion: 2, status: "running", at: at(4000) })
    assert.isTrue(Result.isFailure(refused))
    if (Result.isFailure(refused)) assert.include(refused.failure.message, "is succeeded and cannot become running; it has ended for good")
  })

  it.prop(
    "counts one version for every change that was allowed",
    [Arbitrary.array(Arbitrary.schema(RunStatus), { maxLength: 12 })],
    ([statuses]) => {
      let run = queued
      let changes = 0
      for (const status of statuses) {
        const allowed = nextStatuses[run.status].includes(status)
        const outcome = changeStatus(run, { expectedVersion: run.statusVersion, status, at: at(2000) })
        assert.strictEqual(Result.isSuccess(outcome), allowed)
        if (Result.isSuccess(outcome)) run = outcome.success
        if (allowed) changes++
      }
      assert.strictEqual(run.statusVersion, changes)
    },
  )

  it("has an overlap smaller than its window", () => {
    assert.isTrue(Schema.is(PipelineConfig)(defaultPipelineConfig))
    assert.isFalse(Schema.is(PipelineConfig)({ ...defaultPipelineConfig, overlap: 2000 }))
  })
})
