import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { contentHashOf } from "../src/storage/ContentHash.ts"
import * as MemoryStorage from "../src/storage/MemoryStorage.ts"
import { getHashedText, getText, routed, Storage, StorageFolder, StorageUri } from "../src/storage/Storage.ts"
import { storageConformance } from "../testing/index.ts"

const routedMemory = Layer.effect(
  Storage,
  Effect.map(MemoryStorage.make, (mem) => routed({ mem })),
)
storageConformance("routed", routedMemory, { folder: StorageFolder.make("mem://test/kit/") })

describe("a text", () => {
  it.effect("and its hash are the same however its bytes arrive", () =>
    Effect.gen(function* () {
      const storage = yield* MemoryStorage.make
      const uri = Schema.decodeUnknownSync(StorageUri)("mem://test/a.txt")
      const text = "Ærø, 東京, 👩‍🚀 and ASCII"
      yield* storage.set(uri, `\ufeff${text}`)
      const inBytes = {
        ...storage,
        getStream: (from: StorageUri) =>
          Stream.flatMap(storage.getStream(from), (bytes) => Stream.fromIterable([...bytes].map((one) => Uint8Array.of(one)))),
      }
      for (const one of [storage, inBytes]) assert.deepStrictEqual(yield* getHashedText(one, uri), { text, hash: contentHashOf(text) })
    }),
  )
})

describe("a storage out of several", () => {
  it.effect("names what it could do when a scheme is not set up", () =>
    Effect.gen(function* () {
      const storage = routed({ mem: yield* MemoryStorage.make })
      const uri = Schema.decodeUnknownSync(StorageUri)("gs://bucket/a.txt")
      const refused = yield* Effect.flip(getText(storage, uri))
      assert.strictEqual(refused.message, "gs://bucket/a.txt is in a storage that is not set up; use mem://, or set it up")
    }),
  )
})
