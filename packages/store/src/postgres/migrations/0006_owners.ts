/**
 * Ownership: instances whose state has work are found by owner and by id. `reason` of such an instance holds its owner and only
 * changes when the owner does, so that other commits remain HOT updates, which write to no index.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = (schema: string) => [
  `create index instances_owner on ${schema}.instances (machine, reason, id) where resident`,
  `create index instances_work on ${schema}.instances (machine, id) where resident`,
  `drop index ${schema}.instances_resident`,
]

export const owners = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
