/** Keys of commands are unique within their queue, no longer in all queues together. The index also finds a key in any queue. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { rebuildTable } from "./rebuildTable.ts"

const table = `create table detent_commands_new (
  id integer primary key,
  instance integer,
  key text not null,
  queue text not null,
  slot text not null,
  parameters text not null,
  sequence integer not null,
  status text not null default 'pending',
  waits integer not null default 0,
  ordered integer not null default 0,
  counted integer not null default 0,
  dead integer not null default 0,
  priority integer not null default 0,
  attempts integer not null default 0,
  claims integer not null default 0,
  run_at integer not null,
  claimed_by text,
  claimed_until integer,
  last_error text,
  enqueued_at integer not null,
  finished_at integer,
  round integer not null default 0
)`

const columns = `id, instance, key, queue, slot, parameters, sequence, status, waits, ordered, counted, dead, priority, attempts, claims, run_at,
  claimed_by, claimed_until, last_error, enqueued_at, finished_at, round`

const indexes = [
  `create unique index detent_commands_key on detent_commands (key, queue)`,
  `create index detent_commands_open on detent_commands (queue, priority desc, id) where finished_at is null and not waits`,
  `create index detent_commands_waiting on detent_commands (queue, run_at) where waits`,
  `create index detent_commands_ordered on detent_commands (instance, id) where ordered and finished_at is null`,
  `create index detent_commands_instance on detent_commands (instance, id) where instance is not null`,
  `create index detent_commands_counted on detent_commands (queue) where counted`,
  `create index detent_commands_dead on detent_commands (id) where dead`,
  `create index detent_commands_finished on detent_commands (finished_at) where finished_at is not null`,
]

export const keys = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* rebuildTable({ name: "detent_commands", table, columns })
  for (const index of indexes) yield* sql.unsafe(index)
})
