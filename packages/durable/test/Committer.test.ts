/** How commits gather while others are on their way to the store. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Commit, CommitOutcome } from "../src/Commit.ts"
import { Committer, type Committing } from "../src/Committer.ts"
import type { JournalService } from "../src/Journal.ts"
import { commit as commitOf, stored } from "../src/testing/samples.ts"

/** A committer over a store that answers a flush when it is told to. */
const held = Effect.gen(function* () {
  const flushes: Array<{ readonly size: number; readonly answer: Deferred.Deferred<void> }> = []
  const told: Array<CommitOutcome["_tag"] | "Doubtful"> = []
  const commit = (commits: ReadonlyArray<Commit>) =>
    Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<void>()
      flushes.push({ size: commits.length, answer })
      return Effect.as(
        Deferred.await(answer),
        commits.map(() => stored),
      )
    })
  const context = yield* Effect.context<never>()
  const committer = new Committer({ commit } as unknown as JournalService, Effect.runForkWith(context))
  const bring = (count: number) => {
    for (let index = 0; index < count; index++) {
      const one: Committing = {
        takeCommit: () => commitOf({ machine: "m", id: `i-${index}` }, 0),
        committed: ({ _tag }) => void told.push(_tag),
      }
      committer.enqueue(one)
    }
  }
  const sizes = () => flushes.map(({ size }) => size)
  const answer = (index: number) => Deferred.succeed(flushes[index]?.answer as Deferred.Deferred<void>, undefined)
  return { committer, bring, sizes, answer, told }
})

const settle = Effect.forEach([1, 2, 3, 4, 5], () => Effect.yieldNow, { discard: true })

describe("group commit", () => {
  it.effect("whoever comes while a flush is on its way waits for the next, and all of them share that", () =>
    Effect.gen(function* () {
      const { bring, sizes, answer, told, committer } = yield* held
      bring(3)
      yield* settle
      bring(20)
      bring(30)
      yield* settle
      assert.deepStrictEqual(sizes(), [3])
      yield* answer(0)
      yield* settle
      assert.deepStrictEqual(sizes(), [3, 50])
      assert.deepStrictEqual(told, ["Stored", "Stored", "Stored"])
      yield* answer(1)
      yield* settle
      assert.strictEqual(told.length, 53)
      assert.isTrue(committer.isIdle)
    }),
  )

  it.effect("up to four flushes are on their way at once, but only full ones leave beside others", () =>
    Effect.gen(function* () {
      const { bring, sizes, answer, told, committer } = yield* held
      bring(1)
      yield* settle
      bring(499)
      yield* settle
      assert.deepStrictEqual(sizes(), [1])
      bring(1)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 500])
      bring(1700)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 500, 500, 500])
      yield* answer(1)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 500, 500, 500, 500])
      for (const index of [0, 2, 3, 4]) yield* answer(index)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 500, 500, 500, 500, 200])
      yield* answer(5)
      yield* settle
      assert.strictEqual(told.length, 2201)
      assert.isTrue(committer.isIdle)
    }),
  )

  it.effect("whoever has many to bring gets a turn with every flush, however many others wait", () =>
    Effect.gen(function* () {
      const { committer, bring, answer } = yield* held
      yield* committer.turn
      bring(3000)
      yield* settle
      const turn = yield* Effect.forkChild(committer.turn, { startImmediately: true })
      yield* settle
      assert.isUndefined(turn.pollUnsafe())
      yield* answer(0)
      yield* Fiber.join(turn)
    }),
  )
})
