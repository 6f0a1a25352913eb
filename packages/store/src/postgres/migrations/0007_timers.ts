/**
 * Timers store their machine, so that the due timers of a machine are found however many others there are, and the lease under which they
 * are claimed, so that the claims of a node end with its lease.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = (schema: string) => [
  `alter table ${schema}.timers add column machine text collate "C", add column claim_lease text collate "C", add column claim_token bigint`,
  `update ${schema}.timers t set machine = i.machine from ${schema}.instances i where i.instance = t.instance`,
  // The last columns order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index timers_machine on ${schema}.timers (machine, due, instance, name) where not dead`,
  `drop index ${schema}.timers_due`,
]

export const timers = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
