/** Three processes that share the work of 200 instances, killed and frozen at random. `npm run soak -- ownership` is the long version. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort } from "../../../../store/test/support/freePort.ts"
import { freshDatabase } from "../../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../../store/test/support/Sqlite.ts"
import type { StoreAddress } from "../Protocol.ts"
import { type ChaosOptions, causeChaos } from "./Chaos.ts"

const seed = Number(process.env["DETENT_CRASH_SEED"] ?? 1)

/** Other tests run beside this one: a takeover may be later than it would be alone. */
const slackMillis = 3_000

const check = (store: StoreAddress, more: Pick<ChaosOptions, "addresses"> = {}) =>
  Effect.gen(function* () {
    const least = { leastKills: 2, leastFreezes: 1 }
    const options = { store, seconds: 4, ...least, seed, processes: 3, instances: 200, leaseMillis: 2_000, slackMillis, ...more }
    const { problems, kills, freezes, takeovers, runs } = yield* Effect.promise(() => causeChaos(options))
    expect(problems).toEqual([])
    // A run in which nothing happened proves nothing.
    expect(kills).toBeGreaterThan(1)
    expect(freezes).toBeGreaterThan(0)
    expect(takeovers).toBeGreaterThan(5)
    expect(runs).toBeGreaterThan(200)
  })

// Side by side: they mostly wait for leases to end.
describe.concurrent("137 138 139 140 work of states in processes that are killed and frozen", () => {
  it.live("has one owner at a time, is taken over in time and ends up done, on SQLite", () =>
    Effect.flatMap(freshFile, (filename) => check({ _tag: "Sqlite", filename })),
  )

  it.live("has one owner at a time, is taken over in time and ends up done, on PostgreSQL", () =>
    Effect.flatMap(freshDatabase, (url) => check({ _tag: "Postgres", url })),
  )

  it.live("has one owner at a time, is taken over in time and ends up done, in a cluster", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.all([freePort, freePort, freePort])
      const addresses = ports.map((port) => `127.0.0.1:${port}`)
      yield* check({ _tag: "Postgres", url: yield* freshDatabase }, { addresses })
    }),
  )
})
