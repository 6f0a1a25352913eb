/**
 * Nodes of a cluster under load, and what can happen to them, to the lines between them and to their database. What was acknowledged
 * is in the journal, nothing is there twice, and nothing is left undone: proved from the tables. `npm run soak -- cluster` is longer.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { startRestartable } from "../../../store/test/support/RestartableServer.ts"
import { clusterNodes, clusterNodesBehindProxies, lease, troubles } from "./ClusterNodes.ts"
import { underLoad } from "./Run.ts"

const hour = 3_600_000

describe("nodes of a cluster under load", () => {
  it.live("with clocks an hour off, and lines between them that are cut; one joins, and others are stopped: no caller gets an error", () =>
    Effect.gen(function* () {
      const { options, proxies } = yield* clusterNodesBehindProxies(yield* freshDatabase, 2)
      const ran = yield* Effect.promise(() =>
        underLoad({ ...options, clocksJump: true }, async ({ load, workers, ask, replace }) => {
          workers[0]?.jump(-hour)
          await load.progress(20)
          for (const cut of [proxies.slice(0, 1), proxies]) {
            for (const proxy of cut) proxy.block()
            await sleep(lease / 2)
            for (const proxy of cut) proxy.unblock()
            await load.progress(20)
          }
          const joined = await replace(2)
          joined.jump(hour)
          ask(workers)
          await load.progress(50)
          for (const index of [0, 1]) {
            const stopping = workers[index]
            ask(workers.filter((worker) => worker !== stopping))
            await sleep(100)
            await stopping?.stop()
            await load.progress(20)
          }
        }),
      )
      expect(ran.problems).toEqual([])
      expect(troubles(ran.failures)).toEqual([])
    }),
  )

  it.live("PostgreSQL restarted, and a node that hangs in a loop: callers get an answer or a clear failure, and the nodes continue", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startRestartable()),
        (server) => Effect.promise(() => server.remove()),
      )
      const options = yield* clusterNodes(server.url, 2)
      const ran = yield* Effect.promise(() =>
        underLoad(options, async ({ load, workers }) => {
          // Within the lease, and past it.
          for (const down of [100, 1.5 * lease]) {
            await load.progress(20)
            await server.stop()
            await sleep(down)
            await server.start()
            await load.progress(20)
          }
          workers[1]?.block(1.5 * lease)
          await sleep(1.5 * lease)
          await load.progress(20)
        }),
      )
      expect(ran.problems).toEqual([])
      expect(troubles(ran.failures).filter((failure) => failure !== "PersistenceFailed")).toEqual([])
    }),
  )
})
