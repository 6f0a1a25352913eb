/** Nodes of a cluster of which one after the other does not reach the database, for less than its lease and for more. Proved from the tables. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { clusterNodes, lease, proxyTo } from "../crash/ClusterNodes.ts"
import { underLoad } from "../crash/Run.ts"
import { Chance } from "../simulation/Chance.ts"

const rounds = 8

describe("nodes of a cluster under load", () => {
  it.live("cut off from the database one after the other: no sender is refused whose event is stored, and nothing stale is stored", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const options = yield* clusterNodes(url, 3)
      const proxies = yield* Effect.all([proxyTo(url), proxyTo(url), proxyTo(url)])
      const seed = Math.floor(Math.random() * 1_000_000)
      const chance = new Chance(seed)
      const each = (index: number) => ({
        ...options.each(index),
        store: { _tag: "Postgres" as const, url: proxies[index]?.url ?? url },
      })
      const ran = yield* Effect.promise(() =>
        underLoad({ ...options, each, seed }, async ({ load, workers, ask }) => {
          for (let round = 0; round < rounds; round++) {
            const cut = round % proxies.length
            await load.progress(20)
            // Callers of the node that is cut off fail in the end; in the other half of the rounds they turn to the others at once.
            if (chance.happens(0.5)) ask(workers.filter((worker) => worker !== workers[cut]))
            proxies[cut]?.block()
            await sleep(lease * chance.pick([0.3, 0.8, 1, 1.2, 1.7]))
            proxies[cut]?.unblock()
            ask(workers)
          }
          await load.progress(50)
        }),
      )
      expect({ seed, problems: ran.problems }).toEqual({ seed, problems: [] })
    }),
  )
})
