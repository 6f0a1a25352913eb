/**
 * Reads events by the index on block, instance and sequence, one block of an instance after the other. There is no index on instance and
 * sequence alone, because each of 50 busy instances would change a page of its own there with every commit.
 *
 * The statements name the index instead of relying on statistics: those of a nearly empty file make SQLite read the whole table when it has
 * grown.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { Dialect, EventReading } from "../sql/Dialect.ts"
import { livesOf, surrogateOfLife } from "../sql/keys.ts"
import type { Row } from "../sql/Row.ts"
import type { BulkReading } from "../sql/SqlJournalReader.ts"

export const within =
  (sql: SqlClient) =>
  (instance: Fragment, after: number, through: number): Fragment =>
    sql`sequence > ${after} and sequence <= ${through} and block in (
      select block from detent_blocks where instance = ${instance} and block >= (${after} + 1) >> 5 and block <= ${through} >> 5
    )`

export const readEvents = (dialect: Dialect): EventReading => {
  const { sql, instances, snapshots, lives } = dialect
  return {
    events: (key, after, limit) => sql<Row>`
      select e.sequence, e.at, e.tag, e.body, e.dedupe_id
      from detent_blocks b cross join detent_events e indexed by detent_events_sequence
        on e.block = b.block and e.instance = b.instance
      where b.instance = ${surrogateOfLife(dialect, key)} and b.block >= (${after} + 1) >> 5 and e.sequence > ${after}
      order by b.block, e.sequence limit cast(${limit} as integer)`,
    tails: (requested) => sql<Row>`
      select i.machine, i.id, e.sequence, e.at, e.tag, e.body, e.dedupe_id
      from ${lives(livesOf(requested))} k
      cross join ${instances} i on i.machine = k.machine and i.id = k.id and i.started_at = coalesce(k.started_at, i.started_at)
      left join ${snapshots} s on s.instance = i.instance
      cross join detent_blocks b on b.instance = i.instance and b.block >= (coalesce(s.sequence, 0) + 1) >> 5
      cross join detent_events e indexed by detent_events_sequence
        on e.block = b.block and e.instance = b.instance and e.sequence > coalesce(s.sequence, 0)
      order by e.instance, e.sequence`,
  }
}

/** A transaction of a file that was opened to read only cannot write, so nothing need be said when it begins. */
export const readJournals = ({ sql }: Dialect): BulkReading => ({
  begin: Effect.void,
  journals: (instances) => sql<Row>`
    select e.instance, e.sequence, e.at, e.tag, e.body, e.dedupe_id
    from json_each(${JSON.stringify(instances)}) k
    cross join detent_blocks b on b.instance = k.value
    cross join detent_events e indexed by detent_events_sequence on e.block = b.block and e.instance = b.instance
    order by k.key, b.block, e.sequence`,
})
