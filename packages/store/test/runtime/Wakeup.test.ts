/** The wake-up of a loop: by a call or by time, and no call is lost. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { Wakeup } from "../../src/runtime/Wakeup.ts"

describe("Wakeup", () => {
  it.effect("wakes a waiting fiber at once", () =>
    Effect.gen(function* () {
      const wakeup = new Wakeup()
      const waiting = yield* Effect.forkChild(wakeup.wait(Number.POSITIVE_INFINITY), { startImmediately: true })
      assert.isUndefined(waiting.pollUnsafe())
      wakeup.wake()
      assert.isTrue(yield* Fiber.join(waiting))
    }),
  )

  it.effect("keeps a call for the next wait, and only for that one", () =>
    Effect.gen(function* () {
      const wakeup = new Wakeup()
      wakeup.wake()
      wakeup.wake()
      assert.isTrue(yield* wakeup.wait(1_000))
      const second = yield* Effect.forkChild(wakeup.wait(1_000), { startImmediately: true })
      assert.isUndefined(second.pollUnsafe())
      yield* TestClock.adjust(1_000)
      assert.isFalse(yield* Fiber.join(second))
    }),
  )

  it.effect("does not end at once where the time is longer than one timer of the engine can wait", () =>
    Effect.gen(function* () {
      const wakeup = new Wakeup()
      const waiting = yield* Effect.forkChild(wakeup.wait(2 ** 40), { startImmediately: true })
      yield* TestClock.adjust(1_000)
      assert.isUndefined(waiting.pollUnsafe())
      wakeup.wake()
      assert.isTrue(yield* Fiber.join(waiting))
    }),
  )
})
