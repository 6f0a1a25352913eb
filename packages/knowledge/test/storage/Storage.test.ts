import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { getText, routed, Storage } from "../../src/storage/Storage.ts"
import { StorageFolder, StorageUri } from "../../src/storage/Uri.ts"
import { storageConformance } from "../../testing/index.ts"

const routedMemory = Layer.effect(
  Storage,
  Effect.map(MemoryStorage.make, (mem) => routed({ mem })),
)
storageConformance("routed", routedMemory, { folder: StorageFolder.make("mem://test/kit/") })

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
