/** The part of migrations that SQLite and PostgreSQL share. */
import * as Effect from "effect/Effect"
import { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isSqlError } from "effect/sql/SqlError"
import { type Row, wholeOf } from "./Row.ts"
import { defectsAsFailures } from "./StoreFailure.ts"

/** The steps of one part of the package, by names that begin with their number. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient>>>

/** A client may report a transaction that cannot be ended as a defect. The caller that opens a store can act on it. */
export const migrating: <A, R>(effect: Effect.Effect<A, MigrationError | SqlError, R>) => Effect.Effect<A, MigrationError | SqlError, R> =
  defectsAsFailures((defect) => isSqlError(defect) || defect instanceof MigrationError)

/**
 * Whether all migrations have run. Only reads, so that a process can start while another one holds a lock: a dump of PostgreSQL locks every
 * table until it ends, and a long transaction locks a SQLite file. A migration and its row are one transaction, so the row of the newest
 * one proves that all have run. `exists` selects a row if the table exists.
 */
export const areDone = (client: SqlClient, exists: string, table: string, migrations: Migrations): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    const sql = client.withoutTransforms()
    if ((yield* sql.unsafe(exists)).length === 0) return false
    const [row] = yield* sql.unsafe<Row>(`select coalesce(max(migration_id), 0) as newest from ${table}`)
    const known = Object.keys(migrations).map((name) => Number.parseInt(name, 10))
    return row !== undefined && wholeOf(row, "newest") >= Math.max(0, ...known)
  })
