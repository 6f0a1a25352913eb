/** Brings the listing up to date on SQLite, in one transaction. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { foldInstances, foldRows } from "../sql/Listing.ts"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import type { Run, Transact } from "./transaction.ts"

export const foldMoves = (sql: SqlClient, transact: Transact): Effect.Effect<boolean, SqlError> =>
  // Most reads find nothing to fold, and take no lock.
  Effect.flatMap(sql.unsafe<Row>(`select 1 from detent_moves limit 1`), (rows) =>
    rows.length === 0 ? Effect.succeed(false) : transact(foldStep),
  )

const foldStep = (run: Run): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    const rows = yield* run(`select rowid as number, instances from detent_moves order by rowid limit ${foldRows}`, [])
    const touched = new Set<unknown>()
    let last = 0
    for (const row of rows) {
      for (const instance of JSON.parse(textOf(row, "instances")) as ReadonlyArray<unknown>) touched.add(instance)
      last = wholeOf(row, "number")
      if (touched.size >= foldInstances) break
    }
    const instances = JSON.stringify([...touched])
    yield* run(count, [instances, instances])
    const revalued = yield* run(selectRevalued, [instances])
    yield* run(remove, [instances])
    yield* run(write, [instances])
    if (revalued.length > 0) {
      const changed = JSON.stringify(revalued.map((row) => wholeOf(row, "instance")))
      yield* run(removeFields, [changed])
      yield* run(writeFields("fields", 0), [changed])
      yield* run(writeFields("labels", 1), [changed])
    }
    yield* run(`delete from detent_moves where rowid <= ?`, [last])
    return rows.length === foldRows || touched.size >= foldInstances
  })

const count = `
  insert into detent_counts as c (machine, tag, instances)
  select machine, tag, sum(delta) from (
    select i.machine, i.tag, 1 as delta from json_each(?) t cross join detent_instances i on i.instance = t.value
    union all
    select l.machine, l.tag, -1 from json_each(?) t cross join detent_listing l on l.instance = t.value
  )
  where true
  group by machine, tag having sum(delta) <> 0
  on conflict (machine, tag) do update set instances = c.instances + excluded.instances`

const remove = `
  delete from detent_listing where instance in (
    select value from json_each(?) where not exists (select 1 from detent_instances i where i.instance = value)
  )`

/** The row key of a removed instance may belong to another one since: SQLite reuses the greatest keys. */
const write = `
  insert into detent_listing as l (instance, machine, id, tag, status, updated_at, fields, labels)
  select i.instance, i.machine, i.id, i.tag, i.status, i.updated_at, i.fields, i.labels
  from json_each(?) t cross join detent_instances i on i.instance = t.value
  where true
  on conflict (instance) do update
  set machine = excluded.machine, id = excluded.id, tag = excluded.tag, status = excluded.status, updated_at = excluded.updated_at,
    fields = excluded.fields, labels = excluded.labels
  where (l.machine, l.id, l.tag, l.status, l.updated_at)
      <> (excluded.machine, excluded.id, excluded.tag, excluded.status, excluded.updated_at)
    or l.fields is not excluded.fields or l.labels is not excluded.labels`

/** Instances whose indexed values or labels are not those of the listing. */
const selectRevalued = `
  select t.value as instance
  from json_each(?) t left join detent_instances i on i.instance = t.value left join detent_listing l on l.instance = t.value
  where i.fields is not l.fields or i.labels is not l.labels
    or ((i.fields is not null or i.labels is not null) and (i.id, i.machine) <> (l.id, l.machine))`

const removeFields = `delete from detent_fields where instance in (select value from json_each(?))`

const writeFields = (column: "fields" | "labels", isLabel: 0 | 1): string => `
  insert into detent_fields (instance, is_label, name, machine, id, text, number)
  select i.instance, ${isLabel}, v.key, i.machine, i.id,
    case v.type when 'text' then v.value end,
    case v.type when 'true' then 1 when 'false' then 0 when 'text' then null else v.value end
  from json_each(?) t cross join detent_instances i on i.instance = t.value cross join json_each(i.${column}) v`
