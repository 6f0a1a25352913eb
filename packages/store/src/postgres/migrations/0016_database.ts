/** The id of the database: the first 48 bits of a random UUID. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const database = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`create table ${schema}.database (id text primary key)`)
    yield* sql.unsafe(`insert into ${schema}.database (id) select left(replace(gen_random_uuid()::text, '-', ''), 12)`)
  })
