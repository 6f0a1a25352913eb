/** Domain events on PostgreSQL. */

import type { Row } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { EventDialect } from "../EventDialect.ts"
import { announcement, channel } from "./announcements.ts"
import { migrate } from "./migrate.ts"

export const postgresEvents = (sql: SqlClient, schema: string): EventDialect => ({
  sql,
  journals: sql.literal(`${schema}.domain_journals`),
  events: sql.literal(`${schema}.domain_events`),
  remotes: sql.literal(`${schema}.domain_remotes`),
  projections: sql.literal(`${schema}.domain_projections`),
  migrate: migrate(schema),
  bytesOfId: (column) => sql.literal(`uuid_send(${column})`),
  idOfHex: (hex) => sql`${hex}::uuid`,
  bytes: (value) => sql`${value}`,
  elements: (json) => sql`jsonb_array_elements(${json}::jsonb)`,
  idOfExpression: (expression) => sql.literal(`(${expression})::uuid`),
  lock: (journal) => sql<Row>`select position from ${sql.literal(schema)}.domain_journals where journal = ${journal} for update`,
  lockName: (journal, name) => sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify([schema, journal, name])}, 0))::text`,
  // The counter's row is locked until the transaction ends. So positions become visible in order and without gaps: a reader that
  // sees position 8 sees 1 to 7, and a transaction that is rolled back returns its positions.
  append: (journal, { count, rows, payloads }) => sql<Row>`
    with counted as (
      update ${sql.literal(schema)}.domain_journals set position = position + ${count}::bigint
      where journal = ${journal} returning position
    ), stored as (
      insert into ${sql.literal(schema)}.domain_events (journal, position, id, origin, event, primary_key, payload)
      select ${journal}, counted.position - ${count}::bigint + input.n, (value ->> 0)::uuid, (value ->> 3)::uuid,
        value ->> 1, value ->> 2, substring(${payloads}::bytea from (value ->> 4)::int for (value ->> 5)::int)
      from counted, jsonb_array_elements(${rows}::jsonb) with ordinality as input (value, n)
    )
    select position from counted`,
  announce: (journal, position) => sql`select pg_notify(${channel}, ${announcement({ schema, journal, position })})::text`,
  lockProjection: (journal, name) => sql<Row>`
    select version, position from ${sql.literal(schema)}.domain_projections where journal = ${journal} and name = ${name} for update`,
  tableExists: (table) => Effect.map(sql`select 1 where to_regclass(${table}) is not null`, (rows) => rows.length > 0),
  greatest: sql.literal("greatest"),
})
