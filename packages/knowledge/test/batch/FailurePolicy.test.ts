import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { StorageFull, type StorageService } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { canonical, harbour, lookout, manifest } from "./sea.ts"

const files = {
  "one.txt": "ShipAlba passed ShipBoreas.",
  "two.txt": "ShipCetus passed ShipDorado.",
  "binary.txt": "\u0000\u0001\u0002\u0003",
}
const names = Object.keys(files)

const away = new ExtractionFailed({ extractor: "lookout", reason: "Unavailable", retryable: true, detail: "away" })

/** Fails a number of times for texts that name something. */
const failing = (asked: Array<string>, word: string, times: number) => {
  let left = times
  return lookout(asked, ({ text }) => (text.includes(word) && left-- > 0 ? Effect.fail(away) : Effect.void))
}

describe("a batch with a document without text", () => {
  it.live("is completed, counts it as not read, and does not read it again", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files: { ...files, "binary.txt": " \n" } })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const run = Effect.gen(function* () {
          return yield* batches.awaitEnd(yield* batches.start(folder, manifest(names), { config: { validation: "warn" } }))
        })
        const first = yield* run
        expect(first).toMatchObject({ _tag: "Completed", documentsCompleted: 3, documentsFailed: 0 })
        const notRead = { language: "zxx", documents: 1, unread: 1, reason: "empty" }
        expect("languages" in first ? first.languages : []).toContainEqual(notRead)
        expect((yield* canonical(data)).passings).toBe(2)
        const second = yield* run
        expect(second).toMatchObject({ _tag: "Completed", documentsUnchanged: 3 })
        expect("languages" in second ? second.languages : []).toContainEqual(notRead)
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("a batch with a chunk that the model refuses", () => {
  it.live("does without it, and counts and shows it, however its documents are extracted", () =>
    Effect.gen(function* () {
      const refusal = new ExtractionFailed({ extractor: "lookout", reason: "Refused", retryable: false, detail: "I cannot help with that" })
      const extractor = lookout([], ({ text }) => (text.includes("secret") ? Effect.fail(refusal) : Effect.void))
      const long = `ShipAlba passed ShipBoreas. ${"The sea was calm. ".repeat(150)}ShipCetus kept a secret and passed ShipDorado.`
      const skippedBy = (dispatch: "process" | "tasks") =>
        Effect.gen(function* () {
          const { layer, folder } = yield* harbour({ files: { "long.txt": long, "short.txt": "A secret." }, extractor })
          return yield* Effect.gen(function* () {
            const batches = yield* Batches
            const config = { validation: "warn", dispatch } as const
            const end = yield* batches.awaitEnd(yield* batches.start(folder, manifest(["long.txt", "short.txt"]), { config }))
            // Nothing of the short document was answered.
            expect(end).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 1, relationCount: 1 })
            return "skipped" in end ? end.skipped : undefined
          }).pipe(Effect.provide(layer))
        })
      for (const dispatch of ["process", "tasks"] as const) {
        const skipped = yield* skippedBy(dispatch)
        expect(skipped?.count).toBe(1)
        expect(skipped?.examples).toMatchObject([
          { problem: "I cannot help with that", text: expect.stringContaining("The sea was calm.") },
        ])
      }
    }),
  )
})

