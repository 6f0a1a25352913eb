/** Brings the listing up to date on PostgreSQL, for tables in a schema. One process at a time; the others wait for it. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { foldRows } from "../sql/Listing.ts"
import { flagOf, type Row, wholeOf } from "../sql/Row.ts"

/**
 * A step takes moves until they name so many instances, or more. Busy instances are named many times, and a step writes each once. So the
 * next step takes twice as many names, unless this one wrote more than `manyInstances`: with 12,000 instances that changed 40,000 times a
 * second, steps of 10,000 names wrote nearly every change, and doubled PostgreSQL's CPU time for a commit. Unlike on SQLite, a step does
 * not block the thread of the process.
 */
const fewestNames = 10_000
const mostNames = 200_000

/** A step that writes more instances than this is followed by a smaller one. */
export const manyInstances = 20_000

export const foldMoves = (sql: SqlClient, schema: string): Effect.Effect<boolean, SqlError> => {
  const [any, fold] = [anyMoves(schema), foldStatement(schema)]
  let names = fewestNames
  const locked = sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtext(${`${schema}.moves`}))::text`
      const [row] = yield* sql.unsafe<Row>(fold, [names])
      if (row === undefined) return false
      const mayBeMore = flagOf(row, "may_be_more")
      if (wholeOf(row, "touched") > manyInstances) names = Math.max(fewestNames, names / 2)
      else if (mayBeMore) names = Math.min(mostNames, names * 2)
      return mayBeMore
    }),
  )
  // Most reads find nothing to fold, and take no lock.
  return Effect.flatMap(sql.unsafe<Row>(any, []), (rows) => (rows.length === 0 ? Effect.succeed(false) : locked))
}

const anyMoves = (schema: string): string => `select 1 as any from ${schema}.moves limit 1`

/**
 * All parts see the tables as of the start of the statement: the instances are as the moves left them, or newer, and then another move
 * names them. The planner cannot know how many instances the moves name. So every join has a table with an index on one side: to join two
 * results of this statement, PostgreSQL would compare every pair of rows.
 */
const foldStatement = (schema: string): string => `
  with first as materialized (
    select place, named from (
      select place, named, sum(named) over (order by place) - named as before
      from (select ctid as place, cardinality(instances) as named from ${schema}.moves limit ${foldRows}) m
    ) s where before < $1::integer
  ), taken as (
    delete from ${schema}.moves where ctid = any (array(select place from first)) returning instances
  ), touched as materialized (
    select distinct unnest(instances) as instance from taken
  ), present as materialized (
    select i.instance, i.machine, i.id, i.tag, i.status, i.updated_at, i.fields, i.labels
    from touched t join ${schema}.instances i on i.instance = t.instance
  ), listed as materialized (
    select l.instance, l.machine, l.tag, i.instance is null as is_gone
    from touched t join ${schema}.listing l on l.instance = t.instance left join ${schema}.instances i on i.instance = t.instance
  ), removed as (
    delete from ${schema}.listing l using listed o where o.is_gone and l.instance = o.instance
  ), written as (
    insert into ${schema}.listing as l (instance, machine, id, tag, status, updated_at, fields, labels)
    select instance, machine, id, tag, status, updated_at, fields, labels from present
    on conflict (instance) do update
    set tag = excluded.tag, status = excluded.status, updated_at = excluded.updated_at, fields = excluded.fields, labels = excluded.labels
    where (l.tag, l.status, l.updated_at, l.fields, l.labels)
      is distinct from (excluded.tag, excluded.status, excluded.updated_at, excluded.fields, excluded.labels)
  ), revalued as materialized (
    select p.instance, p.machine, p.id, coalesce(p.fields, '{}')::jsonb as fields, coalesce(p.labels, '{}')::jsonb as labels
    from present p left join ${schema}.listing l on l.instance = p.instance
    where (p.fields is not null or p.labels is not null) and (p.fields, p.labels) is distinct from (l.fields, l.labels)
  ), dropped as (
    delete from ${schema}.fields f using revalued r
    where f.instance = r.instance and not case when f.is_label then r.labels else r.fields end ? f.name
  ), forgotten as (
    delete from ${schema}.fields f using listed o where o.is_gone and f.instance = o.instance
  ), valued as (
    insert into ${schema}.fields as f (instance, machine, id, is_label, name, text, number)
    select r.instance, r.machine, r.id, v.is_label, v.name,
      case jsonb_typeof(v.value) when 'string' then v.value #>> '{}' end,
      case jsonb_typeof(v.value) when 'number' then (v.value #>> '{}')::double precision when 'boolean' then (v.value = 'true')::integer end
    from revalued r cross join lateral (
      select false as is_label, key as name, value from jsonb_each(r.fields)
      union all select true, key, value from jsonb_each(r.labels)
    ) v
    on conflict (instance, is_label, name) do update set text = excluded.text, number = excluded.number
    where (f.text, f.number) is distinct from (excluded.text, excluded.number)
  ), counted as (
    insert into ${schema}.counts as c (machine, tag, instances)
    select machine, tag, sum(delta) from (
      select machine, tag, 1 as delta from present union all select machine, tag, -1 from listed
    ) d
    group by machine, tag having sum(delta) <> 0
    on conflict (machine, tag) do update set instances = c.instances + excluded.instances
  )
  select count(*) = ${foldRows} or coalesce(sum(named), 0) >= $1::integer as may_be_more,
    (select count(*) from touched)::integer as touched from first`
