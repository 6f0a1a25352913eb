/**
 * Ended commands stay in the indexes that claims read until the table is vacuumed: each 100,000 of them since then make a claim
 * 0.3 ms longer. PostgreSQL waits until a fifth of a table is dead, which is tens of millions where many ended commands or far
 * deadlines are kept. This setting is about as soon as PostgreSQL checks.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/unstable/sql/SqlClient"

export const vacuum = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const table of ["commands", "timers"]) {
      yield* sql.unsafe(`alter table ${schema}.${table} set (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.001)`)
    }
  })
