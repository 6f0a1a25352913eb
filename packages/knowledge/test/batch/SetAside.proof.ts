import type { StorageService, StorageUri } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { harbour, manifest } from "./sea.ts"

const files = {
  "good.md": "ShipAlba passed ShipBoreas.",
  "slow.pdf": Buffer.from(`%PDF-1.4\n${"1 0 obj <<".repeat(20_000)}`),
}

/** Notes which documents are read. */
const noting =
  (read: Array<string>) =>
  (storage: StorageService): StorageService => ({
    ...storage,
    getStream: (uri: StorageUri) => {
      read.push(uri.split("/").at(-1) ?? "")
      return storage.getStream(uri)
    },
  })

describe("a document that exceeds a limit twice", () => {
  it.live("is set aside alone with a reason, and is not tried again when the batch or the program starts again", () =>
    Effect.gen(function* () {
      const read: Array<string> = []
      const contentLimits = { document: { time: "1 second" } } as const
      const { layer, folder } = yield* harbour({ files, storage: noting(read), contentLimits })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const started = yield* batches.start(folder, manifest(Object.keys(files)), { config: { failurePolicy: "retryFailed" } })
        const end = yield* batches.awaitEnd(started)
        expect(end).toMatchObject({ _tag: "PartiallyCompleted", documentsCompleted: 1, documentsFailed: 0, documentsSetAside: 1 })
        const log = yield* BatchEventLog
        expect(yield* log.counts(started)).toEqual({ completed: 1, failed: 0, processing: 0, "set-aside": 1 })
        const setAside = yield* log.documents(started, { status: "set-aside" })
        expect(setAside.map(({ error }) => error)).toEqual([
          expect.stringMatching(/slow\.pdf is set aside: .*longer than 1s, in 2 attempts; .*start a new batch/),
        ])
        return started
      }).pipe(Effect.provide(layer))
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "PartiallyCompleted", documentsFailed: 0, documentsSetAside: 1 })
      }).pipe(Effect.provide(layer))
      expect(read.filter((name) => name === "slow.pdf")).toHaveLength(1)
    }),
  )
})
