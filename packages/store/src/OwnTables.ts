/**
 * Tables of a package or a program beside those of the store, in the same database: made and upgraded forward only, each step
 * once, however many processes start at the same time.
 */
import * as Effect from "effect/Effect"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { migrateTables as migratePostgres } from "./postgres/migrate.ts"
import { migrateTables as migrateSqlite } from "./sqlite/migrate.ts"

/** Statements by step. A step's name starts with its number, such as `0001_notes`. */
export type Steps = Readonly<Record<string, ReadonlyArray<string>>>

export interface OwnTables {
  /** The owner of these tables; completed steps are recorded under this name. */
  readonly name: string
  readonly sqlite: Steps
  readonly postgres: (schema: string) => Steps
  /** The schema on PostgreSQL. Default: `detent`. */
  readonly schema?: string
}

export const migrate = ({
  name,
  sqlite,
  postgres,
  schema = "detent",
}: OwnTables): Effect.Effect<void, MigrationError | SqlError, SqlClient> =>
  Effect.flatMap(SqlClient, (sql) =>
    sql.onDialectOrElse({
      sqlite: () => migrateSqlite(`detent_${name}_migrations`, migrationsOf(sqlite)),
      pg: () => migratePostgres(schema, `${name}_migrations`, migrationsOf(postgres(schema))),
      orElse: () => Effect.die(new Error("tables can be created only on SQLite and PostgreSQL")),
    }),
  )

const migrationsOf = (steps: Steps): Readonly<Record<string, Effect.Effect<void, SqlError, SqlClient>>> =>
  Object.fromEntries(
    Object.entries(steps).map(([step, statements]) => [
      step,
      Effect.flatMap(SqlClient, (sql) => Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })),
    ]),
  )
