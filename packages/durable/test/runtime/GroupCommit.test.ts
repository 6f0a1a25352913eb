/** How commits gather while others are on their way to the store. */

import type { Commit, CommitOutcome, JournalService } from "@detent/store"
import { commit as commitOf, stored } from "@detent/store/testing/samples"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type CommitSource, GroupCommit } from "../../src/runtime/GroupCommit.ts"

/** A group commit over a store that answers a flush when the test says so. */
const held = Effect.gen(function* () {
  const flushes: Array<{ readonly size: number; readonly answer: Deferred.Deferred<void> }> = []
  const told: Array<CommitOutcome["_tag"] | "Unconfirmed"> = []
  const taken: Array<ReadonlyArray<string>> = []
  const commit = (commits: ReadonlyArray<Commit>) =>
    Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<void>()
      flushes.push({ size: commits.length, answer })
      taken.push(commits.map(({ id }) => id))
      return Effect.as(
        Deferred.await(answer),
        commits.map(() => stored),
      )
    })
  const context = yield* Effect.context<never>()
  const committer = new GroupCommit({ commit } as unknown as JournalService, Effect.runForkWith(context))
  const sources = (count: number, kind: string): ReadonlyArray<CommitSource> =>
    Array.from({ length: count }, (_, index) => ({
      takeCommit: () => commitOf({ machine: "m", id: `${kind}-${index}` }, 0),
      committed: ({ _tag }) => void told.push(_tag),
    }))
  const bring = (count: number) => {
    for (const one of sources(count, "brought")) committer.enqueue(one)
  }
  const fire = (count: number) => {
    for (const one of sources(count, "fired")) committer.enqueueFired(one)
  }
  const sizes = () => flushes.map(({ size }) => size)
  const answer = (index: number) => Deferred.succeed(flushes[index]?.answer as Deferred.Deferred<void>, undefined)
  return { committer, bring, fire, taken, sizes, answer, told }
})

const countOf = (ids: ReadonlyArray<string>) => ({
  brought: ids.filter((id) => id.startsWith("brought")).length,
  fired: ids.filter((id) => id.startsWith("fired")).length,
})

const settle = Effect.forEach([1, 2, 3, 4, 5], () => Effect.yieldNow, { discard: true })

describe("group commit", () => {
  it.effect("10 a source that cannot make its commit fails alone: the others of its flush are stored", () =>
    Effect.gen(function* () {
      const { bring, committer, sizes, answer, told } = yield* held
      const failed: Array<string> = []
      bring(2)
      committer.enqueue({
        takeCommit: () => {
          throw new Error("its state cannot be encoded")
        },
        committed: ({ _tag }) => void failed.push(_tag),
      })
      bring(2)
      yield* settle
      assert.deepStrictEqual(sizes(), [4])
      assert.deepStrictEqual(failed, ["PersistenceFailed"])
      yield* answer(0)
      yield* settle
      assert.deepStrictEqual(told, ["Stored", "Stored", "Stored", "Stored"])
    }),
  )

  it.effect("commits that arrive during a flush wait for the next flush, which they share", () =>
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

  it.effect("what timers led to lets others go first, and has half of each flush for itself", () =>
    Effect.gen(function* () {
      const { bring, fire, taken, answer } = yield* held
      bring(1)
      yield* settle
      fire(600)
      bring(400)
      yield* settle
      assert.deepStrictEqual(taken.splice(0).map(countOf), [
        { brought: 1, fired: 0 },
        { brought: 250, fired: 250 },
        { brought: 150, fired: 350 },
      ])
      bring(10)
      yield* settle
      yield* answer(0)
      yield* answer(1)
      yield* answer(2)
      yield* settle
      assert.deepStrictEqual(taken.map(countOf), [{ brought: 10, fired: 0 }])
    }),
  )

  it.effect("half a flush of what timers led to leaves beside others", () =>
    Effect.gen(function* () {
      const { fire, sizes } = yield* held
      fire(1)
      yield* settle
      fire(249)
      yield* settle
      assert.deepStrictEqual(sizes(), [1])
      fire(1)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 250])
    }),
  )

  it.effect("while timers are decided on, one flush is on its way at a time", () =>
    Effect.gen(function* () {
      const { committer, fire, sizes, answer } = yield* held
      committer.pace.begin()
      fire(2500)
      yield* settle
      assert.deepStrictEqual(sizes(), [500])
      yield* answer(0)
      yield* settle
      assert.deepStrictEqual(sizes(), [500, 500])
      committer.pace.end()
      yield* settle
      assert.deepStrictEqual(sizes(), [500, 500, 500, 500, 500])
    }),
  )

  it.effect("timers are decided ahead of the store until 25,000 wait, and then in the measure it takes them", () =>
    Effect.gen(function* () {
      const { committer, fire, sizes } = yield* held
      committer.pace.begin()
      fire(1)
      yield* settle
      fire(24_999)
      yield* committer.pace.turn
      fire(1)
      const turn = yield* Effect.forkChild(committer.pace.turn, { startImmediately: true })
      assert.isUndefined(turn.pollUnsafe())
      // With no room left there is nothing to decide on: another flush may leave.
      yield* Fiber.join(turn)
      yield* settle
      assert.deepStrictEqual(sizes(), [1, 500])
    }),
  )

  it.effect("tells whether what timers led to is still to be stored", () =>
    Effect.gen(function* () {
      const { committer, bring, fire, answer } = yield* held
      bring(1)
      yield* settle
      assert.isFalse(committer.isStoringFired)
      fire(1)
      assert.isTrue(committer.isStoringFired)
      yield* answer(0)
      yield* settle
      assert.isTrue(committer.isStoringFired)
      yield* answer(1)
      yield* settle
      assert.isFalse(committer.isStoringFired)
    }),
  )
})
