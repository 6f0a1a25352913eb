import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { StorageService } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Batches } from "../../src/batch/Batches.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { documentIdOf, runIdOf } from "../../src/storage/Identity.ts"
import { canonical, documentsOf, harbour, lookout, manifest, toldOf } from "./sea.ts"

/** Something that never ends on its own: knows when it was reached, and when it was given up. */
const obstacle = () => {
  const reached = Deferred.makeUnsafe<void>()
  const givenUp = Deferred.makeUnsafe<void>()
  let isThere = true
  return {
    wait: Effect.suspend(() => {
      if (!isThere) return Effect.void
      Deferred.doneUnsafe(reached, Effect.void)
      return Effect.onInterrupt(Effect.never, () => Effect.sync(() => Deferred.doneUnsafe(givenUp, Effect.void)))
    }),
    reached: Deferred.await(reached),
    givenUp: Deferred.await(givenUp),
    remove: () => {
      isThere = false
    },
  }
}

/** Stops the process that writes a file of this batch's, or of the canonical graph, whose address ends so. */
const stopping =
  (wait: Effect.Effect<void>, isStopped: (uri: string) => boolean) =>
  (files: StorageService): StorageService => ({
    ...files,
    set: (uri, content, precondition) => Effect.andThen(isStopped(uri) ? wait : Effect.void, files.set(uri, content, precondition)),
    setStream: (uri, content, precondition) =>
      Effect.andThen(isStopped(uri) ? wait : Effect.void, files.setStream(uri, content, precondition)),
  })

const files = {
  "before.txt": "ShipAlba passed ShipBoreas.",
  "one.txt": "ShipCetus passed ShipDorado.",
  "two.txt": "ShipElektra passed ShipFjord.",
}

describe("cancelling", () => {
  it.live("while documents are extracted ends their extraction, and resuming repeats none that was done", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { wait, reached, givenUp, remove } = obstacle()
      const many = { ...documentsOf(6), "slow.txt": "ShipSlow passed ShipFjord." }
      const extractor = lookout(asked, ({ text }) => (text.includes("Slow") ? wait : Effect.void))
      const { layer, folder, data } = yield* harbour({ files: many, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(Object.keys(many)), { config: { validation: "warn", concurrency: 2 } })
        yield* reached
        yield* batches.cancel(id)
        yield* givenUp
        expect(yield* batches.state(id)).toMatchObject({ _tag: "Cancelled", cancelledInStage: "extracting" })
        const runId = runIdOf({ batchId: id, documentId: documentIdOf(`${folder}slow.txt`), attempt: 0 })
        const extractions = yield* Extractions
        expect((yield* extractions.get(runId)).status).toBe("cancelled")
        const records: ReadonlyArray<{ readonly sourceUri: string; readonly status: string }> = JSON.parse(
          yield* Effect.promise(() => readFile(join(data, "batches", id, "metadata.json"), "utf8")),
        )
        expect(records).toHaveLength(7)
        expect(records.find(({ sourceUri }) => sourceUri.endsWith("slow.txt"))).toMatchObject({ status: "pending" })
        expect((yield* canonical(data)).lines).toEqual([])
        const before = asked.length
        remove()
        yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 7, documentsFailed: 0, attempt: 1 })
        expect(before).toBeGreaterThan(0)
        expect(asked.filter((text) => !text.includes("Slow")).length).toBe(6)
        expect((yield* canonical(data)).passings).toBe(7)
        expect((yield* toldOf(id, "BatchFailed")).at(-1)?.payload).toMatchObject({ end: "cancelled" })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("the run of one document makes that one fail, and the batch continues", () =>
    Effect.gen(function* () {
      const { wait, reached } = obstacle()
      const extractor = lookout([], ({ text }) => (text.includes("Cetus") ? wait : Effect.void))
      const { layer, folder } = yield* harbour({ files, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), { config: { validation: "warn" } })
        yield* reached
        const extractions = yield* Extractions
        yield* extractions.cancel(runIdOf({ batchId: id, documentId: documentIdOf(`${folder}one.txt`), attempt: 0 }))
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 1 })
      }).pipe(Effect.provide(layer))
    }),
  )

  const stages = {
    resolving: "/resolution/merged-",
    validating: "/validation/report.json",
    ingesting: "/canonical/sea/entities.ttl",
  }
  for (const [stage, part] of Object.entries(stages))
    it.live(`while it is ${stage} ends that, leaves the canonical graph as it was, and can be resumed`, () =>
      Effect.gen(function* () {
        const { wait, reached, givenUp, remove } = obstacle()
        let armed = false
        const storage = stopping(wait, (uri) => armed && uri.includes(part))
        const { layer, folder, data } = yield* harbour({ files, storage })
        yield* Effect.gen(function* () {
          const batches = yield* Batches
          const config = { validation: "warn" } as const
          yield* Effect.flatMap(batches.start(folder, manifest(["before.txt"]), { config }), batches.awaitEnd)
          const before = yield* canonical(data)
          expect(before.passings).toBe(1)
          armed = true
          const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), { config })
          yield* reached
          armed = false
          yield* batches.cancel(id)
          yield* givenUp
          expect(yield* batches.state(id)).toMatchObject({ _tag: "Cancelled", cancelledInStage: stage })
          expect(yield* canonical(data)).toEqual(before)
          remove()
          yield* batches.resume(id)
          expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2 })
          const after = yield* canonical(data)
          expect(after.passings).toBe(3)
          expect(after.published).toContain("ShipElektra")
        }).pipe(Effect.provide(layer))
      }),
    )

  it.live("before a restart stays so: nothing resumes by itself", () =>
    Effect.gen(function* () {
      const { wait, reached, remove } = obstacle()
      const asked: Array<string> = []
      const { layer, folder, data } = yield* harbour({ files, extractor: lookout(asked, () => wait) })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt"]))
        yield* reached
        yield* batches.cancel(id)
        return id
      }).pipe(Effect.provide(layer))
      remove()
      const before = asked.length
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* Effect.sleep("500 millis")
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Cancelled" })
        expect(asked).toHaveLength(before)
        expect((yield* canonical(data)).lines).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("and resuming twice at once resumes once: the other call fails", () =>
    Effect.gen(function* () {
      const { wait, reached, remove } = obstacle()
      const { layer, folder, data } = yield* harbour({ files, extractor: lookout([], () => wait) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt"]), { config: { validation: "warn" } })
        yield* reached
        yield* batches.cancel(id)
        remove()
        const resumed = yield* Effect.forEach([1, 2, 3], () => Effect.result(batches.resume(id)), { concurrency: 3 })
        expect(resumed.filter(Result.isSuccess)).toHaveLength(1)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", attempt: 1 })
        expect((yield* canonical(data)).passings).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("a batch that has ended, or that is not there, is refused", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt"]), { config: { validation: "warn" } })
        yield* batches.awaitEnd(id)
        expect(yield* Effect.flip(batches.cancel(id))).toBeDefined()
        expect(yield* batches.state(id)).toMatchObject({ _tag: "Completed" })
        expect(yield* Effect.flip(batches.cancel("batch-000000000000" as typeof id))).toMatchObject({ _tag: "BatchNotFound" })
      }).pipe(Effect.provide(layer))
    }),
  )
})
