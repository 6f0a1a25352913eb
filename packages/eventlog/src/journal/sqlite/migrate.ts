/** The tables of domain events on SQLite. */

import { migrateSqliteTables } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `create table detent_domain_journals (
    journal text primary key not null,
    position integer not null,
    emptied integer not null default 0
  )`,
  `create table detent_domain_events (
    journal text not null,
    position integer not null,
    id blob not null,
    origin blob,
    event text not null,
    primary_key text not null,
    payload blob not null,
    unique (journal, position),
    unique (journal, id)
  )`,
  // For conflicts with events of a remote, and for events that a newer one makes obsolete.
  `create index detent_domain_events_key on detent_domain_events (journal, event, primary_key, id)`,
  `create table detent_domain_remotes (
    journal text not null,
    remote blob not null,
    sequence integer not null default 0,
    sent integer not null default 0,
    primary key (journal, remote)
  )`,
  `create table detent_domain_projections (
    journal text not null,
    name text not null,
    version integer not null,
    position integer not null,
    primary key (journal, name)
  )`,
]

const events = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})

/**
 * Makes writers wait for other processes; readers need not. The client of the store waits in its own way and sets its own timeout.
 * Switching to WAL fails immediately while another process does the same, so it is retried.
 */
const configure = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ readonly timeout: number }>`pragma busy_timeout`
  if (row?.timeout === 0) yield* sql`pragma busy_timeout = 5000`
  yield* Effect.retry(sql`pragma journal_mode = wal`, { schedule: Schedule.spaced("50 millis"), times: 100 })
})

export const migrate = Effect.andThen(configure, migrateSqliteTables("detent_domain_migrations", { "0001_events": events }))
