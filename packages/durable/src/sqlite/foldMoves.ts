/** Brings the listing up to date on SQLite, in one transaction. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { foldLimit } from "../sql/Listing.ts"
import type { Row } from "../sql/Row.ts"
import { textOf, wholeOf } from "../sql/Row.ts"
import type { Run, Transact } from "./transaction.ts"

export const foldMoves = (sql: SqlClient, transact: Transact): Effect.Effect<number, SqlError> =>
  // Most readings find nothing to fold, and take no lock.
  Effect.flatMap(sql.unsafe<Row>(`select 1 from detent_moves limit 1`), (rows) =>
    rows.length === 0 ? Effect.succeed(0) : transact(foldStep),
  )

const foldStep = (run: Run): Effect.Effect<number, SqlError> =>
  Effect.gen(function* () {
    const moves = yield* run(`select rowid as number, instances from detent_moves order by rowid limit ${foldLimit}`, [])
    const last = moves.at(-1)
    if (last === undefined) return 0
    const touched = JSON.stringify([...new Set(moves.flatMap((row): ReadonlyArray<unknown> => JSON.parse(textOf(row, "instances"))))])
    yield* run(count, [touched, touched])
    yield* run(remove, [touched])
    yield* run(write, [touched])
    yield* run(`delete from detent_moves where rowid <= ?`, [wholeOf(last, "number")])
    return moves.length
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

const write = `
  insert into detent_listing as l (instance, machine, id, tag, status, updated_at)
  select i.instance, i.machine, i.id, i.tag, i.status, i.updated_at
  from json_each(?) t cross join detent_instances i on i.instance = t.value
  where true
  on conflict (instance) do update set tag = excluded.tag, status = excluded.status, updated_at = excluded.updated_at
  where l.tag <> excluded.tag or l.status <> excluded.status or l.updated_at <> excluded.updated_at`
