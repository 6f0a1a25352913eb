/**
 * Timers store their machine, so that the due timers of a machine are found however many others there are, and the lease under which they
 * are claimed, so that the claims of a node end with its lease.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `alter table detent_timers add column machine text`,
  `alter table detent_timers add column claim_lease text`,
  `alter table detent_timers add column claim_token integer`,
  `update detent_timers set machine = (select i.machine from detent_instances i where i.instance = detent_timers.instance)`,
  // The last columns order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index detent_timers_machine on detent_timers (machine, due, instance, name) where not dead`,
  `drop index detent_timers_due`,
]

export const timers = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
