/** The listing: the tables by which instances are listed and counted, see sql/Listing.ts. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = (schema: string) => [
  `create table ${schema}.moves (instances bigint[] not null)
    with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)`,
  `create table ${schema}.listing (
    instance bigint primary key,
    updated_at bigint not null,
    machine text collate "C" not null,
    id text collate "C" not null,
    tag text collate "C" not null,
    status text not null
  )`,
  `create table ${schema}.counts (
    machine text collate "C" not null,
    tag text collate "C" not null,
    instances bigint not null,
    primary key (machine, tag)
  )`,
  `insert into ${schema}.listing (instance, machine, id, tag, status, updated_at)
    select instance, machine, id, tag, status, updated_at from ${schema}.instances`,
  `insert into ${schema}.counts (machine, tag, instances) select machine, tag, count(*) from ${schema}.instances group by machine, tag`,
  `create index listing_changed on ${schema}.listing (updated_at, machine, id)`,
  `create index listing_machine on ${schema}.listing (machine, updated_at, id)`,
  `create index listing_state on ${schema}.listing (machine, tag, updated_at, id)`,
  `create index listing_status on ${schema}.listing (status, machine, updated_at, id) where status <> 'running'`,
]

export const listing = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of statements(schema)) yield* sql.unsafe(statement)
  })
