/**
 * Events by the index on block, instance and sequence: a block of an instance is read in one go. There is no index on instance
 * and sequence alone, because each of 50 busy instances would change a page of its own there with every commit.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Fragment } from "effect/unstable/sql/Statement"
import type { InstanceKey } from "../Commit.ts"
import type { Dialect } from "../sql/Dialect.ts"
import type { EventReading } from "../sql/EventReading.ts"
import { keysOf, surrogate } from "../sql/keys.ts"
import { type Row, wholeOf } from "../sql/Row.ts"

/** The blocks of the sequence numbers after one and through another. Whoever uses them compares the sequence too. */
const blocks = (sql: SqlClient, after: number, through: Fragment): Fragment => sql`(
  with recursive blocks (block) as (
    select (${after} + 1) >> 5 union all select block + 1 from blocks where block < ${through} >> 5
  )
  select block from blocks
)`

export const within =
  (sql: SqlClient) =>
  (after: number, through: number): Fragment =>
    sql`block in ${blocks(sql, after, sql`${through}`)} and sequence > ${after} and sequence <= ${through}`

export const readEvents = (dialect: Dialect): EventReading => {
  const { sql, instances, snapshots, events, keys } = dialect
  /** With the instance's last sequence number of that moment, beyond which there are no blocks. */
  const page = (key: InstanceKey, after: number, through: number, limit: number) => {
    const instance = surrogate(dialect, key)
    const last = sql`(select sequence from ${instances} where instance = ${instance})`
    return sql<Row>`
      select sequence, at, tag, body, dedupe_id, ${last} as last from ${events}
      where instance = ${instance} and block in ${blocks(sql, after, sql`min(${through}, ${last})`)}
      and sequence > ${after} and sequence <= ${through}
      order by block, sequence limit ${limit}`
  }
  return {
    // Where nothing was pruned, the next `limit` sequence numbers are all there. Only if not, those up to the last are looked
    // for: a list of all their blocks for every page would make the replay of a long journal quadratic. What is written in
    // between comes after the last and leaves no hole.
    events: (key, after, limit) =>
      Effect.flatMap(page(key, after, after + limit, limit), (rows) => {
        const [first] = rows
        if (first === undefined) return page(key, after, Number.MAX_SAFE_INTEGER, limit)
        const last = wholeOf(first, "last")
        if (rows.length === limit || last <= after + limit) return Effect.succeed(rows)
        return Effect.map(page(key, after + limit, last, limit - rows.length), (others) => [...rows, ...others])
      }),
    tails: (requested) => sql<Row>`
      with recursive tails (machine, id, instance, after, block, last) as (
        select i.machine, i.id, i.instance, coalesce(s.sequence, 0), (coalesce(s.sequence, 0) + 1) >> 5, i.sequence >> 5
        from ${keys(keysOf(requested))} k
        join ${instances} i on i.machine = k.machine and i.id = k.id
        left join ${snapshots} s on s.instance = i.instance
        union all
        select machine, id, instance, after, block + 1, last from tails where block < last
      )
      select t.machine, t.id, e.sequence, e.at, e.tag, e.body, e.dedupe_id
      from tails t cross join ${events} e on e.block = t.block and e.instance = t.instance and e.sequence > t.after
      order by e.instance, e.sequence`,
  }
}
