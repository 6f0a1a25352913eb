/** What only PostgreSQL can get wrong about ownership: locks between transactions that run side by side, and what an update costs. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import * as PostgresStore from "../src/PostgresStore.ts"
import type { InstanceSummary } from "../src/store/Commit.ts"
import { Journal } from "../src/store/Journal.ts"
import { Leases } from "../src/store/Leases.ts"
import { commit, event, freshKey, stored } from "../testing/samples.ts"
import { freshDatabase } from "./support/Postgres.ts"

const atWork = (node?: string): InstanceSummary => ({ tag: "Working", status: "running", reason: node, version: 1, resident: true })

describe("ownership on PostgreSQL", () => {
  it.live("139 while a fenced commit is under way its lease can be extended, and is buried only after it", () =>
    Effect.gen(function* () {
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 4 })
      yield* Effect.gen(function* () {
        const [journal, leases, sql, key] = [yield* Journal, yield* Leases, yield* SqlClient, yield* freshKey]
        const acquired = yield* leases.acquire("node", "node-a", 60_000)
        if (acquired._tag !== "Acquired") return assert.fail("the lease is free")
        const { lease } = acquired
        yield* journal.commit([commit(key, -1, { summary: atWork("node-a") })])
        const [written, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const fence = { lease: lease.name, token: lease.token }
        const open = sql.withTransaction(
          Effect.gen(function* () {
            const outcomes = yield* journal.commit([commit(key, 0, { at: event(1).at, summary: atWork(), fence })])
            yield* Deferred.succeed(written, undefined)
            yield* Deferred.await(mayEnd)
            return outcomes
          }),
        )
        const committing = yield* Effect.forkChild(open)
        yield* Deferred.await(written)
        assert.isTrue(Option.isSome(yield* Effect.timeout(leases.extend(lease, 60_000), "5 seconds")), "a heartbeat does not wait")
        assert.isTrue(yield* Effect.timeout(leases.release(lease), "5 seconds"))
        const burying = yield* Effect.forkChild(leases.bury(lease.name))
        const taking = yield* Effect.forkChild(leases.acquire(lease.name, "node-b", 60_000))
        yield* Effect.sleep("200 millis")
        assert.isUndefined(burying.pollUnsafe(), "the token must not grow before the commit is stored")
        assert.isUndefined(taking.pollUnsafe())
        yield* Deferred.succeed(mayEnd, undefined)
        assert.deepStrictEqual(yield* Fiber.join(committing), [stored])
        yield* Fiber.join(burying)
        yield* Fiber.join(taking)
        const late = yield* journal.commit([commit(key, 1, { at: event(2).at, summary: atWork(), fence })])
        assert.strictEqual(late[0]?._tag, "Fenced")
      }).pipe(Effect.provide(store))
    }),
  )

  it.live("a commit that stays in a state with work changes no indexed column", () =>
    Effect.gen(function* () {
      // One connection: PostgreSQL counts by connection, and reports what it has counted when it is asked to there.
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 1 })
      yield* Effect.gen(function* () {
        const [journal, sql, { machine }] = [yield* Journal, yield* SqlClient, yield* freshKey]
        const keys = Array.from({ length: 20 }, (_, index) => ({ machine, id: `i-${index}` }))
        yield* journal.commit(keys.map((key) => commit(key, -1, { summary: atWork("node-a") })))
        const updates = Effect.gen(function* () {
          yield* sql`select pg_stat_force_next_flush()::text`
          const [row] = yield* sql<{ readonly all: number; readonly hot: number }>`
            select n_tup_upd::integer as all, n_tup_hot_upd::integer as hot from pg_stat_user_tables
            where schemaname = 'detent' and relname = 'instances'`
          return row ?? { all: 0, hot: 0 }
        })
        const before = yield* updates
        for (let expected = 0; expected < 5; expected++)
          yield* journal.commit(keys.map((key) => commit(key, expected, { at: event(expected + 1).at, summary: atWork() })))
        const after = yield* updates
        assert.strictEqual(after.all - before.all, 100)
        // If an indexed column changed, none would be HOT. Up to 20 of 100 were seen not to be, and the cause is not known.
        assert.isAtLeast(after.hot - before.hot, 60)
      }).pipe(Effect.provide(store))
    }),
  )
})
