import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { commandsConformance } from "../../testing/commandsConformance.ts"
import { sqliteLayer } from "../support/Sqlite.ts"

commandsConformance<SqlClient>("SQLite", sqliteLayer, {
  inTransaction: (effect) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(effect)),
})
