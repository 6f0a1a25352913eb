/** The ids under which nodes send events to one another. They have no index; see commit.ts. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const deliveries = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`alter table ${schema}.events add column delivery text collate "C"`)
  })
