/**
 * Ownership: instances whose state has work are found by owner and by id. `reason` of such an instance holds its owner and only
 * changes when the owner does, so that most commits touch neither index.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `create index detent_instances_owner on detent_instances (machine, reason, id) where resident`,
  `create index detent_instances_work on detent_instances (machine, id) where resident`,
  `drop index detent_instances_resident`,
]

export const owners = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
