/**
 * A command that failed for good and that an operator retries begins a new round; its instance accepts the event that follows once per
 * round.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const rounds = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe(`alter table detent_commands add column round integer not null default 0`)
})
