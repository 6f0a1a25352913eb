/**
 * Ended commands stay in the indexes that claims read until the table is vacuumed: each 100,000 of them since then make a claim 0.3 ms
 * longer. By default PostgreSQL waits until a fifth of the rows are dead, which can be tens of millions if many ended commands or distant
 * deadlines are kept. With this setting it vacuums at about every check.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const vacuum = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const table of ["commands", "timers"]) {
      yield* sql.unsafe(`alter table ${schema}.${table} set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.001)`)
    }
  })
