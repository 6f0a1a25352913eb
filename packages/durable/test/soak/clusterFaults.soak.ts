/** Nodes of a cluster of which one is killed, one frozen and one cut off, one after the other under one load. Proved from the tables. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { clusterNodes, lease, proxyTo } from "../crash/ClusterNodes.ts"
import { underLoad } from "../crash/Run.ts"

describe("nodes of a cluster under load", () => {
  it.live(
    "one killed, one frozen and one cut off from the database for longer than their leases: others take over, and what is stale is refused",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const options = yield* clusterNodes(url, 3)
        const proxy = yield* proxyTo(url)
        const through = { store: { _tag: "Postgres" as const, url: proxy.url } }
        const each = (index: number) => ({ ...options.each(index), ...(index === 0 ? through : {}) })
        const ran = yield* Effect.promise(() =>
          underLoad({ ...options, each }, async ({ load, workers, ask, replace }) => {
            const without = (index: number) => ask(workers.filter((worker) => worker !== workers[index]))
            await load.progress(20)
            await workers[1]?.kill()
            // What it had works on the others.
            await load.progress(50)
            await replace(1)
            without(2)
            workers[2]?.freeze()
            await sleep(1.5 * lease)
            await load.progress(50)
            workers[2]?.thaw()
            without(0)
            proxy.block()
            await sleep(1.5 * lease)
            await load.progress(50)
            proxy.unblock()
            ask(workers)
            await load.progress(50)
          }),
        )
        expect(ran.problems).toEqual([])
      }),
  )
})
