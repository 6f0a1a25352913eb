import { MemoryStorage, StorageFolder, StorageKeyValueStore } from "@detent/blobs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import { BatchStateStore } from "../../src/batch/BatchState.ts"
import { BatchId } from "../../src/storage/Identity.ts"

const inMemory = Layer.provide(StorageKeyValueStore.layer(StorageFolder.make("mem://test/workflow-state/")), MemoryStorage.layer)

describe("the states of batches in blobs", () => {
  it.effect("are none before the first, and a value that is no state fails", () =>
    Effect.gen(function* () {
      const states = yield* BatchStateStore
      const id = BatchId.make("batch-0123456789ab")
      assert.deepStrictEqual(yield* states.get(id), Option.none())
      yield* (yield* KeyValueStore.KeyValueStore).set(id, `{"_tag":"Elsewhere"}`)
      assert.strictEqual((yield* Effect.flip(states.get(id)))._tag, "SchemaError")
    }).pipe(Effect.provide(Layer.provideMerge(BatchStateStore.layer, inMemory))),
  )
})
