/** The databases on which domain events are tested: a SQLite file and a PostgreSQL database of the test. */
import { randomBytes } from "node:crypto"
import * as PgClient from "@detent/store/PgClient"
import * as SqliteClient from "@detent/store/SqliteClient"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { freshDatabase } from "../../store/test/support/Postgres.ts"
import { freshFile } from "../../store/test/support/Sqlite.ts"

export type DatabaseAddress = { readonly _tag: "Sqlite"; readonly filename: string } | { readonly _tag: "Postgres"; readonly url: string }

/** A client of its own, as each program has it. */
export const clientOf = (address: DatabaseAddress): Layer.Layer<SqlClient, SqlError> =>
  Layer.fresh(
    address._tag === "Sqlite"
      ? SqliteClient.layer({ filename: address.filename, disableWAL: true })
      : PgClient.layer({ url: Redacted.make(address.url), maxConnections: 10 }),
  )

export interface Database {
  readonly name: string
  readonly isPostgres: boolean
  readonly events: string
  readonly journals: string
  readonly projections: string
  /** A new database, removed with the scope. */
  readonly address: Effect.Effect<DatabaseAddress, unknown, import("effect/Scope").Scope>
  /** A client of a new database. */
  readonly layer: Layer.Layer<SqlClient, unknown>
}

const sqliteAddress = Effect.map(freshFile, (filename): DatabaseAddress => ({ _tag: "Sqlite", filename }))
const postgresAddress = Effect.map(freshDatabase, (url): DatabaseAddress => ({ _tag: "Postgres", url }))

export const sqlite: Database = {
  name: "SQLite",
  isPostgres: false,
  events: "detent_domain_events",
  journals: "detent_domain_journals",
  projections: "detent_domain_projections",
  address: sqliteAddress,
  layer: Layer.unwrap(Effect.map(sqliteAddress, clientOf)),
}

export const postgres: Database = {
  name: "PostgreSQL",
  isPostgres: true,
  events: "detent.domain_events",
  journals: "detent.domain_journals",
  projections: "detent.domain_projections",
  address: postgresAddress,
  layer: Layer.unwrap(Effect.map(postgresAddress, clientOf)),
}

export const onEachDatabase = (title: string, tests: (database: Database) => void): void => {
  for (const database of [sqlite, postgres]) describe(`${title}: ${database.name}`, () => tests(database))
}

/** A unique name for a journal. */
export const freshName = () => `journal-${randomBytes(6).toString("hex")}`
