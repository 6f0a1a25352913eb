/** One database that is used with two data folders. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { AddressRefused, StorageFolder } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { OtherData, warnOfOtherData } from "../../src/batch/OtherData.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import { harbour, lookout, manifest } from "./sea.ts"

const files = { "one.txt": "ShipCetus passed ShipDorado." }

const folderOf = (data: string) => StorageFolder.make(`${pathToFileURL(data)}/`)

/** What is logged about the data folder. */
const listening = () => {
  const heard: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    const text = [message].flat().join(" ")
    if (text.includes("--data") || text.includes("belongs to its database")) heard.push(`${logLevel}: ${text}`)
  })
  return { heard, logs: Logger.layer([logger]) }
}

it.live("a process whose data folder is not that of the batches of its database warns at its start, and names both", () =>
  Effect.gen(function* () {
    const first = yield* harbour({ files })
    const { heard, logs } = listening()
    yield* Effect.gen(function* () {
      const batches = yield* Batches
      yield* warnOfOtherData(folderOf(first.data))
      const id = yield* batches.start(first.folder, manifest(["one.txt"]))
      assert.strictEqual((yield* batches.awaitEnd(id))._tag, "Completed")
      yield* warnOfOtherData(folderOf(first.data))
    }).pipe(Effect.provide(Layer.provideMerge(first.layer, logs)))
    assert.deepStrictEqual(heard, [])
    // Another host with a folder of the same name, which is not shared, has none of its files.
    yield* Effect.gen(function* () {
      const batches = yield* Batches
      const [batch] = (yield* batches.list({ limit: 1 })).instances
      const { manifestUri } = yield* batches.state(BatchId.make(batch?.id ?? ""))
      rmSync(fileURLToPath(manifestUri))
      yield* warnOfOtherData(folderOf(first.data))
    }).pipe(Effect.provide(Layer.provideMerge(first.layer, logs)))
    assert.include(heard.splice(0).join("; "), "is not there: give every process of a database the same --data")
    const second = yield* harbour({ files, store: () => SqliteStore.layer({ filename: join(first.root, "batches.db") }) })
    const warned = Effect.repeat(
      Effect.delay(
        Effect.sync(() => heard.length),
        "10 millis",
      ),
      { until: (count) => count > 0 },
    )
    yield* Effect.provide(warned, Layer.provideMerge(second.layer, logs))
    assert.lengthOf(heard, 1)
    for (const part of ["Warn: ", folderOf(second.data), folderOf(first.data), "give every process of a database the same --data"])
      assert.include(heard[0], part)
  }).pipe(Effect.scoped),
)

it.live("a process whose data folder has the files of no unfinished batch does not start, and the batch continues where it belongs", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const isOpen = Deferred.makeUnsafe<void>()
    const first = yield* harbour({ files, extractor: lookout(asked, () => Deferred.await(isOpen)) })
    const id = yield* Effect.gen(function* () {
      const batches = yield* Batches
      const started = yield* batches.start(first.folder, manifest(["one.txt"]))
      yield* Effect.repeat(
        Effect.delay(
          Effect.sync(() => asked.length),
          "10 millis",
        ),
        { until: (count) => count > 0 },
      )
      return started
    }).pipe(Effect.provide(first.layer))
    const second = yield* harbour({ files, store: () => SqliteStore.layer({ filename: join(first.root, "batches.db") }) })
    const refused = yield* Effect.flip(Effect.scoped(Layer.build(second.layer)))
    assert.instanceOf(refused, OtherData)
    assert.strictEqual(refused.batchId, id)
    assert.include(refused.message, "give every process of a database the same --data")
    yield* Deferred.succeed(isOpen, undefined)
    const ended = Effect.flatMap(Batches, (batches) => batches.awaitEnd(id))
    assert.strictEqual((yield* Effect.provide(ended, first.layer))._tag, "Completed")
  }).pipe(Effect.scoped),
)

it.live("a batch whose documents this process may not read stops, publishes nothing, and continues where they can be read", () =>
  Effect.gen(function* () {
    const opened = { isReadable: true }
    const first = yield* harbour({
      files,
      extractor: lookout([]),
      storage: (storage) => ({
        ...storage,
        getStream: (uri) =>
          opened.isReadable || !uri.endsWith("one.txt")
            ? storage.getStream(uri)
            : Stream.fail(new AddressRefused({ uri, problem: "is not in an opened folder", nextStep: "open it" })),
        get: (uri) =>
          opened.isReadable || !uri.endsWith("one.txt")
            ? storage.get(uri)
            : Effect.fail(new AddressRefused({ uri, problem: "is not in an opened folder", nextStep: "open it" })),
      }),
    })
    yield* Effect.gen(function* () {
      const batches = yield* Batches
      const id = yield* batches.start(first.folder, manifest(["one.txt"]))
      opened.isReadable = false
      const stopped = yield* batches.awaitEnd(id)
      assert.strictEqual(stopped._tag, "Failed")
      assert.strictEqual(stopped._tag === "Failed" ? stopped.error.code : "", "SourceRefused")
      opened.isReadable = true
      yield* batches.resume(id)
      assert.strictEqual((yield* batches.awaitEnd(id))._tag, "Completed")
    }).pipe(Effect.provide(first.layer))
  }).pipe(Effect.scoped),
)
