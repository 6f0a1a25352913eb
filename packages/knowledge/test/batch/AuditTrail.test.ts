import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { contentHashOf } from "@detent/blobs/ContentHash"
import { StorageFailed } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Batches } from "../../src/batch/Batches.ts"
import { BatchStateJson } from "../../src/batch/BatchState.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentIdOf } from "../../src/storage/Identity.ts"
import { documentsOf, harbour, lookout, manifest } from "./sea.ts"

const files = documentsOf(3)
const names = Object.keys(files)

const fileOf = (data: string, id: string, name: string) => Effect.promise(() => readFile(join(data, "batches", id, name), "utf8"))

describe("the audit trail of a batch", () => {
  it.live("is its state in status.json, its documents in metadata.json and its triples in final.ttl", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files: { ...files, "binary.txt": "\u0000\u0001\u0002\u0003" } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest([...names, "binary.txt"]), { config: { validation: "warn" } })
        const end = yield* batches.awaitEnd(id)
        // The worker writes it after the end is stored.
        let status = yield* fileOf(data, id, "status.json")
        while (!status.includes("PartiallyCompleted")) {
          yield* Effect.sleep("20 millis")
          status = yield* fileOf(data, id, "status.json")
        }
        expect(Schema.decodeSync(BatchStateJson)(status)).toEqual(end)
        expect(end.updatedAt).toBe("completedAt" in end ? end.completedAt : undefined)

        const documents: ReadonlyArray<Record<string, unknown>> = JSON.parse(yield* fileOf(data, id, "metadata.json"))
        expect(documents.map(({ status: one }) => one)).toEqual(["completed", "completed", "completed", "failed"])
        const [name = "", text = ""] = Object.entries(files)[0] ?? []
        expect(documents[0]).toMatchObject({
          _tag: "Document",
          documentId: documentIdOf(`${folder}${name}`),
          batchId: id,
          contentHash: contentHashOf(text),
          sourceUri: `${folder}${name}`,
          contentType: "text/plain",
          sizeBytes: text.length,
          ontologyVersion: end.ontologyVersion,
          retryCount: 0,
          errors: [],
        })
        expect(documents[3]?.["errors"]).toMatchObject([{ code: "DocumentBinary", message: expect.stringMatching(/binary/) }])

        const final = yield* fileOf(data, id, "canonical/final.ttl")
        const lines = final.split("\n").filter((line) => line !== "")
        expect(lines).toHaveLength("stats" in end ? end.stats.triplesIngested : -1)
        expect(final).toContain(Object.values(files)[0]?.split(" ")[0])

        const runs = yield* Effect.flatMap(RunStore, (store) => store.ofBatch(id))
        const hashes = new Set<string>(Object.values(files).map((one) => contentHashOf(one)))
        for (const run of runs.filter(({ status: one }) => one === "succeeded")) {
          expect(hashes).toContain(Option.getOrUndefined(run.inputHash))
          expect(end.ontologyVersion).toContain(`@${run.ontologyHash}`)
        }
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("keeps the problems of earlier attempts with the documents", () =>
    Effect.gen(function* () {
      let isRefused = true
      const refusal = new ExtractionFailed({ extractor: "lookout", reason: "Refused", retryable: false, detail: "not now" })
      const { layer, folder, data } = yield* harbour({
        files,
        extractor: lookout([], () => (isRefused ? Effect.fail(refusal) : Effect.void)),
      })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names.slice(0, 1)), { config: { validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", failedInStage: "extracting", lastSuccessfulStage: "pending" })
        isRefused = false
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed" })
        const [record] = JSON.parse(yield* fileOf(data, id, "metadata.json"))
        expect(record).toMatchObject({ status: "completed", retryCount: 1, errors: [{ code: "ExtractionFailed" }] })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("says what led to a failure, and which stage was the last to succeed", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({
        files,
        storage: (storage) => ({
          ...storage,
          setStream: (uri, content, precondition) =>
            uri.includes("/resolution/merged-")
              ? Effect.fail(new StorageFailed({ uri, operation: "write", retryable: false, cause: new Error("the disk is on fire") }))
              : storage.setStream(uri, content, precondition),
        }),
      })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names))
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({
          _tag: "Failed",
          failedInStage: "resolving",
          lastSuccessfulStage: "extracting",
          error: { code: "StorageFailed", cause: expect.stringContaining("the disk is on fire") },
        })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("has runs that wait as queued, and the document that was begun last", () =>
    Effect.gen(function* () {
      let seen: Readonly<Record<string, number>> = {}
      const { layer, folder } = yield* harbour({
        files,
        extractor: lookout([], () =>
          Effect.gen(function* () {
            yield* Effect.sleep("700 millis")
            const id = yield* Effect.promise(() => started)
            seen = { ...(yield* Effect.orDie(counts(id))), ...seen }
          }),
        ),
      })
      const ready = Promise.withResolvers<Parameters<typeof counts>[0]>()
      const started = ready.promise
      let counts: (id: Parameters<(typeof RunStore)["Service"]["counts"]>[0]) => ReturnType<(typeof RunStore)["Service"]["counts"]> = () =>
        Effect.die("not yet")
      yield* Effect.gen(function* () {
        counts = (yield* RunStore).counts
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names), { config: { validation: "warn", concurrency: 1 } })
        ready.resolve(id)
        let current: unknown
        while (current === undefined) {
          yield* Effect.sleep("50 millis")
          const state = yield* batches.state(id)
          if (state._tag !== "Extracting" && state._tag !== "Pending") break
          current = state._tag === "Extracting" ? state.currentDocumentId : undefined
        }
        expect(names.map((name) => documentIdOf(`${folder}${name}`))).toContain(current)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed" })
        expect(seen).toMatchObject({ queued: 2, running: 1 })
        expect(yield* counts(id)).toMatchObject({ queued: 0, running: 0, succeeded: 3 })
      }).pipe(Effect.provide(layer))
    }),
  )
})
