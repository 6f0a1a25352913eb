/** Makes and upgrades the tables on PostgreSQL. Forward only; any number of processes may start at the same time. */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { areDone, type Migrations, migrating } from "../sql/migrating.ts"
import { initial } from "./migrations/0001_initial.ts"

/** The key of the advisory lock: "detent" in ASCII. */
const lockKey = 0x646574656e74

/** The migrations of one part of the package, in a table of their own: a part that is not used has no tables. */
export const migrateTables = (
  schema: string,
  table: string,
  migrations: Migrations,
): Effect.Effect<void, Migrator.MigrationError | SqlError, SqlClient> =>
  migrating(
    Effect.gen(function* () {
      const sql = yield* SqlClient
      if (yield* areDone(sql, `select 1 where to_regclass('${schema}.${table}') is not null`, `${schema}.${table}`, migrations)) return
      // `if not exists` does not prevent two processes from creating the same table concurrently. Once the table exists, the migrator locks
      // it.
      const prepare = Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${lockKey}::bigint)::text`
        yield* sql.unsafe(`create schema if not exists ${schema}`)
        yield* sql.unsafe(`create table if not exists ${schema}.${table} (
        migration_id integer primary key,
        created_at timestamp with time zone not null default now(),
        name text not null
      )`)
      })
      yield* sql.withTransaction(prepare)
      yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: `${schema}.${table}` })
    }),
  )

export const migrate = (schema: string) => migrateTables(schema, "migrations", { "0001_initial": initial(schema) })
