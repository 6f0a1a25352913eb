import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { commandsConformance } from "../../testing/commandsConformance.ts"
import { postgresLayer } from "../support/Postgres.ts"

commandsConformance<SqlClient>("PostgreSQL", postgresLayer, {
  inTransaction: (effect) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(effect)),
})
