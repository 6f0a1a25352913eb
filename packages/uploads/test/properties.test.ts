import { readFileSync } from "node:fs"
import { alwaysEventually, check, formatCheck, never, unproved } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { BatchWork } from "../src/batch/BatchWork.ts"
import type { UploadBatch } from "../src/batch/UploadBatch.ts"
import { loadBatchWorkflow, maxRetries, processors } from "../src/batch/UploadBatchWorkflow.ts"

const text = readFileSync(new URL("../upload-batch.json", import.meta.url), "utf8")
const definition: { readonly transitions: ReadonlyArray<{ readonly name: string; readonly processors?: ReadonlyArray<string> }> } =
  JSON.parse(text)

const inspected = {
  fileSize: 10,
  fileModifiedAt: 1,
  fileMd5Hash: "0",
  contentType: "application/json",
  table: { format: "json", compression: "none", encoding: "utf-8" },
} as const

class DiskFull extends Schema.TaggedError<DiskFull>()("DiskFull", {}) {}

/** The work on a file of two items, of which some are stored; `undefined` fails. */
const workOn = (stored: number | undefined): BatchWork => {
  const counts = stored === undefined ? Effect.fail(new DiskFull()) : Effect.succeed({ stored, failed: 2 - stored })
  return {
    inspect: () => Effect.as(counts, inspected),
    validate: () => Effect.as(counts, { ...inspected, totalItemsInFile: 2, invalidItemsInFile: 0 } as const),
    extract: () => counts,
    // A retry leaves what is stored.
    retryFailed: (batch) => Effect.map(counts, (all) => (all.stored < batch.itemsProcessed ? { stored: 1, failed: 1 } : all)),
    endRetry: () => Effect.void,
    count: () => counts,
    summarizeErrors: () => Effect.succeed({ total: 1, groups: [] }),
    notify: () => Effect.succeed(undefined),
  }
}

const outcomes = [workOn(2), workOn(1), workOn(0), workOn(undefined)]

interface State {
  readonly _tag: string
  readonly entity: UploadBatch
  readonly pending?: { readonly transition: string; readonly run: number; readonly argument?: unknown; readonly error?: never }
}

/** What the work of a state sends: the result of the processor of the transition in progress, for each outcome of its work. */
const workIn = (state: State) => {
  const { pending } = state
  if (pending === undefined) return []
  const { transition, run, argument, error } = pending
  const [name = ""] = definition.transitions.find((one) => one.name === transition)?.processors ?? []
  const sent = outcomes.map((work) => {
    const processor = processors(work)[name as keyof ReturnType<typeof processors>]
    const context = { id: "upload-1", key: `${run}`, attempt: 1, argument: argument as never, error }
    if (processor._tag === "Pure") throw new Error(`${name} has no effect`)
    const exit = Effect.runSyncExit(processor.run(state.entity, context))
    return Exit.isSuccess(exit)
      ? { _tag: "(processed)", run, entity: steady(exit.value) }
      : { _tag: "(failed)", run, processor: name, message: "it failed", attempts: 1, last: true }
  })
  return sent as unknown as ReadonlyArray<never>
}

/** Without the times of the clock, which make equal situations different. */
const steady = (batch: UploadBatch): UploadBatch => ({
  ...batch,
  ...(batch.uploadedAt === undefined ? {} : { uploadedAt: 0 }),
  ...(batch.processingStartedAt === undefined ? {} : { processingStartedAt: 0 }),
  ...(batch.processingCompletedAt === undefined ? {} : { processingCompletedAt: 1 }),
  ...(batch.lastRetryAt === undefined ? {} : { lastRetryAt: 0 }),
  ...(batch.failure === undefined ? {} : { failure: { ...batch.failure, at: 0 } }),
  ...(batch.resultSummary === undefined ? {} : { resultSummary: { ...batch.resultSummary, millis: 0, itemsPerSecond: 0 } }),
})

const file: UploadBatch = {
  batchId: "upload-1",
  kind: "items",
  fileName: "items.json",
  filePath: "/items.json",
  totalItemsInFile: 0,
  invalidItemsInFile: 0,
  itemsProcessed: 0,
  itemsErrored: 0,
  retryCount: 0,
}

const is = (state: unknown, tag: string) => (state as State)._tag === tag
const batchOf = (state: unknown) => (state as State).entity

describe("the workflow of an upload, whatever its work does and users request", () => {
  it("ends in the state that its counts say", async () => {
    const { machine } = await Effect.runPromise(loadBatchWorkflow(text, workOn(2)))
    const request = (name: string) => ({ _tag: name }) as never
    const report = check(machine, {
      starts: [file as never],
      senders: [
        [request("mark_failed")],
        [request("retry_batch"), request("retry_batch")],
        [request("retry_failed_items"), request("retry_failed_items")],
      ],
      work: (state) => workIn(state as unknown as State),
      properties: {
        "a completed upload stored every item": never(
          ({ state }) => is(state, "completed") && (batchOf(state).itemsProcessed !== 2 || batchOf(state).itemsErrored !== 0),
        ),
        "a partially completed upload has stored and failed items": never(
          ({ state }) => is(state, "partially_completed") && (batchOf(state).itemsProcessed === 0 || batchOf(state).itemsErrored === 0),
        ),
        "an upload is retried three times at most": never(({ state }) => batchOf(state).retryCount > maxRetries),
        "a failed upload says why": never(({ state }) => is(state, "failed") && batchOf(state).failure === undefined),
        "an upload ends": alwaysEventually(({ state }) =>
          ["completed", "partially_completed", "failed"].some((tag) => is(state, tag) && (state as State).pending === undefined),
        ),
      },
    })
    expect(
      unproved(report).map(({ name }) => name),
      formatCheck(report),
    ).toEqual([])
    expect(report.notes).toEqual([])
    expect(report.situations).toBeGreaterThan(500)
  })
})
