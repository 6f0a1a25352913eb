/** Brings the listing up to date on PostgreSQL, for tables in a schema. One process at a time; the others wait for it. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { foldLimit } from "../sql/Listing.ts"
import type { Row } from "../sql/Row.ts"
import { wholeOf } from "../sql/Row.ts"

export const foldMoves = (sql: SqlClient, schema: string): Effect.Effect<number, SqlError> => {
  const [any, fold] = [anyMoves(schema), foldStatement(schema)]
  const locked = sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtext(${`${schema}.moves`}))::text`
      const [row] = yield* sql.unsafe<Row>(fold, [])
      return row === undefined ? 0 : wholeOf(row, "taken")
    }),
  )
  // Most readings find nothing to fold, and take no lock.
  return Effect.flatMap(sql.unsafe<Row>(any, []), (rows) => (rows.length === 0 ? Effect.succeed(0) : locked))
}

const anyMoves = (schema: string): string => `select 1 as any from ${schema}.moves limit 1`

/**
 * All parts see the tables as they were at the start, so that the instances are as the moves left them, or newer: then there is
 * another move for them.
 */
const foldStatement = (schema: string): string => `
  with taken as (
    delete from ${schema}.moves where ctid = any (array(select ctid from ${schema}.moves limit ${foldLimit})) returning instances
  ), touched as materialized (
    select distinct unnest(instances) as instance from taken
  ), present as materialized (
    select i.instance, i.machine, i.id, i.tag, i.status, i.updated_at from touched t join ${schema}.instances i on i.instance = t.instance
  ), listed as materialized (
    select l.instance, l.machine, l.tag from touched t join ${schema}.listing l on l.instance = t.instance
  ), removed as (
    delete from ${schema}.listing l using listed o
    where l.instance = o.instance and not exists (select from present p where p.instance = o.instance)
  ), written as (
    insert into ${schema}.listing as l (instance, machine, id, tag, status, updated_at)
    select instance, machine, id, tag, status, updated_at from present
    on conflict (instance) do update set tag = excluded.tag, status = excluded.status, updated_at = excluded.updated_at
    where (l.tag, l.status, l.updated_at) is distinct from (excluded.tag, excluded.status, excluded.updated_at)
  ), counted as (
    insert into ${schema}.counts as c (machine, tag, instances)
    select machine, tag, sum(delta) from (
      select machine, tag, 1 as delta from present union all select machine, tag, -1 from listed
    ) d
    group by machine, tag having sum(delta) <> 0
    on conflict (machine, tag) do update set instances = c.instances + excluded.instances
  )
  select count(*)::integer as taken from taken`
