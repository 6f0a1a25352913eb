/** Deadlines in memory: each fires once, when it is due, at the pace at which they can be taken. */
import { Environment } from "@detent/machine/internal"
import type { TimerRecord } from "@detent/store"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import type { Pace } from "../../src/runtime/GroupCommit.ts"
import { type DueTimer, TimerHeap } from "../../src/timers/TimerHeap.ts"
import { TimerScheduler } from "../../src/timers/TimerScheduler.ts"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const unpaced: Pace = { begin: () => undefined, turn: Effect.void, end: () => undefined }

const queueOf = (tell: (timers: ReadonlyArray<DueTimer>) => void, pace = unpaced) =>
  Effect.map(Effect.context<never>(), (context) => new TimerHeap(new Environment(context as Context.Context<unknown>), tell, pace))

const timersOf = (...timers: ReadonlyArray<TimerRecord>): ReadonlyMap<string, TimerRecord> =>
  new Map(timers.map((timer) => [timer.name, timer]))

const settle = Effect.forEach([1, 2, 3, 4, 5], () => Effect.yieldNow, { discard: true })

describe("timer queue", () => {
  it.effect.prop(
    "for any timers that are armed, replaced and cancelled: each that is due fires once, none early, the oldest first",
    [Schema.Array(Schema.Struct({ instance: whole(0, 4), names: whole(0, 3), offset: whole(0, 30), pass: whole(0, 12) }))],
    ([steps]) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const armed = new Map<string, Map<string, TimerRecord>>()
        const queue = yield* queueOf((due) => {
          const now = clock.currentTimeMillisUnsafe()
          due.forEach(({ name, timer }, index) => {
            assert.strictEqual(armed.get(name)?.get(timer.name)?.entry, timer.entry)
            assert.isAtMost(timer.due, now)
            assert.isAtLeast(timer.due, due[index - 1]?.timer.due ?? 0)
            armed.get(name)?.delete(timer.name)
          })
        })
        for (const [entry, { instance, names, offset, pass }] of steps.entries()) {
          const due = clock.currentTimeMillisUnsafe() + offset
          const timers = new Map<string, TimerRecord>()
          if (names & 1) timers.set("first", { name: "first", entry, due })
          if (names & 2) timers.set("second", { name: "second", entry, due: due + 1 })
          armed.set(`i-${instance}`, new Map(timers))
          queue.sync(`i-${instance}`, { machine: "m", id: `i-${instance}` }, timers)
          yield* TestClock.adjust(pass)
          yield* settle
          const left = [...armed.values()].flatMap((of) => [...of.values()])
          assert.isTrue(left.every((timer) => timer.due > clock.currentTimeMillisUnsafe()))
          assert.strictEqual(queue.size, left.length)
        }
      }),
  )

  it.effect("many that are due at once fire in portions that grow, when there is room for the next", () =>
    Effect.gen(function* () {
      const fired: Array<number> = []
      const room = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      const turn = Effect.suspend(() => Deferred.await(room[fired.length - 1] as Deferred.Deferred<void>))
      const pacing: Array<"begin" | "end"> = []
      const pace: Pace = { begin: () => pacing.push("begin"), turn, end: () => pacing.push("end") }
      const queue = yield* queueOf((due) => void fired.push(due.length), pace)
      for (let index = 0; index < 700; index++) {
        queue.sync(`i-${index}`, { machine: "m", id: `i-${index}` }, timersOf({ name: "t", entry: 0, due: 1000 }))
      }
      yield* TestClock.adjust(1000)
      yield* settle
      assert.deepStrictEqual(fired, [128])
      assert.isTrue(queue.isFiring)
      assert.deepStrictEqual(pacing, ["begin"])
      // A timer that is cancelled meanwhile does not fire.
      queue.sync("i-699", { machine: "m", id: "i-699" }, timersOf())
      yield* Deferred.succeed(room[0] as Deferred.Deferred<void>, undefined)
      yield* settle
      assert.deepStrictEqual(fired, [128, 256])
      yield* Deferred.succeed(room[1] as Deferred.Deferred<void>, undefined)
      yield* settle
      assert.deepStrictEqual(fired, [128, 256, 315])
      assert.isFalse(queue.isFiring)
      assert.deepStrictEqual(pacing, ["begin", "end"])
      assert.strictEqual(queue.size, 0)
    }),
  )

  it.effect("deadlines that are set and cancelled by the thousand leave nothing behind", () =>
    Effect.gen(function* () {
      const fired: Array<string> = []
      const queue = yield* queueOf((due) => void fired.push(...due.map(({ timer }) => timer.name)))
      const key = { machine: "m", id: "i" }
      for (let entry = 0; entry < 5000; entry++) queue.sync("i", key, timersOf({ name: `t-${entry}`, entry, due: 1000 + entry }))
      assert.strictEqual(queue.size, 1)
      yield* TestClock.adjust(10_000)
      yield* settle
      assert.deepStrictEqual(fired, ["t-4999"])
    }),
  )

  it.effect("a heap that is closed fires nothing more", () =>
    Effect.gen(function* () {
      const fired: Array<DueTimer> = []
      const queue = yield* queueOf((due) => void fired.push(...due))
      queue.sync("i", { machine: "m", id: "i" }, timersOf({ name: "t", entry: 0, due: 1000 }))
      queue.close()
      yield* TestClock.adjust(2000)
      yield* settle
      assert.deepStrictEqual(fired, [])
    }),
  )
})

describe("timer scheduler", () => {
  it.effect("15 of an instance that leaves memory while very many timers are armed, the far deadlines are left to the sweeper", () =>
    Effect.gen(function* () {
      const environment = new Environment((yield* Effect.context<never>()) as Context.Context<unknown>)
      // Neither store nor table is asked while nothing is due.
      const scheduler = new TimerScheduler({} as never, {} as never, environment, { pace: unpaced } as never, 60_000)
      const { heap } = scheduler
      const arm = (id: string) =>
        heap.sync(id, { machine: "m", id }, timersOf({ name: "near", entry: 0, due: 30_000 }, { name: "far", entry: 0, due: 90_000 }))
      for (let index = 0; index < 50_000; index++) arm(`i-${index}`)
      scheduler.forgetFar("i-7")
      assert.strictEqual(heap.size, 100_000)
      arm("one more")
      scheduler.forgetFar("i-7")
      assert.strictEqual(heap.size, 100_001)
      heap.close()
    }),
  )
})
