/** One batch by its own process, by tasks and by activities: what is stored at the end is the same. */

import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { getText, Storage, type StorageFolder } from "@detent/blobs/Storage"
import { folderAt } from "@detent/blobs/StorageLocation"
import { RetryPolicy } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import type { BatchConfig, Dispatch } from "../../src/batch/BatchState.ts"
import { ManifestJson } from "../../src/batch/Manifest.ts"
import {
  type ActivityName,
  ExtractionOutput,
  IngestionOutput,
  ResolutionOutput,
  runActivity,
  ValidationOutput,
} from "../../src/dispatch/Activities.ts"
import { ExtractionFailed, type ExtractorService } from "../../src/extract/Extractor.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import { Reviews } from "../../src/verdict/Reviews.ts"
import { canonical, harbour, lookout, manifest, toldOf } from "../batch/sea.ts"

const files = {
  "plain.txt": "ShipAlba passed ShipBora off the coast.",
  "unsure.txt": "Perhaps ShipCora passed ShipDana off the coast.",
  "misfit.txt": "ShipEdda passed ShipFara at 999999999999 knots.",
  "binary.txt": "\u0000\u0001\u0002\u0003",
  "endless.txt": "ShipGala passed ShipHaga in an endless storm.",
  "known.txt": "ShipIona passed ShipJava off the coast.",
}

/** Finds unsure facts, values that fit no property, and a document that exceeds a limit. */
const extractor = (): ExtractorService => {
  const base = lookout([], ({ text }) =>
    text.includes("endless")
      ? Effect.fail(new ExtractionFailed({ extractor: "lookout", reason: "LimitExceeded", retryable: false, detail: "it took too long" }))
      : Effect.void,
  )
  return {
    ...base,
    entities: (chunk, ...more) =>
      Effect.map(base.entities(chunk, ...more), (found) => {
        const at = chunk.text.indexOf("999999999999")
        const start = chunk.offset + at
        return at === -1
          ? found
          : { ...found, misfits: [{ property: "urn:sea:speed", text: "999999999999", span: { start, end: start + 12 } }] }
      }),
    facts: (chunk, ...more) =>
      Effect.map(base.facts(chunk, ...more), (found) =>
        chunk.text.startsWith("Perhaps") ? { ...found, facts: found.facts.map((fact) => ({ ...fact, confidence: 0.3 })) } : found,
      ),
  }
}

const [earlier, later] = [BatchId.make("batch-00000000000a"), BatchId.make("batch-00000000000b")]

/** Runs the activities of a batch one by one, as a job runner does. A failed extraction is not repeated. */
const runActivities = (folder: StorageFolder, batchId: BatchId) =>
  Effect.gen(function* () {
    const { manifestUri } = yield* Effect.flatMap(Batches, (batches) => batches.state(batchId))
    const storage = yield* Storage
    const { documents, ontologyUri } = yield* Effect.flatMap(getText(storage, manifestUri), Schema.decodeEffect(ManifestJson))
    const run = <A>(name: ActivityName, output: Schema.Codec<A, unknown>, more: object) =>
      Effect.gen(function* () {
        const returned: unknown = yield* runActivity(folder, name, { batchId, ...more })
        return yield* Schema.decodeUnknownEffect(Schema.toCodecJson(output))(returned)
      })
    for (const { documentId, sourceUri } of documents)
      yield* Effect.exit(run("extraction", ExtractionOutput, { documentId, sourceUri, ontologyUri }))
    const { resolvedUri } = yield* run("resolution", ResolutionOutput, {})
    const { validatedUri } = yield* run("validation", ValidationOutput, { resolvedUri })
    yield* run("ingestion", IngestionOutput, { validatedUri, targetNamespace: "sea" })
  })

/** When and where something was stored, and hashes of files that state it. */
const differs = new Set(["at", "createdAt", "updatedAt", "completedAt", "totalDurationMs", "validationStartedAt", "failuresSince"])
const timed = new Set(["fetchedAt", "processingDurationMs", "timestamp", "dispatch", "currentDocumentId"])

