/** Several processes on one store, clocks that are wrong, and a process that sleeps through its lease. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { underLoad } from "./Run.ts"

const hour = 3_600_000

describe("processes that share a store", () => {
  it.live("two on one SQLite file, writing to the same instances: conflicts are read again, nothing is lost or doubled", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const ran = yield* Effect.promise(() =>
        underLoad({ store: { _tag: "Sqlite", filename }, workers: 2 }, async ({ load }) => {
          await load.progress(150)
        }),
      )
      expect(ran.problems).toEqual([])
      expect(ran.accepted).toBeGreaterThan(100)
    }),
  )

  it.live("one that is frozen past its lease and woken is refused: nothing is doubled", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const ran = yield* Effect.promise(() =>
        underLoad(
          { store: { _tag: "Postgres", url }, workers: 2, worker: { lockMillis: 400 }, clients: 24 },
          async ({ load, workers, ask }) => {
            const [sleeper, other] = workers
            if (sleeper === undefined || other === undefined) return
            for (let round = 0; round < 4 && !(round > 1 && load.failures.includes("LockingFailed")); round++) {
              ask([sleeper])
              await load.progress()
              await sleep(30)
              sleeper.freeze()
              ask([other])
              // Its locks end, and the other process continues with its instances.
              await sleep(900)
              sleeper.thaw()
              await sleep(100)
            }
            ask(workers)
          },
        ),
      )
      expect(ran.problems).toEqual([])
      // Some senders got this error. That their events are not in the journal is checked with the other properties.
      expect(ran.failures).toContain("LockingFailed")
    }),
  )
})

describe("a clock that jumps", () => {
  it.live("by an hour, forth and back: timers fire once, and nothing is lost", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const ran = yield* Effect.promise(() =>
        underLoad({ store: { _tag: "Sqlite", filename }, clocksJump: true }, async ({ workers: [worker] }) => {
          for (const millis of [hour, -hour, -hour, hour, 2 * hour, -hour]) {
            await sleep(300)
            worker?.jump(millis)
          }
          await sleep(300)
          // Deadlines that were set in the future have passed by now.
          worker?.jump(3 * hour)
        }),
      )
      expect(ran.problems).toEqual([])
      expect(ran.fired).toBeGreaterThan(10)
    }),
  )
})
