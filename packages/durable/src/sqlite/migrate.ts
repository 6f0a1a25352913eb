/** Makes and upgrades the tables on SQLite. Forward only; two processes may start at once. */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/unstable/sql/Migrator"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { migrating } from "../sql/migrating.ts"
import { initial } from "./migrations/0001_initial.ts"

const table = "detent_migrations"

export const migrate: Effect.Effect<void, Migrator.MigrationError | SqlError, SqlClient> = migrating(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`create table if not exists detent_migrations (
    migration_id integer primary key not null,
    created_at datetime not null default current_timestamp,
    name varchar(255) not null
  )`
    // A write that changes nothing takes the write lock, and waits for it. Without it both of two processes would read that
    // nothing is done yet, and the second could not write any more.
    const lock = sql`delete from detent_migrations where migration_id < 0`
    yield* sql.withTransaction(Effect.andThen(lock, Migrator.make({})({ loader: Migrator.fromRecord({ "0001_initial": initial }), table })))
  }),
)
