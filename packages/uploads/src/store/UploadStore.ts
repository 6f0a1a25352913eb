/**
 * The tables of uploads beside the instances: batches and their positions, the items of their files, and the
 * items themselves. Every operation can be part of one transaction with the engine's `startAll`.
 */

import { OwnTables } from "@detent/durable"
import { PersistenceFailed } from "@detent/machine"
import { defectsAsFailures } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Statement } from "effect/sql/Statement"
import type { Dialect } from "./Dialect.ts"
import { postgresDialect } from "./postgres/PostgresDialect.ts"
import { postgresSteps } from "./postgres/steps.ts"
import { sqliteDialect } from "./sqlite/SqliteDialect.ts"
import { sqliteSteps } from "./sqlite/steps.ts"

export class UploadStore {
  readonly dialect: Dialect

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  /** Opens the store, and creates or upgrades its tables. */
  static readonly open = (schema: string): Effect.Effect<UploadStore, MigrationError | SqlError, SqlClient> =>
    Effect.gen(function* () {
      const sql = (yield* SqlClient).withoutTransforms()
      const dialect = sql.onDialectOrElse({
        sqlite: () => sqliteDialect(sql),
        pg: () => postgresDialect(sql, schema),
        orElse: () => undefined,
      })
      if (dialect === undefined) return yield* Effect.die(new Error("uploads need SQLite or PostgreSQL"))
      yield* OwnTables.migrate({ name: "uploads", sqlite: sqliteSteps, postgres: postgresSteps, schema })
      return new UploadStore(dialect)
    })

  /** Runs the effect in one transaction. Its first statement should be a write: SQLite then waits for other processes. */
  transact<A, E>(operation: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E | PersistenceFailed> {
    return persisting(operation, this.dialect.sql.withTransaction(effect))
  }

  /** Runs a statement and decodes its rows. */
  rows<S extends Schema.Top & { readonly DecodingServices: never }>(
    operation: string,
    schema: S,
    statement: Statement<unknown & object>,
  ): Effect.Effect<ReadonlyArray<S["Type"]>, PersistenceFailed> {
    const decode = Schema.decodeUnknownSync(Schema.Array(schema) as unknown as Schema.Codec<ReadonlyArray<S["Type"]>, unknown>)
    return Effect.flatMap(persisting(operation, statement), (rows) => this.decoding(operation, () => decode(rows)))
  }

  /** Decodes stored data. Data that cannot be decoded is a failure of the store. */
  decoding<A>(operation: string, decode: () => A): Effect.Effect<A, PersistenceFailed> {
    return Effect.try({ try: decode, catch: (cause) => failed(operation, cause) })
  }

  /** Runs statements and returns their result. */
  running<A>(operation: string, statements: Effect.Effect<A, SqlError>): Effect.Effect<A, PersistenceFailed> {
    return persisting(operation, statements)
  }

  /** Runs a statement and ignores its rows. */
  run(operation: string, statement: Effect.Effect<unknown, SqlError>): Effect.Effect<void, PersistenceFailed> {
    return Effect.asVoid(persisting(operation, statement))
  }
}

const failed = (operation: string, cause: unknown): PersistenceFailed =>
  new PersistenceFailed({ machine: "UploadBatch", operation, cause: describe(cause) })

const persisting = <A, E>(
  operation: string,
  effect: Effect.Effect<A, E | SqlError>,
): Effect.Effect<A, Exclude<E, SqlError> | PersistenceFailed> =>
  Effect.mapError(defectsAsFailures(isSqlError)(effect), (error) =>
    isSqlError(error) ? failed(operation, error) : (error as Exclude<E, SqlError>),
  )

/** Adds the message of the database, which Effect SQL hides behind "failed to execute statement". */
const describe = (cause: unknown): unknown => {
  if (!isSqlError(cause)) return cause
  const inner = cause.reason.cause
  return inner instanceof Error ? new Error(`${cause.message}: ${inner.message}`, { cause }) : cause
}
