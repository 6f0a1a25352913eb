/** Laws of retry policies, rates and batch sizes, which decide when commands run. */
import { RetryPolicy } from "@detent/machine"
import type { DatabaseId } from "@detent/store/internal"
import { allowance, begun, opensIn, type Start } from "@detent/store/internal"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { engineConfig } from "../../src/engine/EngineConfig.ts"
import { nextSize } from "../../src/outbox/QueueState.ts"
import { workerConfig } from "../../src/outbox/WorkerConfig.ts"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

const delays = (policy: RetryPolicy.RetryPolicy, random = 0) => {
  const found: Array<number> = []
  for (let attempts = 1; ; attempts++) {
    const delay = RetryPolicy.delayAfter(policy, attempts, random)
    if (delay === undefined) return found
    found.push(delay)
  }
}

describe("124 retry policies", () => {
  it("as the spec has them: 1, 2, 4 … capped; times 1.5: 1, 1.5, 2.25; fixed; none", () => {
    assert.deepStrictEqual(delays(RetryPolicy.exponential()), [1000, 2000, 4000, 8000])
    assert.deepStrictEqual(delays(RetryPolicy.exponential({ maxDelay: "5 seconds", maxAttempts: 6 })), [1000, 2000, 4000, 5000, 5000])
    assert.deepStrictEqual(delays(RetryPolicy.exponential({ multiplier: 1.5, maxAttempts: 4 })), [1000, 1500, 2250])
    assert.deepStrictEqual(delays(RetryPolicy.fixed({ delay: "10 seconds", maxAttempts: 3 })), [10_000, 10_000])
    assert.deepStrictEqual(delays(RetryPolicy.none), [])
    assert.deepStrictEqual(delays(RetryPolicy.exponential({ jitter: 0.5, maxAttempts: 3 }), 1), [500, 1000])
  })

  it("the policy of commands, steps and timers without one of their own lasts about a day, and says so in words", () => {
    const pauses = delays(RetryPolicy.standard)
    const hours = pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000
    assert.isAtLeast(hours, 23)
    assert.isAtMost(hours, 26)
    assert.strictEqual(Math.max(...pauses), 3_600_000)
    assert.strictEqual(RetryPolicy.summary(RetryPolicy.standard), "36 attempts in about 1 day, with pauses of 1 second to 1 hour")
    assert.strictEqual(RetryPolicy.summary(RetryPolicy.none), "1 attempt")
    assert.strictEqual(
      RetryPolicy.summary(RetryPolicy.fixed({ delay: "10 seconds", maxAttempts: 4 })),
      "4 attempts in about 30 seconds, with pauses of 10 seconds",
    )
    assert.deepStrictEqual(workerConfig({}, "worker", { isShared: true, databaseId: "id" as DatabaseId }).retry, RetryPolicy.standard)
    assert.deepStrictEqual(engineConfig({}, "node").sweeper.retry, RetryPolicy.standard)
  })

  it("impossible policies are refused", () => {
    for (const bad of [
      () => RetryPolicy.fixed({ delay: 1, maxAttempts: 0 }),
      () => RetryPolicy.fixed({ delay: 1, maxAttempts: 1.5 }),
      () => RetryPolicy.fixed({ delay: Number.POSITIVE_INFINITY, maxAttempts: 2 }),
      () => RetryPolicy.exponential({ multiplier: 0.5 }),
      () => RetryPolicy.exponential({ jitter: 2 }),
      () => RetryPolicy.exponential({ maxAttempts: Number.NaN }),
    ])
      assert.throws(bad, /a retry policy with/)
  })

  const options = {
    initialDelay: whole(0, 10_000),
    maxDelay: whole(0, 100_000),
    multiplier: Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
    jitter: share,
    maxAttempts: whole(1, 12),
  }

  it.prop(
    "N attempts have N - 1 pauses; they grow, are capped, and jitter only shortens them",
    [Schema.Struct(options), share],
    ([given, random]) => {
      const policy = RetryPolicy.exponential(given)
      const steady = delays(policy, 0)
      assert.strictEqual(steady.length, given.maxAttempts - 1)
      assert.strictEqual(RetryPolicy.maxAttempts(policy), given.maxAttempts)
      steady.forEach((delay, index) => {
        assert.isAtMost(delay, given.maxDelay)
        assert.isAtLeast(delay, steady[index - 1] ?? 0)
        const expected = Math.min(given.maxDelay, given.initialDelay * given.multiplier ** index)
        assert.isAtMost(Math.abs(delay - expected), 1e-6 * Math.max(1, expected))
      })
      delays(policy, random).forEach((delay, index) => {
        assert.isAtMost(delay, (steady[index] ?? 0) + 1e-9)
        assert.isAtLeast(delay, (steady[index] ?? 0) * (1 - given.jitter) - 1e-9)
      })
    },
  )

  it.prop("a fixed policy pauses the same before every attempt but the first", [whole(0, 1e6), whole(1, 50)], ([delay, maxAttempts]) => {
    assert.deepStrictEqual(
      delays(RetryPolicy.fixed({ delay, maxAttempts }), 0.5),
      Array.from({ length: maxAttempts - 1 }, () => delay),
    )
  })
})

