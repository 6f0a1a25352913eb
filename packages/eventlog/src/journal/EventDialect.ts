/** The parts of the SQL of domain events in which SQLite and PostgreSQL differ. */

import type { Row } from "@detent/store/internal"
import type * as Effect from "effect/Effect"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { EntryBatch } from "./EntryBatch.ts"

export interface EventDialect {
  /** The client without the name transformations that a user may have configured. */
  readonly sql: SqlClient
  readonly journals: Fragment
  readonly events: Fragment
  readonly remotes: Fragment
  readonly projections: Fragment
  /** Configures the database, and creates the tables. */
  readonly migrate: Effect.Effect<void, MigrationError | SqlError, SqlClient>
  /** The 16 bytes in a column of ids. */
  readonly bytesOfId: (column: string) => Fragment
  /** An id given as hex, as a value of its column. */
  readonly idOfHex: (hex: string | null) => Fragment
  /** A parameter of bytes, which may be empty. */
  readonly bytes: (value: Uint8Array) => Fragment
  /** A JSON array as rows `(value)`; ids in it are hex. */
  readonly elements: (json: string) => Fragment
  /** An id given as an expression in hex, as a value of its column. */
  readonly idOfExpression: (expression: string) => Fragment
  /** Locks the journal's row until the transaction ends, and returns its last position. */
  readonly lock: (journal: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Locks a name of the journal until the transaction ends. */
  readonly lockName: (journal: string, name: string) => Effect.Effect<unknown, SqlError>
  /** Stores a batch at the next positions, as one transaction, and returns the last of them. */
  readonly append: (journal: string, batch: EntryBatch) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Announces a position to other processes when the current transaction ends; undefined if the database cannot. */
  readonly announce: ((journal: string, position: number) => Effect.Effect<unknown, SqlError>) | undefined
  /** Locks a projection's row until the transaction ends, and returns its version and position. */
  readonly lockProjection: (journal: string, name: string) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  readonly tableExists: (table: string) => Effect.Effect<boolean, SqlError>
  /** The larger of two numbers. */
  readonly greatest: Fragment
}
