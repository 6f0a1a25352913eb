/** The first tables of the store on SQLite. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `create table detent_instances (
    instance integer primary key,
    machine text not null,
    id text not null,
    tag text not null,
    status text not null,
    reason text,
    sequence integer not null,
    version integer not null,
    resident integer not null,
    started_at integer not null,
    updated_at integer not null,
    origin text,
    unique (machine, id)
  )`,
  // Serves the query at a restart. It only changes when work starts or ends, so that most commits do not touch it.
  `create index detent_instances_resident on detent_instances (machine) where resident`,
  // With rowid, events are appended: 5 µs of CPU each in transactions of 500, one event per instance. Without it they are inserted between
  // others, which takes 22 to 25 µs.
  `create table detent_events (
    instance integer not null,
    sequence integer not null,
    at integer not null,
    tag text not null,
    body text not null,
    dedupe_id text,
    unique (instance, sequence)
  )`,
  `create unique index detent_events_dedupe on detent_events (instance, dedupe_id) where dedupe_id is not null`,
  `create table detent_snapshots (
    instance integer primary key,
    sequence integer not null,
    at integer not null,
    version integer not null,
    body text not null
  )`,
  `create table detent_timers (
    instance integer not null,
    name text not null,
    entry integer not null,
    due integer not null,
    claimed_by text,
    claimed_until integer not null default 0,
    attempts integer not null default 0,
    dead integer not null default 0,
    problem text,
    primary key (instance, name)
  ) without rowid`,
  // Contains the columns that order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index detent_timers_due on detent_timers (due, instance, name) where not dead`,
  `create index detent_timers_dead on detent_timers (due) where dead`,
  `create table detent_leases (
    name text primary key,
    owner text not null,
    token integer not null,
    expires_at integer not null
  ) without rowid`,
  `create table detent_commands (
    id integer primary key,
    instance integer not null,
    key text not null unique,
    queue text not null default 'default',
    slot text not null,
    parameters text not null,
    sequence integer not null,
    status text not null default 'pending',
    priority integer not null default 0,
    attempts integer not null default 0,
    run_at integer not null,
    claimed_by text,
    claimed_until integer,
    last_error text,
    enqueued_at integer not null,
    finished_at integer
  )`,
  `create index detent_commands_instance on detent_commands (instance)`,
  `create index detent_commands_ready on detent_commands (queue, priority, run_at) where status in ('pending', 'processing')`,
]

export const initial = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
