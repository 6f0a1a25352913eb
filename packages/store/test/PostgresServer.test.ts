/** What is particular to PostgreSQL: many connections, a server that can be gone, transactions that fail at their end. */
import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Journal } from "../src/contract/Journal.ts"
import { Leases } from "../src/contract/Leases.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { commit, conflict, event, freshKey, stored } from "../testing/samples.ts"
import { freshDatabase, postgresLayer } from "./support/Postgres.ts"

describe("PostgreSQL server", () => {
  it.live("many processes may begin at once, and migrations are not repeated", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const begin = Effect.provide(
        Effect.flatMap(
          SqlClient,
          (sql) => sql<{ readonly migration_id: number }>`select migration_id from detent.migrations order by migration_id`,
        ),
        PostgresStore.layer({ url, maxConnections: 1 }),
        { local: true },
      )
      const seen = yield* Effect.all(
        Array.from({ length: 8 }, () => begin),
        { concurrency: "unbounded" },
      )
      const all = yield* begin
      assert.deepStrictEqual(
        all.map(({ migration_id }) => migration_id),
        all.map((_, index) => index + 1),
      )
      for (const migrations of seen) assert.deepStrictEqual(migrations, all)
    }),
  )

  it.live("two schemas in one database are two stores", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const key = yield* freshKey
      const create = Effect.flatMap(Journal, (journal) => journal.commit([commit(key, -1)]))
      const storeIn = (schema: string) => Effect.provide(create, PostgresStore.layer({ url, schema }), { local: true })
      assert.deepStrictEqual(yield* storeIn("one"), [stored])
      assert.deepStrictEqual(yield* storeIn("two"), [stored])
      assert.deepStrictEqual(yield* storeIn("one"), [conflict(0)])
    }),
  )

  it.live("82 the loser of a race that waits for the winner's row sees the winner's sequence", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      const loser = yield* sql.withTransaction(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { events: [event(1, { dedupeId: "same" })] })]), [stored])
          const fiber = outside(journal.commit([commit(key, 0)]))
          yield* Effect.sleep("100 millis")
          return fiber
        }),
      )
      assert.deepStrictEqual(yield* Fiber.join(loser), [conflict(1)])
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("85 content the database cannot take fails alone, as a typed failure", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const { machine, id } = yield* freshKey
      const keys = ["a", "b\u0000", "c"].map((suffix) => ({ machine, id: `${id}-${suffix}` }))
      const outcomes = yield* journal.commit(keys.map((key) => commit(key, -1)))
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Stored", "PersistenceFailed", "Stored"],
      )
      const long = yield* journal.commit([commit({ machine, id: Array.from({ length: 9_000 }, (_, index) => index).join() }, -1)])
      assert.deepStrictEqual(
        long.map(({ _tag }) => _tag),
        ["PersistenceFailed"],
      )
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("what claims read past is vacuumed soon, however much is kept", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const tables = yield* sql<{ readonly relname: string }>`
        select relname from pg_class where relnamespace = 'detent'::regnamespace
        and 'autovacuum_vacuum_scale_factor=0.001' = any (reloptions) order by relname`
      assert.deepStrictEqual(
        tables.map(({ relname }) => relname),
        ["commands", "timers"],
      )
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("a connection that is cut in the middle of a commit is a typed failure, and the next one is new", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      const failure = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select from detent.instances where id = ${key.id} for update`
          const fiber = outside(Effect.flip(journal.commit([commit(key, 0)])))
          for (let cut = 0; cut === 0; yield* Effect.sleep("5 millis")) {
            const ended = yield* sql`
              select pg_terminate_backend(pid)::text from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock'`
            cut = ended.length
          }
          return yield* Fiber.join(fiber)
        }),
      )
      assert.instanceOf(failure, PersistenceFailed)
      assert.deepStrictEqual(yield* journal.commit([commit(key, 0)]), [stored])
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("a transaction that fails when it is committed is a typed failure", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const sql = yield* SqlClient
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      yield* journal.commit([commit(key, 0)])
      yield* sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
      yield* sql.unsafe(`create constraint trigger refuse after insert on detent.events deferrable initially deferred
        for each row execute function refuse()`)
      const fork = { ...key, id: `${key.id}-fork` }
      assert.instanceOf(yield* Effect.flip(journal.fork(key, 1, commit(fork, -1, { sequence: 1 }))), PersistenceFailed)
      assert.instanceOf(yield* Effect.flip(journal.commit([commit(key, 1)])), PersistenceFailed)
      assert.isTrue(Option.isNone(yield* journal.open(fork)))
    }).pipe(Effect.provide(postgresLayer)),
  )

  it.live("109 a lease cannot be taken over while a commit under it is on its way", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const leases = yield* Leases
      const sql = yield* SqlClient
      const key = yield* freshKey
      const first = yield* leases.acquire(key.id, "first", 1)
      const token = first._tag === "Acquired" ? first.lease.token : 0
      yield* Effect.sleep("20 millis")
      const taking = yield* sql.withTransaction(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* journal.commit([commit(key, -1, { fence: { lease: key.id, token } })]), [stored])
          const fiber = outside(leases.acquire(key.id, "second", 60_000))
          yield* Effect.sleep("100 millis")
          assert.isTrue(fiber.pollUnsafe() === undefined)
          return fiber
        }),
      )
      assert.strictEqual((yield* Fiber.join(taking))._tag, "Acquired")
      const late = yield* journal.commit([commit(key, 0, { fence: { lease: key.id, token } })])
      assert.deepStrictEqual(late, [{ _tag: "Fenced", newest: token + 1 }])
    }).pipe(Effect.provide(postgresLayer)),
  )
})

/** Not part of the transaction around it: another process. */
const outside = <A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> => Effect.runFork(effect)
