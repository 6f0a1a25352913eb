import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SharedResults } from "../../src/runtime/SharedResults.ts"

const cache = (most = 10) => Effect.map(Effect.scope, (scope) => new SharedResults<number, string>(scope, most))

/** Counts how often it is made. */
const counting = (make: (count: number) => Effect.Effect<number, string>) => {
  let count = 0
  return Effect.suspend(() => make(++count))
}

describe("shared results", () => {
  it.effect("are made once for all callers, also those that ask at the same time", () =>
    Effect.gen(function* () {
      const results = yield* cache()
      const make = counting((count) => Effect.as(Effect.yieldNow, count))
      const asked = [results.get("a", make), results.get("a", make), results.get("b", Effect.succeed(7))]
      assert.deepStrictEqual(yield* Effect.all(asked, { concurrency: "unbounded" }), [1, 1, 7])
      assert.strictEqual(yield* results.get("a", make), 1)
    }),
  )

  it.effect("are made to their end although the first caller leaves, for the others and for later ones", () =>
    Effect.gen(function* () {
      const results = yield* cache()
      const ready = Deferred.makeUnsafe<number>()
      const make = counting(() => Deferred.await(ready))
      const first = yield* Effect.forkChild(results.get("a", make), { startImmediately: true })
      const second = yield* Effect.forkChild(results.get("a", make), { startImmediately: true })
      yield* Fiber.interrupt(first)
      Deferred.doneUnsafe(ready, Effect.succeed(5))
      assert.strictEqual(yield* Fiber.join(second), 5)
      assert.strictEqual(yield* results.get("a", make), 5)
    }),
  )

  it.effect("are made again after a failure, a defect or an interruption", () =>
    Effect.gen(function* () {
      const results = yield* cache()
      const make = counting((count) =>
        count === 1 ? Effect.fail("not yet") : count === 2 ? Effect.die("broken") : count === 3 ? Effect.interrupt : Effect.succeed(count),
      )
      assert.strictEqual(yield* Effect.flip(results.get("a", make)), "not yet")
      for (let turn = 0; turn < 2; turn++) assert.strictEqual((yield* Effect.exit(results.get("a", make)))._tag, "Failure")
      assert.strictEqual(yield* results.get("a", make), 4)
    }),
  )

  it.effect("are dropped beyond their number, the least recently used first", () =>
    Effect.gen(function* () {
      const results = yield* cache(2)
      const one = counting(Effect.succeed)
      const two = counting(Effect.succeed)
      yield* results.get("one", one)
      yield* results.get("two", two)
      yield* results.get("one", one)
      yield* results.get("three", Effect.succeed(3))
      assert.deepStrictEqual([yield* results.get("one", one), yield* results.get("two", two)], [1, 2])
    }),
  )
})
