/** Reads the id of the database from the table that stores it. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabaseId } from "../contract/DatabaseId.ts"
import { type Row, textOf } from "./Row.ts"

export const readDatabaseId = (sql: SqlClient, table: string): Effect.Effect<DatabaseId, SqlError> =>
  Effect.map(sql.unsafe<Row>(`select id from ${table}`), ([row]) => textOf(row ?? {}, "id"))