describe("126 rates", () => {
  const steps = Schema.Array(Schema.Struct({ pass: whole(0, 400), want: whole(1, 30) }))

  it.prop(
    "no interval, wherever it begins, sees more begin than the limit; and the list stays short",
    [steps, whole(1, 20), whole(1, 1000)],
    ([given, limit, intervalMillis]) => {
      const rate = { limit, intervalMillis }
      const began: Array<number> = []
      let starts: ReadonlyArray<Start> = []
      let now = 1_700_000_000_000
      for (const { pass, want } of given) {
        now += pass
        const count = Math.min(want, allowance(starts, rate, now))
        starts = begun(starts, rate, now, count)
        for (let index = 0; index < count; index++) began.push(now)
        assert.isAtMost(starts.length, 66)
      }
      for (const from of began)
        assert.isAtMost(
          began.filter((at) => at >= from && at < from + intervalMillis).length,
          limit,
          `within ${intervalMillis} ms from ${from}`,
        )
    },
  )

  it.prop("after the wait it tells there is room again", [steps, whole(1, 5), whole(1, 500)], ([given, limit, intervalMillis]) => {
    const rate = { limit, intervalMillis }
    let starts: ReadonlyArray<Start> = []
    let now = 0
    for (const { want } of given) {
      if (allowance(starts, rate, now) === 0) now += opensIn(starts, rate, now)
      const count = Math.min(want, allowance(starts, rate, now))
      assert.isAbove(count, 0)
      starts = begun(starts, rate, now, count)
    }
  })
})

describe("batch sizes", () => {
  it("grow while a full queue is worked off quickly, at most twofold, and shrink to the concurrency for slow commands", () => {
    assert.strictEqual(nextSize(16, { finished: 1000, millis: 10, isFull: true }, 16, 500), 32)
    assert.strictEqual(nextSize(400, { finished: 1000, millis: 10, isFull: true }, 16, 500), 500)
    assert.strictEqual(nextSize(400, { finished: 2, millis: 1000, isFull: true }, 16, 500), 16)
    assert.strictEqual(nextSize(64, { finished: 0, millis: 1000, isFull: false }, 16, 500), 64)
  })

  const pace = Schema.Struct({ finished: whole(0, 1e6), millis: whole(0, 1e6), isFull: Schema.Boolean })
  it.prop(
    "always a whole number within its bounds",
    [whole(1, 1000), pace, whole(1, 100), whole(100, 1000)],
    ([size, given, least, most]) => {
      const next = nextSize(size, given, least, most)
      assert.isTrue(Number.isSafeInteger(next) && next >= least && next <= most)
    },
  )
})
