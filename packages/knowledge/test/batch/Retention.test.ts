import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { FileUri, Storage } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Batches } from "../../src/batch/Batches.ts"
import { CanonicalGraph } from "../../src/graph/CanonicalGraph.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentIdOf, runIdOf } from "../../src/storage/Identity.ts"
import { canonical, harbour, manifest, sea } from "./sea.ts"

const files = { "one.txt": "ShipAlba passed ShipBoreas.", "two.txt": "ShipCetus passed ShipDorado." }

const filesOf = (data: string, id: string) =>
  Effect.promise(async () =>
    (await readdir(join(data, "batches", id), { recursive: true })).filter((name) => name.includes(".")).toSorted(),
  )

describe("the retention of batches", () => {
  it.live("removes runs and stage files that no graph needs, and nothing else", () =>
    Effect.gen(function* () {
      const { layer, folder, data, input } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const extractions = yield* Extractions
        const runs = yield* RunStore
        const config = { validation: "warn" } as const
        const run = (names: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            const id = yield* batches.start(folder, manifest(names), { config })
            expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed" })
            return id
          })
        const first = yield* run(["one.txt", "two.txt"])
        yield* Effect.flatMap(Storage, () =>
          Effect.promise(() => import("node:fs/promises").then((fs) => fs.writeFile(join(input, "one.txt"), "ShipAlba passed ShipFjord."))),
        )
        const second = yield* run(["one.txt"])
        const before = yield* canonical(data)
        const versions = yield* CanonicalGraph

        expect(yield* batches.purge({ endedBefore: "1 hour" })).toEqual({ batches: 0, runs: 0, files: 0 })
        expect(yield* runs.ofBatch(first)).toHaveLength(2)

        yield* Effect.sleep("20 millis")
        // The first batch's version of one.txt is in no current graph; two.txt is.
        expect(yield* batches.purge({ endedBefore: "10 millis" })).toMatchObject({ batches: 2, runs: 1 })
        const kept = yield* runs.ofBatch(first)
        expect(kept.map(({ documentId }) => documentId)).toEqual([documentIdOf(`${folder}two.txt`)])
        expect(yield* extractions.text(runIdOf({ batchId: first, documentId: documentIdOf(`${folder}two.txt`), attempt: 0 }))).toBe(
          files["two.txt"],
        )
        expect(yield* canonical(data)).toEqual(before)
        // Earlier versions of the graph can still be read.
        const current = Option.getOrThrow(yield* versions.current(sea))
        const previous = yield* versions.version(sea, Option.getOrThrow(current.previous))
        expect(previous.contributions.map(({ batchId }) => batchId)).toEqual([first])
        const storage = yield* Storage
        for (const { uri } of [...current.contributions, ...previous.contributions])
          expect(Option.isSome(yield* storage.info(FileUri.make(uri)))).toBe(true)
        const left = yield* filesOf(data, second)
        expect(left).toEqual(expect.arrayContaining(["manifest.json", "metadata.json", "validation/report.json"]))
        expect(left).not.toContain("canonical/final.ttl")

        expect(yield* batches.purge({ endedBefore: "10 millis" })).toEqual({ batches: 0, runs: 0, files: 0 })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is done by a process that was started with it", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files, retention: "1 milli" })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const started = yield* batches.start(folder, manifest(["one.txt"]), { config: { validation: "warn" } })
        expect(yield* batches.awaitEnd(started)).toMatchObject({ _tag: "Completed" })
        return started
      }).pipe(Effect.provide(layer))
      expect(yield* filesOf(data, id)).toContain("canonical/final.ttl")
      yield* Effect.gen(function* () {
        yield* Batches
        while ((yield* filesOf(data, id)).includes("canonical/final.ttl")) yield* Effect.sleep("20 millis")
        expect((yield* canonical(data)).passings).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("leaves a batch alone that can be resumed until it is older, and then extracts its documents again", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files: { ...files, "binary.txt": "\u0000\u0001\u0002\u0003" } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "binary.txt"]), { config: { validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted" })
        expect(yield* batches.purge({ endedBefore: "1 hour" })).toMatchObject({ batches: 0 })
        yield* Effect.sleep("20 millis")
        expect(yield* batches.purge({ endedBefore: "10 millis" })).toMatchObject({ batches: 1 })
        yield* batches.retry(id)
        const failed = yield* batches.awaitEnd(id)
        // The graph of the document is gone: it is noticed, and the next attempt extracts it again.
        if (failed._tag === "Failed") yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 1 })
        expect((yield* canonical(data)).passings).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )
})
