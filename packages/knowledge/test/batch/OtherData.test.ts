/** One database that is used with two data folders. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { Batches, warnOfOtherData } from "../../src/batch/Batches.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import { StorageFolder } from "../../src/storage/Uri.ts"
import { harbour, manifest } from "./sea.ts"

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
