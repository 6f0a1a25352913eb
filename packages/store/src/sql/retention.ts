/** Removes instances that ended long ago, with all their rows, and leases that have ended. */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { Dialect } from "./Dialect.ts"
import type { Row } from "./Row.ts"
import { wholeOf } from "./Row.ts"

/** Runs before anything is read: SQLite refuses to write in a transaction if another process has written since its first read. */
const takeWriteLock = ({ sql, leases }: Dialect) => sql`update ${leases} set token = token where name = ''`

/**
 * Removes instances of a machine that ended this long ago by the store's clock, with journal, snapshot, timers and commands: commands of a
 * later instance with the same id would have the same keys. Instances with an unfinished command or a dead letter are kept. Returns the
 * number of removed instances.
 */
export const purgeEnded = (dialect: Dialect, machine: string, endedMillis: number, limit: number): Effect.Effect<number, SqlError> =>
  dialect.sql.withTransaction(
    Effect.gen(function* () {
      yield* takeWriteLock(dialect)
      const now = yield* dialect.now
      let removed = 0
      for (const status of ["final", "stopped"]) {
        if (removed >= limit) break
        const found = yield* endedRows(dialect, machine, status, sqlBefore(dialect, now, endedMillis), limit - removed)
        if (found.length === 0) continue
        const chosen = found.map((row) => wholeOf(row, "instance"))
        for (const table of [dialect.events, dialect.snapshots, dialect.timers, dialect.commands, dialect.instances])
          yield* removeFrom(dialect, table, chosen)
        yield* dialect.sql`${dialect.insertMoves(chosen)}`
        removed += chosen.length
      }
      return removed
    }),
  )

/** How many instances `purgeEnded` would remove. */
export const countEnded = (dialect: Dialect, machine: string, endedMillis: number): Effect.Effect<number, SqlError> =>
  Effect.gen(function* () {
    const before = sqlBefore(dialect, yield* dialect.now, endedMillis)
    const counts = yield* Effect.forEach(["final", "stopped"], (status) =>
      Effect.map(dialect.sql<Row>`select count(*) as ended from ${ended(dialect, machine, status, before)}`, ([row]) =>
        wholeOf(row ?? {}, "ended"),
      ),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  })

const sqlBefore = ({ sql }: Dialect, now: Fragment, millis: number): Fragment => sql`(select ${now} - ${Math.ceil(millis)})`

const endedRows = (dialect: Dialect, machine: string, status: string, before: Fragment, limit: number) => {
  const { sql, lockInstances } = dialect
  return sql<Row>`select i.instance from ${ended(dialect, machine, status, before)} order by l.updated_at limit ${limit} ${lockInstances}`
}

/** Instances `i` that ended before a time, by the listing `l`. */
const ended = (dialect: Dialect, machine: string, status: string, before: Fragment): Fragment => {
  const { sql, listing, commands } = dialect
  return sql`
    ${listing} l ${dialect.joinInstances} i on i.instance = l.instance
    where l.machine = ${machine} and l.status = ${status} and l.status <> 'running' and l.updated_at <= ${before}
      and i.machine = ${machine} and i.status = ${status} and i.updated_at <= ${before} and not i.owes
      and not exists (select 1 from ${commands} c where c.instance = i.instance and (c.finished_at is null or c.status = 'failed'))`
}

const removeFrom = ({ sql }: Dialect, table: Fragment, chosen: ReadonlyArray<number>) =>
  sql`delete from ${table} where instance in ${sql.in(chosen)}`

/**
 * Removes leases that ended this long ago. A later lease of the same name starts with a token greater than any removed one: the row with an
 * empty name keeps the greatest.
 */
export const purgeLeases = (dialect: Dialect, endedMillis: number, limit: number): Effect.Effect<number, SqlError> =>
  dialect.sql.withTransaction(
    Effect.gen(function* () {
      const { sql, leases } = dialect
      yield* takeWriteLock(dialect)
      const before = sqlBefore(dialect, yield* dialect.now, endedMillis)
      const ended = sql`select name from ${leases} where name <> '' and expires_at <= ${before} order by name limit ${limit}`
      const removed = yield* sql<Row>`delete from ${leases} where name in (${ended}) and expires_at <= ${before} returning token`
      if (removed.length === 0) return 0
      // The tokens of exactly the removed rows: a lease may have been released since any earlier statement.
      const greatest = Math.max(...removed.map((row) => wholeOf(row, "token")))
      yield* sql`
        insert into ${leases} as floor (name, owner, token, expires_at) values ('', '', ${greatest}, 0)
        on conflict (name) do update
        set token = case when excluded.token > floor.token then excluded.token else floor.token end`
      return removed.length
    }),
  )
