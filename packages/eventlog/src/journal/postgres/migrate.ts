/** The tables of domain events on PostgreSQL. */

import { migratePostgresTables } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = (schema: string) => [
  // One row per journal, changed by each batch: with room in its page no index has to be updated.
  `create table ${schema}.domain_journals (
    position bigint not null,
    emptied integer not null default 0,
    journal text collate "C" primary key
  ) with (fillfactor = 10)`,
  `create table ${schema}.domain_events (
    position bigint not null,
    id uuid not null,
    origin uuid,
    journal text collate "C" not null,
    event text collate "C" not null,
    primary_key text collate "C" not null,
    payload bytea not null,
    primary key (journal, position),
    unique (journal, id)
  )`,
  // For conflicts with events of a remote, and for events that a newer one makes obsolete.
  `create index domain_events_key on ${schema}.domain_events (journal, event, primary_key, id)`,
  `create table ${schema}.domain_remotes (
    sequence bigint not null default 0,
    sent bigint not null default 0,
    remote uuid not null,
    journal text collate "C" not null,
    primary key (journal, remote)
  )`,
  `create table ${schema}.domain_projections (
    position bigint not null,
    version integer not null,
    journal text collate "C" not null,
    name text collate "C" not null,
    primary key (journal, name)
  ) with (fillfactor = 10)`,
]

const events = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })

export const migrate = (schema: string) => migratePostgresTables(schema, "domain_migrations", { "0001_events": events(schema) })
