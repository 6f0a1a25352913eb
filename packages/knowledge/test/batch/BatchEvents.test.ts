import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { errorOf, isTerminal, progressPercent, stageDisplayName } from "../../src/batch/BatchState.ts"
import { documentsOf, harbour, manifest, toldOf } from "./sea.ts"

const files = documentsOf(5)
const names = Object.keys(files)

describe("what a batch tells the world", () => {
  it.live("is every event of its life, in order, and each document once", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files: { ...files, "binary.txt": "\u0000\u0001\u0002\u0003" } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest([...names, "binary.txt"]), { config: { validation: "warn" } })
        yield* batches.awaitEnd(id)
        const told = yield* toldOf(id, "BatchCompleted")
        const tags = told.map(({ _tag }) => _tag)
        expect(tags[0]).toBe("BatchCreated")
        expect(tags.slice(-8)).toEqual([
          "StageProgress",
          "ResolutionStarted",
          "ResolutionCompleted",
          "ValidationStarted",
          "ValidationCompleted",
          "IngestionStarted",
          "IngestionCompleted",
          "BatchCompleted",
        ])
        expect(tags.filter((tag) => tag === "DocumentStarted")).toHaveLength(6)
        expect(tags.filter((tag) => tag === "DocumentCompleted")).toHaveLength(5)
        expect(tags.filter((tag) => tag === "DocumentFailed")).toHaveLength(1)
        const ofDocument = Map.groupBy(
          told.flatMap(({ _tag, payload }) => ("documentId" in payload ? [{ _tag, documentId: payload.documentId }] : [])),
          ({ documentId }) => documentId,
        )
        for (const events of ofDocument.values()) {
          expect(events).toHaveLength(2)
          expect(events[0]?._tag).toBe("DocumentStarted")
        }
        expect(told.find(({ _tag }) => _tag === "StageProgress")?.payload).toMatchObject({
          completedDocuments: 5,
          totalDocuments: 6,
          progress: 70,
        })
        expect(told.at(-1)?.payload).toMatchObject({ batchId: id, totalDocuments: 6, entityCount: 10, relationCount: 5 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("says why it failed", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files: { "binary.txt": "\u0000\u0001\u0002\u0003" } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["binary.txt"]))
        const end = yield* batches.awaitEnd(id)
        expect(errorOf(end)?.code).toBe("AllDocumentsFailed")
        const told = yield* toldOf(id, "BatchFailed")
        expect(told.map(({ _tag }) => _tag)).toEqual(["BatchCreated", "DocumentStarted", "DocumentFailed", "StageProgress", "BatchFailed"])
        expect(told.at(-1)?.payload).toMatchObject({ error: errorOf(end)?.message, failedDocuments: 1 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is followed by its readers: progress never goes back, and ends at 100", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names), { config: { validation: "warn", concurrency: 1 } })
        const states = yield* Stream.runCollect(batches.watch(id))
        const percents = states.map(progressPercent)
        expect(percents).toEqual([...percents].sort((a, b) => a - b))
        expect(percents.at(-1)).toBe(100)
        expect(states.map(isTerminal)).toEqual([...Array(states.length - 1).fill(false), true])
        expect(states.map(stageDisplayName).at(-1)).toBe("Completed")
      }).pipe(Effect.provide(layer))
    }),
  )
})
