/**
 * Three processes in a cluster, under load, and what can happen to them. What was acknowledged is in the journal, nothing is there
 * twice, and nothing is left undone: proved from the tables.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { clusterNodes, lease, troubles } from "../crash/ClusterNodes.ts"
import { underLoad } from "../crash/Run.ts"

describe("nodes of a cluster under load", () => {
  it.live("killed with SIGKILL one after the other and started again", () =>
    Effect.gen(function* () {
      const options = yield* clusterNodes(yield* freshDatabase, 3)
      const ran = yield* Effect.promise(() =>
        underLoad(options, async ({ load, workers, replace }) => {
          for (const index of [0, 1, 2, 1]) {
            await load.progress(20)
            await workers[index]?.kill()
            await load.progress(20)
            await replace(index)
          }
        }),
      )
      expect(ran.problems).toEqual([])
      expect(ran.fired).toBeGreaterThan(5)
    }),
  )

  it.live("frozen for half a lease, one and a half and four leases", () =>
    Effect.gen(function* () {
      const options = yield* clusterNodes(yield* freshDatabase, 3)
      const ran = yield* Effect.promise(() =>
        underLoad(options, async ({ load, workers, ask }) => {
          for (const [index, leases] of [0.5, 1.5, 4].entries()) {
            const sleeper = workers[index]
            await load.progress(20)
            ask(workers.filter((worker) => worker !== sleeper))
            sleeper?.freeze()
            await sleep(leases * lease)
            sleeper?.thaw()
            ask(workers)
            await load.progress(20)
          }
        }),
      )
      expect(ran.problems).toEqual([])
    }),
  )

  it.live("restarted one after the other: no caller gets an error", () =>
    Effect.gen(function* () {
      const options = yield* clusterNodes(yield* freshDatabase, 3)
      const ran = yield* Effect.promise(() =>
        underLoad(options, async ({ load, workers, ask, replace }) => {
          for (const index of [0, 1, 2]) {
            await load.progress(20)
            const stopping = workers[index]
            ask(workers.filter((worker) => worker !== stopping))
            await sleep(100)
            await stopping?.stop()
            await replace(index)
            ask(workers)
          }
        }),
      )
      expect(ran.problems).toEqual([])
      expect(troubles(ran.failures)).toEqual([])
    }),
  )

  it.live("five that start at once on an empty database, with clocks an hour off", () =>
    Effect.gen(function* () {
      const options = yield* clusterNodes(yield* freshDatabase, 5)
      const ran = yield* Effect.promise(() =>
        underLoad({ ...options, clocksJump: true }, async ({ load, workers }) => {
          workers[0]?.jump(3_600_000)
          workers[1]?.jump(-3_600_000)
          await load.progress(100)
        }),
      )
      expect(ran.problems).toEqual([])
    }),
  )
})
