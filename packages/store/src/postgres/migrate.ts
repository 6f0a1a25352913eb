/** Makes and upgrades the tables on PostgreSQL. Forward only; any number of processes may start at the same time. */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { areDone, type Migrations, migrating } from "../sql/migrating.ts"
import { initial } from "./migrations/0001_initial.ts"
import { commands } from "./migrations/0002_commands.ts"
import { rounds } from "./migrations/0003_rounds.ts"
import { vacuum } from "./migrations/0004_vacuum.ts"
import { order } from "./migrations/0005_order.ts"
import { owners } from "./migrations/0006_owners.ts"
import { timers } from "./migrations/0007_timers.ts"
import { keys } from "./migrations/0008_keys.ts"
import { listing } from "./migrations/0009_listing.ts"
import { finished } from "./migrations/0010_finished.ts"
import { errors } from "./migrations/0011_errors.ts"
import { listingIndexes } from "./migrations/0012_listing_indexes.ts"
import { deliveries } from "./migrations/0013_deliveries.ts"
import { revisions } from "./migrations/0014_revisions.ts"
import { moves } from "./migrations/0015_moves.ts"
import { database } from "./migrations/0016_database.ts"

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

export const migrate = (schema: string) =>
  migrateTables(schema, "migrations", {
    "0001_initial": initial(schema),
    "0002_commands": commands(schema),
    "0003_rounds": rounds(schema),
    "0004_vacuum": vacuum(schema),
    "0005_order": order(schema),
    "0006_owners": owners(schema),
    "0007_timers": timers(schema),
    "0008_keys": keys(schema),
    "0009_listing": listing(schema),
    "0010_finished": finished(schema),
    "0011_errors": errors(schema),
    "0012_listing_indexes": listingIndexes(schema),
    "0013_deliveries": deliveries(schema),
    "0014_revisions": revisions(schema),
    "0015_moves": moves(schema),
    "0016_database": database(schema),
  })
