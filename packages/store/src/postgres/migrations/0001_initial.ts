/** The first tables of the store on PostgreSQL. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

// Names are compared by bytes: that is faster than by the rules of a language, and the same on every server.
const statements = (schema: string) => [
  // Half of each page is left free: a changed row then stays in its page, and no index changes, also when all
  // instances of a page change at once. With a third left free, that cost 16 µs of CPU each instead of 12.5. For the same
  // reason updated_at has no index, though lists are sorted by it: one costs each commit about 6 µs of CPU and 250 bytes of WAL.
  `create table ${schema}.instances (
    instance bigint generated always as identity primary key,
    started_at bigint not null,
    updated_at bigint not null,
    sequence integer not null,
    version integer not null,
    resident boolean not null,
    machine text collate "C" not null,
    id text collate "C" not null,
    tag text not null,
    status text not null,
    reason text,
    origin text,
    unique (machine, id)
  ) with (fillfactor = 50)`,
  // Serves the query at a restart. It only changes when work starts or ends, so that most commits do not touch it.
  `create index instances_resident on ${schema}.instances (machine) where resident`,
  `create table ${schema}.events (
    instance bigint not null,
    at bigint not null,
    sequence integer not null,
    tag text not null,
    body text not null,
    dedupe_id text collate "C",
    primary key (instance, sequence)
  )`,
  `create unique index events_dedupe on ${schema}.events (instance, dedupe_id) where dedupe_id is not null`,
  `create table ${schema}.snapshots (
    instance bigint primary key,
    at bigint not null,
    sequence integer not null,
    version integer not null,
    body text not null
  )`,
  `create table ${schema}.timers (
    instance bigint not null,
    due bigint not null,
    claimed_until bigint not null default 0,
    entry integer not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    name text collate "C" not null,
    claimed_by text,
    problem text,
    primary key (instance, name)
  )`,
  // Contains the columns that order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index timers_due on ${schema}.timers (due, instance, name) where not dead`,
  `create index timers_dead on ${schema}.timers (due) where dead`,
  `create table ${schema}.leases (
    name text collate "C" primary key,
    owner text not null,
    token bigint not null,
    expires_at bigint not null
  )`,
  `create table ${schema}.commands (
    id bigint generated always as identity primary key,
    instance bigint not null,
    run_at bigint not null,
    claimed_until bigint,
    enqueued_at bigint not null,
    finished_at bigint,
    sequence integer not null,
    priority integer not null default 0,
    attempts integer not null default 0,
    status text not null default 'pending',
    queue text not null default 'default',
    key text collate "C" not null unique,
    slot text not null,
    parameters text not null,
    claimed_by text,
    last_error text
  )`,
  `create index commands_instance on ${schema}.commands (instance)`,
  `create index commands_ready on ${schema}.commands (queue, priority, run_at) where status in ('pending', 'processing')`,
]

export const initial = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
