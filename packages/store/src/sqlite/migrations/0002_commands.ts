/**
 * The tables for executing commands on SQLite.
 *
 * A command `waits` until it is due, because it was delayed or will be retried. One partial index has the commands that can be claimed or
 * are claimed, in the order of claims; claiming changes no indexed column. `claims` grows with every claim: a worker with an earlier claim
 * can no longer finish the command.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // SQLite cannot change a column: the table is rebuilt.
  `create table detent_commands_new (
    id integer primary key,
    instance integer,
    key text not null unique,
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
    finished_at integer
  )`,
  `insert into detent_commands_new (id, instance, key, queue, slot, parameters, sequence, status, priority, attempts, run_at, enqueued_at)
    select c.id, c.instance, c.key, i.machine, c.slot, c.parameters, c.sequence, c.status, c.priority, c.attempts, c.run_at, c.enqueued_at
    from detent_commands c join detent_instances i on i.instance = c.instance`,
  `drop table detent_commands`,
  `alter table detent_commands_new rename to detent_commands`,
  `create index detent_commands_open on detent_commands (queue, priority desc, id) where finished_at is null and not waits`,
  `create index detent_commands_waiting on detent_commands (queue, run_at) where waits`,
  `create index detent_commands_ordered on detent_commands (instance, id) where ordered and finished_at is null`,
  `create index detent_commands_instance on detent_commands (instance, id) where instance is not null`,
  `create index detent_commands_counted on detent_commands (queue) where counted`,
  `create index detent_commands_dead on detent_commands (id) where dead`,
  `create index detent_commands_finished on detent_commands (finished_at) where finished_at is not null`,
  `create table detent_queues (
    name text primary key,
    paused integer not null default 0,
    concurrency integer,
    rate_limit integer,
    rate_interval integer,
    starts text not null default '[]'
  ) without rowid`,
]

export const commands = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
