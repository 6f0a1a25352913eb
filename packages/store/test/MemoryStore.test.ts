import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Journal } from "../src/contract/Journal.ts"
import * as MemoryStore from "../src/MemoryStore.ts"
import {
  instancesConformance,
  journalConformance,
  leasesConformance,
  ownershipConformance,
  searchConformance,
  storeAgreement,
  timersConformance,
} from "../testing/index.ts"
import { commit, freshKey, stored } from "../testing/samples.ts"

journalConformance("memory", MemoryStore.layer)
instancesConformance("memory", MemoryStore.layer)
timersConformance("memory", MemoryStore.layer)
leasesConformance("memory", MemoryStore.layer)
ownershipConformance("memory", MemoryStore.layer)
searchConformance("memory", MemoryStore.layer)
storeAgreement("memory", MemoryStore.layer)

describe("memory", () => {
  it.effect("a store that was made outlives the engines that use it", () =>
    Effect.gen(function* () {
      const store = Layer.succeedContext(yield* MemoryStore.make)
      const key = yield* freshKey
      const step = (expected: number) =>
        Effect.flatMap(Journal, (journal) => journal.commit([commit(key, expected)])).pipe(Effect.provide(store))
      assert.deepStrictEqual(yield* step(-1), [stored])
      assert.deepStrictEqual(yield* step(0), [stored])
    }),
  )

  it.effect("says how far an instance is without asking, and nothing of another life under the same id", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1, { at: 2000 })])
      assert.strictEqual(journal.local?.sequence(key, 2000), 0)
      assert.isUndefined(journal.local?.sequence(key, 1000))
    }).pipe(Effect.provide(MemoryStore.layer)),
  )
})
