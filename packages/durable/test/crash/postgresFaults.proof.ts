/** Faults of PostgreSQL: restarts, lost connections, lost answers. */
import { setTimeout as sleep } from "node:timers/promises"
import * as PgClient from "@detent/store/PgClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { startProxy } from "../../../store/test/support/Proxy.ts"
import { startRestartable } from "../../../store/test/support/RestartableServer.ts"
import type { StoreAddress } from "./Protocol.ts"
import { underLoad } from "./Run.ts"

const postgres = (url: string): StoreAddress => ({ _tag: "Postgres", url })

/** Errors that a sender may get besides a refusal of its event. */
const troubles = (failures: ReadonlyArray<string>) =>
  new Set(failures.filter((tag) => tag !== "InvalidTransition" && tag !== "MachineStopped" && tag !== "TransitionRefused"))

/** How often a connection is lost. */
const cuts = 25

describe("PostgreSQL under load", () => {
  it.live("restarted: senders get an answer or a clear failure, nothing is lost or doubled, and work continues", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startRestartable()),
        (server) => Effect.promise(() => server.remove()),
      )
      const ran = yield* Effect.promise(() =>
        underLoad({ store: postgres(server.url), worker: { storeTimeoutMillis: 400 } }, async ({ load }) => {
          for (const down of [50, 1500]) {
            await sleep(300)
            await server.stop()
            await sleep(down)
            await server.start()
            await load.progress()
          }
        }),
      )
      expect(ran.problems).toEqual([])
      expect([...troubles(ran.failures)]).toEqual(["PersistenceFailed"])
      expect(ran.accepted).toBeGreaterThan(20)
    }),
  )

  it.live("connections cut by the server, again and again: nothing is lost or doubled", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const ran = yield* Effect.promise(() =>
        underLoad({ store: postgres(url) }, async ({ load }) => {
          for (let cut = 0; cut < cuts; cut++) {
            await sleep(40)
            await Effect.runPromise(terminateOthers(url))
            await load.progress()
          }
        }),
      )
      expect(ran.problems).toEqual([])
      expect(ran.accepted).toBeGreaterThan(cuts)
    }),
  )

  it.live("a commit whose answer is lost after the server has done it is applied once, and its sender gets the true outcome", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startProxy(url)),
        (proxy) => Effect.promise(() => proxy.close()),
      )
      const ran = yield* Effect.promise(() =>
        underLoad({ store: postgres(url), through: postgres(proxy.url) }, async ({ load }) => {
          for (let cut = 0; cut < cuts; cut++) {
            // Only what is journaled has a token in it.
            await proxy.cutAfter('\\"token\\"')
            await load.progress()
          }
        }),
      )
      expect(ran.problems).toEqual([])
      // The engine could ask the store what it had stored: no sender got a failure.
      expect([...troubles(ran.failures)]).toEqual([])
    }),
  )
})

const terminateOthers = (url: string) =>
  Effect.flatMap(
    PgClient.PgClient,
    (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
