/** How often events of an instance were rewritten: nodes that decided on the events before are refused. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const revisions = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.unsafe("alter table detent_instances add column revision integer not null default 0")
})
