/** Commands of a store from before commands were executed are kept by the upgrade, and can be claimed. */

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import * as PgClient from "../../src/driver/PgClient.ts"
import * as SqliteClient from "../../src/driver/SqliteClient.ts"
import * as PostgresStore from "../../src/PostgresStore.ts"
import { migrateTables as migratePostgres } from "../../src/postgres/migrate.ts"
import { initial as firstPostgres } from "../../src/postgres/migrations/0001_initial.ts"
import * as SqliteStore from "../../src/SqliteStore.ts"
import { migrateTables as migrateSqlite } from "../../src/sqlite/migrate.ts"
import { initial as firstSqlite } from "../../src/sqlite/migrations/0001_initial.ts"
import { Commands } from "../../src/store/Commands.ts"
import { claim, command, completed, countsOf, enqueue, finish } from "../../testing/command/CommandKit.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { freshFile } from "../support/Sqlite.ts"

const insertOld = (instances: string, commands: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`
      insert into ${instances} (machine, id, tag, status, sequence, version, resident, started_at, updated_at)
      values ('order', 'o-1', 'Paid', 'running', 3, 1, false, 5, 6)`)
    yield* sql.unsafe(`
      insert into ${commands} (instance, key, slot, parameters, sequence, run_at, enqueued_at)
      select instance, 'order/o-1/3/' || n, 'mail', '{"n":' || n || '}', 3, 6, 6
      from ${instances} cross join (select 0 as n union all select 1) numbers`)
  })

const check = Effect.gen(function* () {
  const commands = yield* Commands
  const found = yield* commands.ofInstance({ machine: "order", id: "o-1" })
  assert.deepStrictEqual(
    found.map(({ key, queue, status, parameters }) => [key, queue, status, parameters]),
    [
      ["order/o-1/3/0", "order", "pending", '{"n":0}'],
      ["order/o-1/3/1", "order", "pending", '{"n":1}'],
    ],
  )
  assert.deepStrictEqual(
    (yield* claim("order")).map(({ key, attempts }) => [key, attempts]),
    [
      ["order/o-1/3/0", 1],
      ["order/o-1/3/1", 1],
    ],
  )
})

describe("stores made before commands were executed", () => {
  it.live("SQLite", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const old = Effect.andThen(
        migrateSqlite("detent_migrations", { "0001_initial": firstSqlite }),
        insertOld("detent_instances", "detent_commands"),
      )
      yield* Effect.provide(old, SqliteClient.layer({ filename }))
      yield* Effect.provide(check, SqliteStore.layer({ filename }))
    }),
  )

  it.live("PostgreSQL", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const old = Effect.andThen(
        migratePostgres("detent", "migrations", { "0001_initial": firstPostgres("detent") }),
        insertOld("detent.instances", "detent.commands"),
      )
      yield* Effect.provide(old, PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
      yield* Effect.provide(check, PostgresStore.layer({ url, maxConnections: 2 }))
      // A process of the version before continues after the upgrade: it claims with its own function.
      const before = Effect.flatMap(SqlClient, (sql) => sql`select * from detent.exchange_commands('old', '[]', '[["order", 5]]', 1000)`)
      yield* Effect.provide(before, PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
    }),
  )
})

/** Takes a store back to the version before, in which the commands that are done were counted one by one. */
const before = (statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* enqueue(...Array.from({ length: 5 }, (_, index) => command("jobs", `${index}`)))
    yield* finish(completed, yield* claim("jobs", { limit: 2 }))
    yield* finish({ _tag: "Skipped", reason: "seen" }, yield* claim("jobs", { limit: 1 }))
    for (const statement of statements) yield* sql.unsafe(statement)
  })

describe("stores made before commands that are done had counts", () => {
  it.live("SQLite", () =>
    Effect.gen(function* () {
      const store = SqliteStore.layer({ filename: yield* freshFile })
      const removed = [
        "drop trigger detent_commands_skip",
        "drop trigger detent_commands_remove",
        "drop table detent_finished",
        "drop table detent_database",
        "alter table detent_commands drop column errors",
        "alter table detent_events drop column delivery",
        "alter table detent_instances drop column revision",
        "delete from detent_migrations where migration_id >= 9",
      ]
      yield* Effect.provide(before(removed), store, { local: true })
      assert.deepStrictEqual(yield* Effect.provide(countsOf("jobs"), store, { local: true }), { completed: 2, skipped: 1, pending: 2 })
    }),
  )

  it.live("PostgreSQL, with a process of the version before that still works", () =>
    Effect.gen(function* () {
      const store = PostgresStore.layer({ url: yield* freshDatabase, maxConnections: 2 })
      const removed = [
        "drop trigger count_removed on detent.commands",
        "drop function detent.count_removed_commands",
        "drop table detent.finished",
        "drop table detent.database",
        "alter table detent.commands drop column errors",
        "alter table detent.events drop column delivery",
        "alter table detent.instances drop column revision",
        "delete from detent.migrations where migration_id >= 10",
      ]
      yield* Effect.provide(before(removed), store, { local: true })
      const working = Effect.gen(function* () {
        const sql = yield* SqlClient
        assert.deepStrictEqual(yield* countsOf("jobs"), { completed: 2, skipped: 1, pending: 2 })
        const exchange = (finished: unknown, wants: unknown) =>
          sql<{ readonly number: bigint; readonly claim: number }>`
            select number, claim from detent.exchange_commands('old', ${JSON.stringify(finished)}::jsonb, ${JSON.stringify(wants)}::jsonb, 1000)
            where kind = 'claimed'`
        const [claimed] = yield* exchange([], [["jobs", 1]])
        yield* exchange([[Number(claimed?.number), claimed?.claim, "completed", null, 0, 0]], [])
        assert.deepStrictEqual(yield* countsOf("jobs"), { completed: 3, skipped: 1, pending: 1 })
        yield* sql`delete from detent.commands where status = 'completed'`
        assert.deepStrictEqual(yield* countsOf("jobs"), { skipped: 1, pending: 1 })
      })
      yield* Effect.provide(working, store, { local: true })
    }),
  )
})
