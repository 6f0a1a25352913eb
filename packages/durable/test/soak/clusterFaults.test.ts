/**
 * Nodes of a cluster under load, and what can happen to them, to the lines between them and to their database. What was acknowledged
 * is in the journal, nothing is there twice, and nothing is left undone: proved from the tables.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { clusterNodes, clusterNodesBehindProxies, lease, proxyTo, troubles } from "../crash/ClusterNodes.ts"
import { underLoad } from "../crash/Run.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { startRestartable } from "../support/RestartableServer.ts"

describe("nodes of a cluster under load", () => {
  it.live(
    "one of two hangs for longer than its lease, frozen and then in a loop: the other takes over, and what is stale is refused",
    () =>
      Effect.gen(function* () {
        const options = yield* clusterNodes(yield* freshDatabase, 2)
        const ran = yield* Effect.promise(() =>
          underLoad(options, async ({ load, workers, ask }) => {
            const [sleeper, other] = workers
            if (sleeper === undefined || other === undefined) return
            await load.progress(20)
            ask([other])
            sleeper.freeze()
            await sleep(1.5 * lease)
            sleeper.thaw()
            ask(workers)
            await load.progress(20)
            other.block(1.5 * lease)
            await sleep(1.5 * lease)
            await load.progress(20)
          }),
        )
        expect(ran.problems).toEqual([])
        expect(troubles(ran.failures)).toEqual([])
      }),
    60_000,
  )

  it.live(
    "nodes that do not reach each other: requests wait until they do, and no caller gets an error",
    () =>
      Effect.gen(function* () {
        const { options, proxies } = yield* clusterNodesBehindProxies(yield* freshDatabase, 3)
        const ran = yield* Effect.promise(() =>
          underLoad(options, async ({ load }) => {
            await load.progress(20)
            for (const cut of [proxies.slice(0, 1), proxies]) {
              for (const proxy of cut) proxy.block()
              await sleep(lease / 2)
              for (const proxy of cut) proxy.unblock()
              await load.progress(20)
            }
          }),
        )
        expect(ran.problems).toEqual([])
        expect(troubles(ran.failures)).toEqual([])
      }),
    60_000,
  )

  it.live(
    "a node that does not reach the database loses what it has to the others, and takes part again when it does",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const options = yield* clusterNodes(url, 3)
        const proxy = yield* proxyTo(url)
        const through = { store: { _tag: "Postgres" as const, url: proxy.url } }
        const each = (index: number) => ({ ...options.each(index), ...(index === 0 ? through : {}) })
        const ran = yield* Effect.promise(() =>
          underLoad({ ...options, each }, async ({ load, workers, ask }) => {
            await load.progress(20)
            ask(workers.slice(1))
            proxy.block()
            await sleep(1.5 * lease)
            // What the others took over works there.
            await load.progress(50)
            proxy.unblock()
            ask(workers)
            await load.progress(50)
          }),
        )
        expect(ran.problems).toEqual([])
      }),
    60_000,
  )

  it.live(
    "PostgreSQL restarted: callers get an answer or a clear failure, and the nodes continue",
    () =>
      Effect.gen(function* () {
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => startRestartable()),
          (server) => Effect.promise(() => server.remove()),
        )
        const options = yield* clusterNodes(server.url, 2)
        const ran = yield* Effect.promise(() =>
          underLoad(options, async ({ load }) => {
            // Within the lease, and past it.
            for (const down of [100, 1.5 * lease]) {
              await load.progress(20)
              await server.stop()
              await sleep(down)
              await server.start()
              await load.progress(20)
            }
          }),
        )
        expect(ran.problems).toEqual([])
        expect(troubles(ran.failures).filter((failure) => failure !== "PersistenceFailed")).toEqual([])
      }),
    60_000,
  )

  it.live(
    "a node joins, and the others are stopped one after the other: no caller gets an error",
    () =>
      Effect.gen(function* () {
        const options = yield* clusterNodes(yield* freshDatabase, 2)
        const ran = yield* Effect.promise(() =>
          underLoad(options, async ({ load, workers, ask, replace }) => {
            await load.progress(20)
            await replace(2)
            ask(workers)
            await load.progress(20)
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
    60_000,
  )
})
