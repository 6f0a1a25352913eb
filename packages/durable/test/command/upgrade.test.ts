/** Commands of a store from before commands were executed are kept by the upgrade, and can be claimed. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import * as PostgresStore from "../../src/PostgresStore.ts"
import { migrateTables as migratePostgres } from "../../src/postgres/migrate.ts"
import { initial as firstPostgres } from "../../src/postgres/migrations/0001_initial.ts"
import * as SqliteStore from "../../src/SqliteStore.ts"
import { migrateTables as migrateSqlite } from "../../src/sqlite/migrate.ts"
import { initial as firstSqlite } from "../../src/sqlite/migrations/0001_initial.ts"
import { Commands } from "../../src/store/Commands.ts"
import { claim } from "../../testing/command/CommandKit.ts"
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
