import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { forkLoop, LoopHealth } from "../../src/runtime/BackgroundLoop.ts"

/** Runs a test with a health of its own. */
const withHealth = <A, E, R>(test: (health: ReturnType<typeof LoopHealth.make>) => Effect.Effect<A, E, R>) => {
  const health = LoopHealth.make()
  return Effect.provideService(test(health), LoopHealth, health)
}

describe("a background loop", () => {
  it.effect("147 survives defects, is listed as down meanwhile, and works again", () =>
    withHealth((health) =>
      Effect.gen(function* () {
        let [turns, isBroken] = [0, true]
        yield* forkLoop(
          "the sweep",
          Effect.suspend(() => {
            turns++
            return isBroken ? Effect.die(new Error("no such table")) : Effect.sleep("1 second")
          }),
        )
        yield* TestClock.adjust("30 seconds")
        const [outage] = health.outages()
        assert.deepStrictEqual([outage?.name, outage?.problem, outage?.since, outage?.failures], ["the sweep", "no such table", 0, turns])
        assert.isBelow(turns, 20)
        isBroken = false
        yield* TestClock.adjust("12 seconds")
        assert.deepStrictEqual(health.outages(), [])
      }),
    ),
  )

  it.effect("147 logs one warning per outage of the store, in one line; the stack trace is in the debug log", () =>
    withHealth((health) =>
      Effect.gen(function* () {
        const logged: Array<readonly [level: string, message: ReadonlyArray<unknown>, cause: Cause.Cause<unknown>]> = []
        const logger = Logger.make<unknown, void>(({ logLevel, message, cause }) => void logged.push([logLevel, [message].flat(), cause]))
        let isAway = true
        const away = new PersistenceFailed({
          machine: "store",
          operation: "claim",
          cause: new Error("Query failed", { cause: new Error("no route\n  to host") }),
        })
        yield* Effect.provide(
          forkLoop(
            "the sweep",
            Effect.suspend(() => (isAway ? Effect.fail(away) : Effect.sleep("1 second"))),
          ),
          Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug")),
        )
        yield* TestClock.adjust("30 seconds")
        assert.isAbove(health.outages()[0]?.failures ?? 0, 3)
        isAway = false
        yield* TestClock.adjust("30 seconds")
        const line = "the sweep failed and is tried again until it succeeds: store: claim failed: Query failed: no route to host"
        const warnings = logged.filter(([level]) => level === "Warn")
        assert.deepStrictEqual(warnings, [["Warn", [line], Cause.empty]])
        const [[, [detail], cause] = ["", [], undefined]] = logged.filter(([level]) => level === "Debug")
        assert.match(String(detail), /^the sweep failed: store: claim failed: Query failed: no route to host\n +at /)
        assert.deepStrictEqual(cause, Cause.empty)
      }),
    ),
  )

  it.effect("logs a defect with its causes and stack frames, and neither the fields of the error nor the password of an address", () =>
    Effect.gen(function* () {
      const logged: Array<readonly [message: unknown, cause: Cause.Cause<unknown>]> = []
      const logger = Logger.make<unknown, void>(({ message, cause }) => void logged.push([[message].flat(), cause]))
      const cause = new Error("cannot read postgres://detent:sesame@db/detent")
      const defect = Object.assign(new Error("the driver is broken", { cause }), { password: "sesame" })
      yield* Effect.provide(forkLoop("the sweep", Effect.die(defect)), Logger.layer([logger]))
      yield* TestClock.adjust("0 seconds")
      const [[[line], empty] = [[], undefined]] = logged as ReadonlyArray<readonly [ReadonlyArray<unknown>, Cause.Cause<unknown>]>
      assert.match(String(line), /the driver is broken: cannot read postgres:\/\/detent:•••@db\/detent\n +at .*BackgroundLoop\.test\.ts/)
      assert.deepStrictEqual(empty, Cause.empty)
    }),
  )

  it.effect("147 whose turn does not end is no longer listed as down once the turn reports that it works", () =>
    withHealth((health) =>
      Effect.gen(function* () {
        let attempts = 0
        yield* forkLoop("the lease", (works) =>
          Effect.suspend(() => (attempts++ === 0 ? Effect.fail("the store is away") : Effect.andThen(works, Effect.never))),
        )
        yield* TestClock.adjust("0 seconds")
        assert.deepStrictEqual(
          health.outages().map(({ problem }) => problem),
          ["the store is away"],
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(health.outages(), [])
      }),
    ),
  )
})
