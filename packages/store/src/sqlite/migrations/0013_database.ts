/** The id of the database. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const database = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe("create table detent_database (id text primary key) without rowid")
  yield* sql.unsafe("insert into detent_database (id) values (lower(hex(randomblob(6))))")
})