describe("a batch with a document that fails", () => {
  it.live("continues with the others under `continue`, and is partially completed", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names), { config: { validation: "warn" } })
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 2, documentsFailed: 1, stats: { documentsFailed: 1 } })
        expect((yield* canonical(data)).passings).toBe(2)
        const failed = yield* Effect.flatMap(BatchEventLog, (log) => log.documents(id, { status: "failed" }))
        expect(failed).toHaveLength(1)
        expect(failed[0]?.error).toMatch(/binary/)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("fails at the first under `failFast`, names it, and leaves the canonical graph alone", () =>
    Effect.gen(function* () {
      const { layer, folder, data } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(names), { config: { failurePolicy: "failFast" } })
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "Failed", failedInStage: "extracting" })
        expect(end._tag === "Failed" ? end.error.message : "").toMatch(/binary\.txt/)
        const records = JSON.parse(yield* Effect.promise(() => readFile(join(data, "batches", id, "metadata.json"), "utf8")))
        expect(records).toHaveLength(names.length)
        expect((yield* canonical(data)).lines).toEqual([])
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("tries it once more at the end under `retryFailed`, and is completed when that helps", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, data } = yield* harbour({ files, extractor: failing(asked, "Cetus", 1) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), {
          config: { failurePolicy: "retryFailed", validation: "warn" },
        })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2, documentsFailed: 0 })
        expect((yield* canonical(data)).passings).toBe(2)
        expect(asked.filter((text) => text.includes("Alba"))).toHaveLength(1)
        expect(asked.filter((text) => text.includes("Cetus"))).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("tries it once more and no oftener, and is partially completed when that does not help", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder } = yield* harbour({ files, extractor: failing(asked, "Cetus", 100) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), {
          config: { failurePolicy: "retryFailed", validation: "warn" },
        })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 1 })
        expect(asked.filter((text) => text.includes("Cetus"))).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("and is partially completed can be retried: only what failed is tried again, and the graph has it then", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, data } = yield* harbour({ files, extractor: failing(asked, "Cetus", 2) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), { config: { maxRetries: 1, validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 1 })
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsFailed: 1, retryCount: 1 })
        expect((yield* canonical(data)).passings).toBe(1)
        expect((yield* Effect.flip(batches.retry(id))).message).toMatch(/retried 1 times, as often as allowed/)
        yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2, documentsFailed: 0, attempt: 2 })
        expect((yield* canonical(data)).passings).toBe(2)
        expect(asked.filter((text) => text.includes("Alba"))).toHaveLength(1)
        const documents = yield* Effect.flatMap(BatchEventLog, (log) => log.documents(id))
        expect(documents.map(({ status }) => status)).toEqual(["completed", "completed"])
        expect(yield* Effect.flip(batches.retry(id))).toMatchObject({ _tag: "MachineStopped" })
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("can be retried for some of what failed: the failure of the others stands", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      let isAway = true
      const extractor = lookout(asked, ({ text }) =>
        text.includes("Dorado") || (text.includes("Alba") && isAway) ? Effect.fail(away) : Effect.void,
      )
      const more = { ...files, "three.txt": "ShipErato passed ShipFama." }
      const { layer, folder } = yield* harbour({ files: more, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const log = yield* BatchEventLog
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt", "three.txt"]), { config: { validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 2 })
        const count = (word: string) => asked.filter((text) => text.includes(word)).length
        const before = { alba: count("Alba"), dorado: count("Dorado") }
        isAway = false
        const failed = yield* log.documents(id, { status: "failed" })
        const sources = new Map((yield* Effect.flatMap(RunStore, (runs) => runs.ofBatch(id))).map((run) => [run.documentId, run.inputUri]))
        expect(failed).toHaveLength(2)
        yield* batches.retry(id, { documents: [...sources].flatMap(([document, uri]) => (uri.endsWith("/one.txt") ? [document] : [])) })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 2, documentsFailed: 1 })
        expect([count("Alba") > before.alba, count("Dorado")]).toEqual([true, before.dorado])
        // Without a list all that failed are tried again.
        yield* batches.retry(id)
        yield* batches.awaitEnd(id)
        expect(count("Dorado")).toBeGreaterThan(before.dorado)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("keeps what it has added when the retry cannot be finished", () =>
    Effect.gen(function* () {
      let isBroken = false
      const full = (storage: StorageService): StorageService => ({
        ...storage,
        setStream: (uri, content, condition) =>
          isBroken && uri.endsWith("/canonical/sea/entities.ttl")
            ? Effect.fail(new StorageFull({ uri, cause: new Error("ENOSPC") }))
            : storage.setStream(uri, content, condition),
      })
      const { layer, folder, data } = yield* harbour({ files, extractor: failing([], "Cetus", 1), storage: full })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt", "two.txt"]), { config: { validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted" })
        const before = yield* canonical(data)
        isBroken = true
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", failedInStage: "ingesting" })
        expect((yield* canonical(data)).lines).toEqual(before.lines)
        isBroken = false
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2 })
        expect((yield* canonical(data)).passings).toBe(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("continues with the second try after a restart, and counts every document once", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const again = Deferred.makeUnsafe<void>()
      const tries = () => asked.filter((text) => text.includes("Cetus")).length
      const extractor = lookout(asked, ({ text }) => {
        if (!text.includes("Cetus") || tries() > 2) return Effect.void
        if (tries() === 1) return Effect.fail(away)
        Deferred.doneUnsafe(again, Effect.void)
        return Effect.never
      })
      const { layer, folder, data } = yield* harbour({ files, extractor })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const config = { failurePolicy: "retryFailed", validation: "warn" } as const
        const id = yield* batches.start(folder, manifest(names), { config })
        yield* Deferred.await(again)
        return id
      }).pipe(Effect.provide(layer))
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({
          _tag: "PartiallyCompleted",
          documentsCompleted: 2,
          documentsFailed: 1,
          entityCount: 4,
          relationCount: 2,
        })
        expect(tries()).toBe(3)
        expect(asked.filter((text) => text.includes("Alba"))).toHaveLength(1)
        expect((yield* canonical(data)).passings).toBe(2)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("fails when every document does, can be retried as often as allowed, and then no more", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { layer, folder, data } = yield* harbour({ files, extractor: failing(asked, "Ship", 3) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(["one.txt"]), { config: { maxRetries: 1, validation: "warn" } })
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", error: { code: "AllDocumentsFailed" }, retryCount: 0 })
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", retryCount: 1 })
        expect((yield* Effect.flip(batches.retry(id))).message).toMatch(/retried 1 times, as often as allowed/)
        expect(yield* batches.state(id)).toMatchObject({ _tag: "Failed", retryCount: 1 })
        // A user who has removed the cause may still continue with it.
        yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Failed", retryCount: 1 })
        yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 1 })
        expect(asked).toHaveLength(4)
        expect((yield* canonical(data)).passings).toBe(1)
      }).pipe(Effect.provide(layer))
    }),
  )
})
