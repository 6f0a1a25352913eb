/** What only PostgreSQL can get wrong about ownership: locks between transactions that run side by side, and what an update costs. */

import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { inject } from "vitest"
import type { InstanceSummary } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import { Leases } from "../src/contract/Leases.ts"
import * as PgClient from "../src/driver/PgClient.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { commit, event, freshKey, stored } from "../testing/samples.ts"
import { freshDatabase } from "./support/Postgres.ts"
import { within } from "./support/patience.ts"

const atWork = (node?: string): InstanceSummary => ({
  tag: "Working",
  status: "running",
  reason: undefined,
  version: 1,
  needsOwner: true,
  owner: node,
  owes: false,
})

/** Holds a transaction open in another database of the server until the scope ends. */
const holdTransaction = Effect.gen(function* () {
  const client = Layer.fresh(PgClient.layer({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 }))
  const sql = Context.get(yield* Layer.build(client), PgClient.PgClient)
  const begun = yield* Deferred.make<void>()
  const number = sql`select pg_current_xact_id()::text`
  yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(number, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))))
  yield* Deferred.await(begun)
})

describe("ownership on PostgreSQL", () => {
  it.live("139 while a fenced commit is under way its lease can be extended, and is fenced only after it", () =>
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
        assert.isTrue(Option.isSome(yield* within("5 seconds")(leases.extend(lease, 60_000))), "a heartbeat does not wait")
        assert.isTrue(yield* within("5 seconds")(leases.release(lease)))
        const fencing = yield* Effect.forkChild(leases.fenceHolder(lease.name))
        const taking = yield* Effect.forkChild(leases.acquire(lease.name, "node-b", 60_000))
        yield* Effect.sleep("200 millis")
        assert.isUndefined(fencing.pollUnsafe(), "the token must not grow before the commit is stored")
        assert.isUndefined(taking.pollUnsafe())
        yield* Deferred.succeed(mayEnd, undefined)
        assert.deepStrictEqual(yield* Fiber.join(committing), [stored])
        yield* Fiber.join(fencing)
        yield* Fiber.join(taking)
        const late = yield* journal.commit([commit(key, 1, { at: event(2).at, summary: atWork(), fence })])
        assert.strictEqual(late[0]?._tag, "Fenced")
      }).pipe(Effect.provide(store))
    }),
  )

  it.live("94 139 the token of a lease grows also when the lease is released while others are removed", () =>
    Effect.gen(function* () {
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 4 })
      yield* Effect.gen(function* () {
        const [leases, sql] = [yield* Leases, yield* SqlClient]
        const taken = (name: string) =>
          Effect.flatMap(leases.acquire(name, "node-a", 60_000), (result) =>
            result._tag === "Acquired" ? Effect.succeed(result.lease) : Effect.die("the lease is free"),
          )
        yield* Effect.repeat(Effect.flatMap(taken("second"), leases.release), { times: 5 })
        const held = yield* taken("second")
        yield* Effect.flatMap(taken("first"), leases.release)
        // One process has removed the first lease and has not committed yet; another waits for it.
        const [removed, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const removal = Effect.andThen(leases.purge(0, 10), Effect.andThen(Deferred.succeed(removed, undefined), Deferred.await(mayEnd)))
        const removing = yield* Effect.forkChild(sql.withTransaction(removal))
        yield* Deferred.await(removed)
        const waiting = yield* Effect.forkChild(leases.purge(0, 10))
        yield* Effect.sleep("200 millis")
        yield* leases.release(held)
        yield* Deferred.succeed(mayEnd, undefined)
        yield* Fiber.join(removing)
        yield* Fiber.join(waiting)
        assert.isAbove((yield* taken("second")).token, held.token)
      }).pipe(Effect.provide(store))
    }),
  )

  it.live("94 139 the token of a lease grows also when the lease is removed while it is fenced or taken", () =>
    Effect.gen(function* () {
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 4 })
      yield* Effect.gen(function* () {
        const [journal, leases, sql, key] = [yield* Journal, yield* Leases, yield* SqlClient, yield* freshKey]
        yield* journal.commit([commit(key, -1, { summary: atWork("node-a") })])
        const taken = Effect.flatMap(leases.acquire("node", "node-a", 60_000), (result) =>
          result._tag === "Acquired" ? Effect.succeed(result.lease) : Effect.die("the lease is free"),
        )
        const released = Effect.tap(taken, leases.release)
        /** Runs while another process removes the lease: it begins before the removal is committed, and ends after it. */
        const duringRemoval = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.gen(function* () {
            const [removed, mayEnd] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
            const removal = Effect.andThen(
              leases.purge(0, 10),
              Effect.andThen(Deferred.succeed(removed, undefined), Deferred.await(mayEnd)),
            )
            const removing = yield* Effect.forkChild(sql.withTransaction(removal))
            yield* Deferred.await(removed)
            const running = yield* Effect.forkChild(effect)
            yield* Effect.sleep("200 millis")
            yield* Deferred.succeed(mayEnd, undefined)
            yield* Fiber.join(removing)
            return yield* Fiber.join(running)
          })
        yield* released
        const { name, token } = yield* released
        assert.isTrue(yield* duringRemoval(leases.fenceHolder(name)))
        const late = yield* journal.commit([commit(key, 0, { at: event(1).at, summary: atWork(), fence: { lease: name, token } })])
        assert.strictEqual(late[0]?._tag, "Fenced")
        const before = yield* released
        assert.isAbove(before.token, token)
        assert.isAbove((yield* duringRemoval(taken)).token, before.token)
      }).pipe(Effect.provide(store))
    }),
  )

  it.live("a commit that stays in a state with work changes no indexed column", () =>
    Effect.gen(function* () {
      // One connection: PostgreSQL counts by connection, and reports what it has counted when it is asked to there.
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 1 })
      yield* Effect.gen(function* () {
        const [journal, sql, { machine }] = [yield* Journal, yield* SqlClient, yield* freshKey]
        // An update is HOT where no indexed column changes and its page has room. While any transaction of the server is open,
        // also in another database, PostgreSQL frees no old version of a row: the page has to hold them all, as it does these 30.
        const keys = Array.from({ length: 5 }, (_, index) => ({ machine, id: `i-${index}` }))
        yield* holdTransaction
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
        assert.deepStrictEqual({ all: after.all - before.all, hot: after.hot - before.hot }, { all: 25, hot: 25 })
      }).pipe(Effect.provide(store))
    }),
  )
})
