import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { ExtractionFailed } from "../../../src/extract/Extractor.ts"
import { type Answered, type GuardOptions, makeCallGuard, waitAfter } from "../../../src/extract/model/CallGuard.ts"
import { type BudgetLimits, makeBudget } from "../../../src/extract/model/Cost.ts"

const failure = (reason: ExtractionFailed["reason"], retryable: boolean, retryAfterMillis?: number) =>
  new ExtractionFailed({
    extractor: "test/model",
    reason,
    retryable,
    detail: reason,
    ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
  })

const answered = (tokens = 10): Answered<string> => ({ tokens: { inputTokens: tokens, outputTokens: 0 }, answer: Result.succeed("answer") })

/** Answers with these in turn, noting when it was asked. */
const service = (...outcomes: ReadonlyArray<ExtractionFailed | Answered<string> | "hang">) => {
  const times: Array<number> = []
  const call: Effect.Effect<Answered<string>, ExtractionFailed> = Effect.gen(function* () {
    const outcome = outcomes[times.length] ?? answered()
    times.push(yield* Clock.currentTimeMillis)
    if (outcome === "hang") return yield* Effect.never
    if (outcome instanceof ExtractionFailed) return yield* outcome
    return outcome
  })
  return { call, times }
}

const most = { inputTokens: 50, outputTokens: 50 }

const guard = (options: Partial<GuardOptions> = {}, limits: BudgetLimits = {}) =>
  Effect.flatMap(makeBudget(limits), (budget) =>
    Effect.map(
      makeCallGuard({
        extractor: "test/model",
        price: { model: "model", input: 1, output: 1, asOf: "2026" },
        budget,
        limits: {},
        ...options,
      }),
      (guard) => ({ ...guard, budget }),
    ),
  )

const passing = <A, E>(effect: Effect.Effect<A, E>, minutes = 10) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let second = 0; second < minutes * 60 && fiber.pollUnsafe() === undefined; second++) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

