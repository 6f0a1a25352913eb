/** Makes and upgrades the tables on SQLite. Forward only; two processes may start at the same time. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { MigrationError } from "effect/sql/Migrator"
import * as Migrator from "effect/sql/Migrator"
import { BeginTransaction, SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { areDone, type Migrations, migrating } from "../sql/migrating.ts"
import { initial } from "./migrations/0001_initial.ts"
import { isBusy } from "./opening.ts"

/**
 * Another process may be upgrading a large file, at about 3 seconds per million events. This process waits for it, up to about ten minutes.
 */
const patience = 100

const isUnderway = (error: MigrationError | SqlError): Effect.Effect<boolean> =>
  isSqlError(error) && isBusy(error)
    ? Effect.as(Effect.logInfo("another process has locked the file, perhaps to upgrade its tables; waiting for it"), true)
    : Effect.succeed(false)

/** The migrations of one part of the package, in a table of their own: a part that is not used has no tables. */
export const migrateTables = (table: string, migrations: Migrations): Effect.Effect<void, MigrationError | SqlError, SqlClient> =>
  Effect.retry(migrating(migrateOnce(table, migrations)), { schedule: Schedule.spaced("1 second"), times: patience, while: isUnderway })

const migrateOnce = (table: string, migrations: Migrations) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    if (yield* areDone(sql, `select 1 from sqlite_master where name = '${table}'`, table, migrations)) return
    yield* sql.unsafe(`create table if not exists ${table} (
      migration_id integer primary key not null,
      created_at datetime not null default current_timestamp,
      name varchar(255) not null
    )`)
    // With the write lock from the begin: two processes would both read that no migration has run, and the second could no longer write.
    yield* Effect.provideService(
      sql.withTransaction(Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })),
      BeginTransaction,
      "BEGIN IMMEDIATE",
    )
  })

export const migrate = migrateTables("detent_migrations", { "0001_initial": initial })
