import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { commandsConformance } from "../../testing/commandsConformance.ts"

commandsConformance<SqlClient>("SQLite", sqliteLayer, {
  inTransaction: (effect) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(effect)),
})
