import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as GcsStorage from "../src/cloud/GcsStorage.ts"
import { anonymous } from "../src/cloud/GoogleCredentials.ts"
import * as S3Storage from "../src/cloud/S3Storage.ts"
import { folderOf } from "../src/file/FileBlobs.ts"
import * as FileStorage from "../src/file/FileStorage.ts"
import * as MemoryStorage from "../src/storage/MemoryStorage.ts"
import { blobIn, folderIn, Storage, StorageFolder } from "../src/storage/Storage.ts"
import * as StorageKeyValueStore from "../src/storage/StorageKeyValueStore.ts"
import { fakeGcs, fakeS3, gsRoot, keys, quick, s3Root } from "./cloud/fakes.ts"

const home = mkdtempSync(join(tmpdir(), "detent-key-value-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const stores: ReadonlyArray<readonly [string, StorageFolder, Layer.Layer<Storage, unknown>]> = [
  ["memory", StorageFolder.make("mem://test/"), MemoryStorage.layer],
  ["a folder", folderOf(home), FileStorage.layer({ root: home })],
  [
    "Google Cloud Storage",
    gsRoot,
    Layer.effect(
      Storage,
      Effect.flatMap(fakeGcs(), ({ url }) => GcsStorage.make({ root: gsRoot, endpoint: url, credentials: anonymous, retry: quick })),
    ),
  ],
  [
    "S3",
    s3Root,
    Layer.effect(
      Storage,
      Effect.flatMap(fakeS3(), ({ url }) => S3Storage.make({ root: s3Root, endpoint: url, keys, retry: quick })),
    ),
  ],
]

for (const [name, root, storage] of stores) {
  describe(`a key-value store in ${name}`, () => {
    const folder = folderIn(root, "workflow-state")
    const kept = Layer.provideMerge(StorageKeyValueStore.layer(folder), storage)

    it.live("gets what was set, counts, and clears its own folder only", () =>
      Effect.gen(function* () {
        const store = yield* KeyValueStore.KeyValueStore
        const beside = blobIn(root, "beside.txt")
        yield* (yield* Storage).set(beside, "stays")
        assert.isTrue(yield* store.isEmpty)
        assert.isUndefined(yield* store.get("none"))
        const keysOf = ["plain", "a/b", "", ".", "..", "%empty", "Ærø 東京 ?#&", "x".repeat(100)]
        for (const key of keysOf) yield* store.set(key, `value of ${key}`)
        for (const key of keysOf) assert.strictEqual(yield* store.get(key), `value of ${key}`)
        assert.deepStrictEqual(
          [yield* store.size, yield* store.isEmpty, yield* store.has("a/b"), yield* store.has("a")],
          [8, false, true, false],
        )
        yield* store.set("bytes", Uint8Array.of(0, 255, 1))
        assert.deepStrictEqual(yield* store.getUint8Array("bytes"), Uint8Array.of(0, 255, 1))
        yield* store.remove("bytes")
        yield* store.remove("bytes")
        assert.isFalse(yield* store.has("bytes"))
        yield* store.clear
        assert.strictEqual(yield* store.size, 0)
        assert.isTrue(Option.isSome(yield* (yield* Storage).info(beside)))
      }).pipe(Effect.provide(kept)),
    )

    it.live("loses no change among many that modify one value", () =>
      Effect.gen(function* () {
        const store = yield* KeyValueStore.KeyValueStore
        assert.isUndefined(yield* store.modify("count", (value) => value))
        yield* store.set("count", "0")
        const add = store.modify("count", (value) => String(Number(value) + 1))
        yield* Effect.all(
          Array.from({ length: 12 }, () => add),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(yield* store.get("count"), "12")
      }).pipe(Effect.provide(kept)),
    )
  })
}

describe("a key that no address can have", () => {
  it.effect("is refused with its name", () =>
    Effect.gen(function* () {
      const store = yield* KeyValueStore.KeyValueStore
      const refused = yield* Effect.flip(store.get("\ud800"))
      assert.deepInclude(refused, { _tag: "KeyValueStoreError", method: "get", key: "\ud800" })
    }).pipe(Effect.provide(Layer.provide(StorageKeyValueStore.layer(StorageFolder.make("mem://test/kv/")), MemoryStorage.layer))),
  )
})