describe("a guarded call", () => {
  it.effect("tries again what can succeed, and counts the tokens of every attempt", () =>
    Effect.gen(function* () {
      const guarded = yield* guard()
      const malformed: Answered<string> = { tokens: { inputTokens: 7, outputTokens: 3 }, answer: Result.fail(failure("Malformed", true)) }
      const { call, times } = service(failure("Unavailable", true), malformed)
      const { answer, usage } = yield* passing(guarded.call(most, call))
      assert.strictEqual(answer, "answer")
      assert.strictEqual(times.length, 3)
      assert.deepStrictEqual(usage, { calls: 2, inputTokens: 17, outputTokens: 3, cost: 20 / 1_000_000 })
      assert.deepStrictEqual(yield* guarded.budget.spent, usage)
    }),
  )

  it.effect("does not try again what cannot succeed", () =>
    Effect.gen(function* () {
      for (const reason of ["Refused", "NotAllowed", "TooLong", "Bug"] as const) {
        const { call, times } = service(failure(reason, false))
        const error = yield* Effect.flip(passing((yield* guard()).call(most, call)))
        assert.strictEqual(error.reason, reason)
        assert.strictEqual(times.length, 1)
      }
    }),
  )

  it.effect("gives up after the last attempt with the last error", () =>
    Effect.gen(function* () {
      const { call, times } = service(...Array.from({ length: 9 }, () => failure("Malformed", true)))
      const error = yield* Effect.flip(passing((yield* guard()).call(most, call)))
      assert.strictEqual(error.reason, "Malformed")
      assert.strictEqual(times.length, 5)
    }),
  )

  it.effect("waits as long as the provider asks, and so does everybody else", () =>
    Effect.gen(function* () {
      const guarded = yield* guard()
      const { call, times } = service(failure("RateLimited", true, 45_000))
      const other = service()
      yield* passing(
        Effect.all([guarded.call(most, call), Effect.delay(guarded.call(most, other.call), "2 seconds")], { concurrency: "unbounded" }),
      )
      assert.strictEqual(times[0], 0)
      assert.isAtLeast(times[1] ?? 0, 45_000)
      assert.isAtLeast(other.times[0] ?? 0, 45_000)
    }),
  )

  it.effect("does not wait forever", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({ timeout: "20 seconds", retry: { attempts: 2, firstWait: "1 second", longestWait: "1 second" } })
      const { call, times } = service("hang", "hang")
      const error = yield* Effect.flip(passing(guarded.call(most, call)))
      assert.deepInclude(error, { reason: "TimedOut", retryable: true })
      assert.include(error.message, "no answer within 20s")
      assert.strictEqual(times.length, 2)
    }),
  )

  it.effect("leaves a failing service alone and comes back when it works", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({ retry: { attempts: 8, firstWait: "1 second", longestWait: "2 seconds" } })
      const { call, times } = service(...Array.from({ length: 5 }, () => failure("Overloaded", true)))
      yield* passing(guarded.call(most, call))
      assert.strictEqual(times.length, 6)
      assert.isAtLeast((times[5] ?? 0) - (times[4] ?? 0), 30_000)
      assert.strictEqual(yield* guarded.breaker.state, "probing")
    }),
  )

  it.effect("does not take refusals and rate limits for an outage", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({ retry: { attempts: 1, firstWait: "1 second", longestWait: "1 second" } })
      for (let round = 0; round < 20; round++) {
        const reason = round % 2 === 0 ? "Refused" : "RateLimited"
        yield* Effect.exit(passing(guarded.call(most, service(failure(reason, false)).call)))
      }
      assert.strictEqual(yield* guarded.breaker.state, "closed")
    }),
  )

  it.effect("takes no place in the minute for a call that the breaker held back", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({ limits: { requestsPerMinute: 6 }, retry: { attempts: 1, firstWait: 0, longestWait: 0 } })
      const down = service(...Array.from({ length: 5 }, () => failure("Unavailable", true)))
      for (let round = 0; round < 8; round++) yield* Effect.exit(guarded.call(most, down.call))
      assert.strictEqual(down.times.length, 5)
      yield* TestClock.adjust("30 seconds")
      const up = service()
      yield* guarded.call(most, up.call)
      assert.deepStrictEqual(up.times, [30_000])
    }),
  )

  it.effect("stops when the budget is used up, and says so", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({}, { tokens: 150 })
      const { call, times } = service(answered(90))
      yield* guarded.call(most, call)
      const error = yield* Effect.flip(guarded.call(most, call))
      assert.deepInclude(error, { reason: "NotAllowed", retryable: false })
      assert.include(error.message, "the budget of 150 tokens is used up: 90 spent, 100 needed")
      assert.strictEqual((error.cause as { readonly _tag?: string })._tag, "BudgetExhausted")
      assert.strictEqual(times.length, 1)
    }),
  )

  it.effect("does not count for more when it is run twice", () =>
    Effect.gen(function* () {
      const call = (yield* guard()).call(most, service().call)
      yield* call
      assert.strictEqual((yield* call).usage.calls, 1)
    }),
  )

  it.effect("says so when a call is larger than a minute allows", () =>
    Effect.gen(function* () {
      const guarded = yield* guard({ limits: { tokensPerMinute: 99 } })
      assert.deepInclude(yield* Effect.flip(guarded.call(most, service().call)), { reason: "TooLong", retryable: false })
    }),
  )
})

describe("waits between attempts", () => {
  const policy = { attempts: 9, firstWait: "1 second", longestWait: "1 minute" } as const
  const chance = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
  const number = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))

  it.prop("double, are spread over their second half, and have a longest", [number, chance], ([attempt, luck]) => {
    const whole = Math.min(60_000, 1000 * 2 ** (attempt - 1))
    const wait = waitAfter(policy, attempt, luck)
    assert.isAtLeast(wait, whole / 2)
    assert.isAtMost(wait, whole)
    assert.isAtLeast(waitAfter(policy, attempt + 1, luck), wait)
  })
})