const comparable = (value: unknown, data: string): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one: unknown) => (differs.has(key) || timed.has(key) ? undefined : one))
      .replaceAll(data, "DATA")
      .replaceAll(/\b[a-f0-9]{16}\b/g, "HASH"),
  )

const sorted = (values: ReadonlyArray<unknown>) => values.map((value) => JSON.stringify(value)).toSorted()

/** All that a batch leaves behind. */
const endOf = (dispatch: Dispatch, config: Partial<BatchConfig>, from?: string) =>
  Effect.gen(function* () {
    const { data, input, folder, layer } = yield* harbour({
      files,
      extractor: extractor(),
      taskWorker: { retry: RetryPolicy.fixed({ delay: "5 millis", maxAttempts: 3 }) },
      ...(from === undefined ? {} : { from }),
    })
    return yield* Effect.gen(function* () {
      const batches = yield* Batches
      yield* batches.start(folder, manifest(["known.txt"]), { batchId: earlier })
      assert.strictEqual((yield* batches.awaitEnd(earlier))._tag, "Completed")
      yield* batches.start(folder, manifest(Object.keys(files)), { batchId: later, config: { ...config, dispatch } })
      if (dispatch === "activities") yield* Effect.exit(runActivities(folderAt(data), later))
      const state = yield* batches.awaitEnd(later)
      const { facts } = yield* Effect.flatMap(Reviews, (reviews) => reviews.list(later, {}))
      const log = yield* BatchEventLog
      const events = yield* toldOf(later, state._tag === "Failed" ? "BatchFailed" : "BatchCompleted")
      const graph = yield* canonical(data)
      const metadata = yield* Effect.promise(() => readFile(join(data, "batches", later, "metadata.json"), "utf8"))
      const end = {
        state,
        facts,
        documents: yield* log.documents(later),
        metadata: JSON.parse(metadata) as unknown,
        events: sorted(events.filter(({ _tag }) => _tag !== "StageProgress").map((event) => comparable(event, data) as object)),
        lines: graph.lines.map((line) => line.replaceAll(/"[^"]*"\^\^<[^>]*dateTime>/g, "a time")),
      }
      return { input, state, end: comparable(end, data) }
    }).pipe(Effect.provide(layer))
  })

describe("a batch by its own process, by tasks and by activities", () => {
  it.live("ends with the same counts, documents, events, review list, metadata and graph", () =>
    Effect.gen(function* () {
      const { input, state, end } = yield* endOf("process", {})
      assert.deepInclude(state, {
        _tag: "PartiallyCompleted",
        documentsCompleted: 4,
        documentsUnchanged: 1,
        documentsFailed: 1,
        documentsSetAside: 1,
        reviewCount: 1,
      })
      assert.strictEqual("misfits" in state ? state.misfits?.count : 0, 1)
      for (const dispatch of ["tasks", "activities"] as const)
        assert.deepStrictEqual((yield* endOf(dispatch, {}, input)).end, end, dispatch)
    }).pipe(Effect.scoped),
  )

  it.live("fails with the same counts and reason under failFast", () =>
    Effect.gen(function* () {
      const reasonOf = (dispatch: Dispatch, from?: string) =>
        Effect.map(endOf(dispatch, { failurePolicy: "failFast", concurrency: 1 }, from), ({ input, state }) => {
          assert.strictEqual(state._tag, "Failed")
          return { input, reason: state._tag === "Failed" ? [state.failedInStage, state.error.code, state.documentsFailed] : [] }
        })
      const { input, reason } = yield* reasonOf("process")
      assert.deepStrictEqual(reason, ["extracting", "DocumentBinary", 1])
      assert.deepStrictEqual((yield* reasonOf("activities", input)).reason, reason)
    }).pipe(Effect.scoped),
  )
})
