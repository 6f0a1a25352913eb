/** The listing: the tables by which instances are listed and counted, see sql/Listing.ts. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `create table detent_moves (instances text not null)`,
  `create table detent_listing (
    instance integer primary key,
    machine text not null,
    id text not null,
    tag text not null,
    status text not null,
    updated_at integer not null
  )`,
  `create table detent_counts (
    machine text not null,
    tag text not null,
    instances integer not null,
    primary key (machine, tag)
  ) without rowid`,
  `insert into detent_listing (instance, machine, id, tag, status, updated_at)
    select instance, machine, id, tag, status, updated_at from detent_instances`,
  `insert into detent_counts (machine, tag, instances) select machine, tag, count(*) from detent_instances group by machine, tag`,
  `create index detent_listing_changed on detent_listing (updated_at, machine, id)`,
  `create index detent_listing_machine on detent_listing (machine, updated_at, id)`,
  `create index detent_listing_state on detent_listing (machine, tag, updated_at, id)`,
  `create index detent_listing_status on detent_listing (status, machine, updated_at, id) where status <> 'running'`,
]

export const listing = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
