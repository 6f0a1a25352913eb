import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { type CircuitBreaker, makeCircuitBreaker, type Verdict } from "../../../src/extract/model/CallGuard.ts"

const judge = (exit: Exit.Exit<unknown, string>): Verdict =>
  Exit.isSuccess(exit) ? "works" : Exit.hasInterrupts(exit) ? "nothing" : { failing: "no answer" }

const fail = (breaker: CircuitBreaker) => Effect.exit(breaker.protect(Effect.fail("down"), judge))
const succeed = (breaker: CircuitBreaker) => breaker.protect(Effect.succeed("up"), judge)
const isRefused = (breaker: CircuitBreaker) =>
  Effect.map(Effect.flip(breaker.protect(Effect.fail("down"), judge)), (error) => typeof error !== "string")

const opened = Effect.gen(function* () {
  const breaker = yield* makeCircuitBreaker()
  yield* Effect.replicateEffect(fail(breaker), 5)
  return breaker
})

describe("the circuit breaker", () => {
  it.effect("opens after five failures in a row, not before", () =>
    Effect.gen(function* () {
      const breaker = yield* makeCircuitBreaker()
      yield* Effect.replicateEffect(fail(breaker), 4)
      yield* succeed(breaker)
      yield* Effect.replicateEffect(fail(breaker), 4)
      assert.strictEqual(yield* breaker.state, "closed")
      yield* fail(breaker)
      assert.strictEqual(yield* breaker.state, "open")
      const refused = yield* Effect.flip(succeed(breaker))
      assert.deepInclude(refused, { _tag: "CircuitOpen", retryAfterMillis: 30_000 })
      assert.include((yield* Effect.flip(breaker.check)).message, "the circuit breaker is open; try again in 30 s; last failure: no answer")
    }),
  )

  it.effect("lets three probes through after thirty seconds, and closes when all succeed", () =>
    Effect.gen(function* () {
      const breaker = yield* opened
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(yield* isRefused(breaker))
      yield* TestClock.adjust("1 second")
      const slow = breaker.protect(Effect.as(Effect.sleep("5 seconds"), "up"), judge)
      const probes = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(slow, { startImmediately: true }))
      assert.strictEqual(yield* breaker.state, "probing")
      assert.isTrue(yield* isRefused(breaker), "a fourth is not let through")
      yield* TestClock.adjust("5 seconds")
      yield* Effect.forEach(probes, Fiber.join)
      assert.strictEqual(yield* breaker.state, "closed")
    }),
  )

  it.effect("opens again when a probe fails", () =>
    Effect.gen(function* () {
      const breaker = yield* opened
      yield* TestClock.adjust("30 seconds")
      yield* succeed(breaker)
      yield* succeed(breaker)
      yield* fail(breaker)
      assert.strictEqual(yield* breaker.state, "open")
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(yield* isRefused(breaker))
      yield* TestClock.adjust("1 second")
      yield* Effect.replicateEffect(succeed(breaker), 3)
      assert.strictEqual(yield* breaker.state, "closed")
    }),
  )

  it.effect("gives the place of an interrupted probe to another", () =>
    Effect.gen(function* () {
      const breaker = yield* opened
      yield* TestClock.adjust("30 seconds")
      const probes = yield* Effect.forEach([1, 2, 3], () =>
        Effect.forkChild(breaker.protect(Effect.never, judge), { startImmediately: true }),
      )
      assert.isTrue(yield* isRefused(breaker))
      yield* Effect.forEach(probes, Fiber.interrupt)
      yield* Effect.replicateEffect(succeed(breaker), 3)
      assert.strictEqual(yield* breaker.state, "closed")
    }),
  )

  it.effect("does not count the end of a call that began before it opened", () =>
    Effect.gen(function* () {
      const breaker = yield* makeCircuitBreaker()
      const late = yield* Effect.forkChild(breaker.protect(Effect.delay(Effect.fail("down"), "31 seconds"), judge), {
        startImmediately: true,
      })
      yield* Effect.replicateEffect(fail(breaker), 5)
      yield* TestClock.adjust("30 seconds")
      yield* succeed(breaker)
      yield* TestClock.adjust("1 second")
      yield* Fiber.await(late)
      assert.strictEqual(yield* breaker.state, "probing")
    }),
  )

  const Step = Schema.Literals(["up", "down", "wait"])
  it.effect.prop(
    "never calls a service within thirty seconds of its fifth failure in a row",
    [Arbitrary.array(Arbitrary.schema(Step), { maxLength: 60 })],
    ([steps]) =>
      Effect.gen(function* () {
        const breaker = yield* makeCircuitBreaker()
        let now = 0
        let failures = 0
        let closedUntil = 0
        for (const step of steps) {
          if (step === "wait") {
            yield* TestClock.adjust("7 seconds")
            now += 7_000
            continue
          }
          let called = false
          const call = Effect.suspend(() => {
            called = true
            return step === "up" ? Effect.succeed("up") : Effect.fail("down")
          })
          yield* Effect.exit(breaker.protect(call, judge))
          assert.isTrue(!called || now >= closedUntil)
          if (!called) continue
          failures = step === "up" ? 0 : failures + 1
          if (failures >= 5) closedUntil = now + 30_000
        }
      }),
  )
})
