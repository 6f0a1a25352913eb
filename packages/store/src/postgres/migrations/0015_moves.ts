/**
 * The numbers of 500 instances take 4 kB. By default PostgreSQL compresses values of more than 2 kB and stores them in another table: 0.5 ms
 * of CPU for each flush of that size, which are 1 µs for each of its commits.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const moves = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`alter table ${schema}.moves set (toast_tuple_target = 8160)`)
  })
