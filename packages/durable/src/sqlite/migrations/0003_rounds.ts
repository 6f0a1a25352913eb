/** Commands that failed for good and are retried by hand begin a new round; the event that follows from them is taken once in each. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/unstable/sql/SqlClient"

export const rounds = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe(`alter table detent_commands add column round integer not null default 0`)
})
