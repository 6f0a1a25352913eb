import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { postgresLayer } from "../../../store/test/support/Postgres.ts"
import { commandsConformance } from "../../testing/commandsConformance.ts"

commandsConformance<SqlClient>("PostgreSQL", postgresLayer, {
  inTransaction: (effect) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(effect)),
})
