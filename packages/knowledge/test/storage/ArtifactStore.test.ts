import { MemoryStorage } from "@detent/blobs"
import { contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, Storage, StorageFolder } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { ArtifactStore, layer } from "../../src/storage/ArtifactStore.ts"
import { ArtifactKey, RunId } from "../../src/storage/Identity.ts"

const folder = StorageFolder.make("mem://project/data/")
const run = RunId.make("00000000-0000-8000-a000-000000000001")
const otherRun = RunId.make("00000000-0000-8000-a000-000000000002")
const key = ArtifactKey.make("batch_0.ttl")

const test = (name: string, body: Effect.Effect<void, unknown, ArtifactStore | Storage>) =>
  it.effect(name, () => body.pipe(Effect.provide(Layer.provideMerge(layer(folder), MemoryStorage.layer))))

describe("artifacts", () => {
  test(
    "are kept under their content and read back",
    Effect.gen(function* () {
      const artifacts = yield* ArtifactStore
      const saved = yield* artifacts.save(run, key, "<urn:a> <urn:b> <urn:c> .\n")
      const hash = contentHashOf("<urn:a> <urn:b> <urn:c> .\n")
      assert.deepStrictEqual(saved, { path: `runs/${run}/artifacts/${hash}/batch_0.ttl`, hash })
      assert.strictEqual(yield* artifacts.loadText(saved.path), "<urn:a> <urn:b> <urn:c> .\n")
    }),
  )

  test(
    "saved again change nothing, and another content does not take their place",
    Effect.gen(function* () {
      const artifacts = yield* ArtifactStore
      const storage = yield* Storage
      const saved = yield* artifacts.save(run, key, "one")
      const before = yield* storage.info(blobIn(folder, saved.path))
      assert.deepStrictEqual(yield* artifacts.save(run, key, "one"), saved)
      assert.deepStrictEqual(yield* storage.info(blobIn(folder, saved.path)), before)
      const other = yield* artifacts.save(run, key, "two")
      assert.deepStrictEqual([yield* artifacts.loadText(saved.path), yield* artifacts.loadText(other.path)], ["one", "two"])
    }),
  )

  test(
    "that were changed are refused, and repaired by saving them again",
    Effect.gen(function* () {
      const artifacts = yield* ArtifactStore
      const storage = yield* Storage
      const saved = yield* artifacts.save(run, key, "one")
      yield* storage.set(blobIn(folder, saved.path), "0ne")
      const damaged = yield* Effect.flip(artifacts.load(saved.path))
      assert.strictEqual(damaged._tag, "ArtifactDamaged")
      assert.include(damaged.message, "restore it from a backup")
      yield* artifacts.save(run, key, "one")
      assert.strictEqual(yield* artifacts.loadText(saved.path), "one")
    }),
  )

  test(
    "of one run can be removed without touching another's",
    Effect.gen(function* () {
      const artifacts = yield* ArtifactStore
      const storage = yield* Storage
      yield* artifacts.save(run, key, "one")
      yield* artifacts.save(run, key, "two")
      const kept = yield* artifacts.save(otherRun, key, "one")
      yield* artifacts.remove(run)
      const left = yield* Stream.runCollect(storage.list(folder))
      assert.deepStrictEqual(
        left.map(({ uri }) => uri),
        [blobIn(folder, kept.path)],
      )
    }),
  )
})
