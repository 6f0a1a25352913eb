import type { ClaimedTimer } from "@detent/store"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { type Outcome, TimerSweep, type TimerSweepOptions } from "../../src/timers/TimerSweep.ts"

/** Timers in memory: those that are due are claimed in the order of their deadlines. */
const sweeping = (dues: Array<number>, options: Partial<TimerSweepOptions> = {}) =>
  Effect.gen(function* () {
    const claims: Array<{ readonly at: number; readonly dues: ReadonlyArray<number> }> = []
    const timerOf = (due: number): ClaimedTimer => ({ machine: "order", id: `${due}`, name: "late", entry: 1, due, attempts: 1 })
    const sweep = new TimerSweep({
      claim: Effect.map(Clock.currentTimeMillis, (at) => {
        const due = dues.filter((one) => one <= at).sort((left, right) => left - right)
        const claimed = due.slice(0, 2)
        for (const one of claimed) dues.splice(dues.indexOf(one), 1)
        claims.push({ at, dues: claimed })
        return { timers: claimed.map(timerOf), overtaken: 0 }
      }),
      fire: () => Effect.succeed("fired"),
      claimMillis: 1000,
      batchSize: 2,
      nextDue: Effect.map(Clock.currentTimeMillis, (at) => (dues.length === 0 ? Option.none() : Option.some(Math.min(...dues) - at))),
      longestPause: () => Effect.succeed(5000),
      retryMillis: 0,
      ...options,
    })
    yield* Effect.forkChild(Effect.forever(sweep.turn), { startImmediately: true })
    return { sweep, claims, nonEmpty: () => claims.filter(({ dues }) => dues.length > 0) }
  })

describe("a timer sweep", () => {
  it.effect("fires what is overdue in full batches without a pause, then sleeps until the next deadline", () =>
    Effect.gen(function* () {
      const { claims } = yield* sweeping([-3, -1, -2, 400])
      yield* TestClock.adjust(399)
      assert.deepStrictEqual(claims, [
        { at: 0, dues: [-3, -2] },
        { at: 0, dues: [-1] },
      ])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(claims.at(-1), { at: 400, dues: [400] })
    }),
  )

  it.effect("sleeps no longer than its longest pause, and wakes for a timer that is set meanwhile and due earlier", () =>
    Effect.gen(function* () {
      const dues: Array<number> = []
      const { claims, sweep, nonEmpty } = yield* sweeping(dues)
      yield* TestClock.adjust(5000)
      assert.deepStrictEqual(
        claims.map(({ at }) => at),
        [0, 5000],
      )
      dues.push(5100)
      sweep.wakeBy(5100)
      dues.push(20_000)
      sweep.wakeBy(20_000)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(nonEmpty(), [{ at: 5100, dues: [5100] }])
    }),
  )

  it.effect("tries timers that failed again after a pause, and does not wait for one that hangs beyond its claim", () =>
    Effect.gen(function* () {
      const dues = [0]
      const outcomes: Array<Effect.Effect<Outcome>> = [
        Effect.sync(() => {
          dues.push(0)
          return "failed"
        }),
        Effect.never,
      ]
      const { nonEmpty } = yield* sweeping(dues, { retryMillis: 300, fire: () => outcomes.shift() ?? Effect.succeed("fired") })
      yield* TestClock.adjust(299)
      assert.deepStrictEqual(nonEmpty(), [{ at: 0, dues: [0] }])
      yield* TestClock.adjust(1)
      assert.strictEqual(nonEmpty().length, 2)
      dues.push(500)
      yield* TestClock.adjust(1300)
      assert.deepStrictEqual(nonEmpty().at(-1), { at: 1600, dues: [500] })
    }),
  )
})
