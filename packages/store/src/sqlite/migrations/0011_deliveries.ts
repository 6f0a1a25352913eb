/** The column in which a copy of a database of many nodes keeps the ids under which the nodes sent events to one another. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const deliveries = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe("alter table detent_events add column delivery text")
})
