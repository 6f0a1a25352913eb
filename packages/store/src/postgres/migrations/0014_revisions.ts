/** How often events of an instance were rewritten: nodes that decided on the events before are refused. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const revisions = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`alter table ${schema}.instances add column revision integer not null default 0`)
  })
