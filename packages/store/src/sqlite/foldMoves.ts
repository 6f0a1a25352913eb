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
    yield* run(remove, [instances])
    yield* run(write, [instances])
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
  insert into detent_listing as l (instance, machine, id, tag, status, updated_at)
  select i.instance, i.machine, i.id, i.tag, i.status, i.updated_at
  from json_each(?) t cross join detent_instances i on i.instance = t.value
  where true
  on conflict (instance) do update
  set machine = excluded.machine, id = excluded.id, tag = excluded.tag, status = excluded.status, updated_at = excluded.updated_at
  where (l.machine, l.id, l.tag, l.status, l.updated_at)
    <> (excluded.machine, excluded.id, excluded.tag, excluded.status, excluded.updated_at)`
