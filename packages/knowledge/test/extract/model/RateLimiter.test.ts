import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { makeRateLimiter, type RateLimiter } from "../../../src/extract/model/CallGuard.ts"

interface Call {
  readonly index: number
  readonly at: number
  readonly end: number
  readonly tokens: number
}

/** Makes a call that lasts for a while and notes when it did. */
const make = (limiter: RateLimiter, calls: Array<Call>, index: number, tokens: number, millis: number) =>
  limiter.withPermit(tokens, () =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      yield* Effect.sleep(millis)
      calls.push({ index, at, end: yield* Clock.currentTimeMillis, tokens })
    }),
  )

/** Lets time pass, in small steps, until everything is done. */
const passTime = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.gen(function* () {
    for (let step = 0; step < 3000 && fiber.pollUnsafe() === undefined; step++) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

describe("the rate limiter", () => {
  it.effect("lets fifty requests start in a minute and no more", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ requestsPerMinute: 50 })
      const calls: Array<Call> = []
      const all = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 120 }), (_, index) => make(limiter, calls, index, 0, 100), { concurrency: "unbounded" }),
      )
      yield* passTime(all)
      const starting = (from: number, to: number) => calls.filter(({ at }) => at >= from && at < to).length
      assert.deepStrictEqual([starting(0, 60_000), starting(60_000, 120_000), starting(120_000, 180_000)], [50, 50, 20])
    }),
  )

  const Request = Schema.Struct({
    tokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    millis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 90_000 })),
    /** How long after the one before it comes. */
    after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 })),
  })
  const Limits = Schema.Struct({
    requestsPerMinute: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
    tokensPerMinute: Schema.Int.check(Schema.isBetween({ minimum: 1000, maximum: 4000 })),
    concurrency: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
  })

  it.effect.prop(
    "keeps to its limits in every minute, keeps the order, and loses nobody",
    { limits: Limits, requests: Arbitrary.array(Arbitrary.schema(Request), { minLength: 1, maxLength: 25 }) },
    ({ limits, requests }) =>
      Effect.gen(function* () {
        const limiter = yield* makeRateLimiter(limits)
        const calls: Array<Call> = []
        const all = yield* Effect.forkChild(
          Effect.gen(function* () {
            const fibers: Array<Fiber.Fiber<void, unknown>> = []
            for (const [index, { tokens, millis, after }] of requests.entries()) {
              yield* Effect.sleep(after)
              fibers.push(yield* Effect.forkChild(make(limiter, calls, index, tokens, millis), { startImmediately: true }))
            }
            yield* Effect.forEach(fibers, Fiber.join)
          }),
        )
        yield* passTime(all)
        assert.strictEqual(calls.length, requests.length)
        const started = calls.toSorted((a, b) => a.at - b.at || a.index - b.index)
        assert.deepStrictEqual(
          started.map(({ index }) => index),
          requests.map((_, index) => index),
        )
        for (const { at } of started) {
          const minute = started.filter((other) => other.at > at - 60_000 && other.at <= at)
          assert.isAtMost(minute.length, limits.requestsPerMinute)
          assert.isAtMost(
            minute.reduce((sum, { tokens }) => sum + tokens, 0),
            limits.tokensPerMinute,
          )
          assert.isAtMost(started.filter((other) => other.at <= at && other.end > at).length, limits.concurrency)
        }
      }),
    { arbitrary: { runs: 40 } },
  )

  it.effect("counts what a call really took", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ tokensPerMinute: 1000 })
      yield* limiter.withPermit(900, (permit) => permit.settle(100))
      yield* limiter.withPermit(900, () => Effect.void)
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      const waiting = yield* Effect.forkChild(
        limiter.withPermit(1, () => Effect.void),
        { startImmediately: true },
      )
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
    }),
  )

  it.effect("takes a call back that was not made", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ requestsPerMinute: 1 })
      yield* limiter.withPermit(0, (permit) => permit.refund)
      yield* limiter.withPermit(0, () => Effect.void)
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }),
  )

  it.effect("lets nobody call while the provider asks for peace", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ concurrency: 2 })
      yield* limiter.pause(20_000)
      yield* limiter.pause(5_000)
      const calls: Array<Call> = []
      const all = yield* Effect.forkChild(Effect.all([make(limiter, calls, 0, 0, 0), make(limiter, calls, 1, 0, 0)], { concurrency: 2 }))
      yield* passTime(all)
      assert.deepStrictEqual(
        calls.map(({ at }) => at),
        [20_000, 20_000],
      )
    }),
  )

  it.effect("gives back the place of a caller who left", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ concurrency: 1, requestsPerMinute: 2 })
      const first = yield* Effect.forkChild(
        limiter.withPermit(0, () => Effect.never),
        { startImmediately: true },
      )
      const second = yield* Effect.forkChild(
        limiter.withPermit(0, () => Effect.never),
        { startImmediately: true },
      )
      const third = yield* Effect.forkChild(
        limiter.withPermit(0, () => Effect.succeed("done")),
        { startImmediately: true },
      )
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* Fiber.join(third), "done")
    }),
  )

  it.effect("gives a place back when a call fails or is interrupted while it waits for its minute", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ concurrency: 1, requestsPerMinute: 1 })
      assert.strictEqual(yield* Effect.flip(limiter.withPermit(0, () => Effect.fail("no"))), "no")
      const waiting = yield* Effect.forkChild(
        limiter.withPermit(0, () => Effect.void),
        { startImmediately: true },
      )
      assert.isTrue(Exit.isFailure(yield* Fiber.interrupt(waiting).pipe(Effect.andThen(Fiber.await(waiting)))))
      const next = yield* Effect.forkChild(
        limiter.withPermit(0, () => Effect.succeed("done")),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(next), "done")
    }),
  )

  it.effect("refuses at once what could never fit", () =>
    Effect.gen(function* () {
      const limiter = yield* makeRateLimiter({ tokensPerMinute: 1000 })
      const refused = yield* Effect.flip(limiter.withPermit(1001, () => Effect.void))
      assert.include(refused.message, "make the chunks smaller or raise the limit")
    }),
  )
})
