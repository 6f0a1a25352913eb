/** Durable deadlines in SQL. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Fragment } from "effect/unstable/sql/Statement"
import type { InstanceKey, TimerRecord } from "../store/Commit.ts"
import { anyMachine, persisting } from "../store/StoreFailure.ts"
import type { ClaimRequest, MachineVersions, TimersService } from "../store/Timers.ts"
import type { Dialect } from "./Dialect.ts"
import { claimedTimerOf, deadTimerOf } from "./Records.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"

type Timer = InstanceKey & TimerRecord

export const sqlTimers = (dialect: Dialect): TimersService => ({
  claim: (request) =>
    request.machines.length === 0
      ? Effect.succeed([])
      : persisting("claim", anyMachine)(Effect.map(claimDue(dialect, request), (rows) => rows.toSorted(byDue).map(claimedTimerOf))),
  nextDue: (machines, now, versions) =>
    machines.length === 0
      ? Effect.succeedNone
      : persisting(
          "nextDue",
          anyMachine,
        )(
          Effect.map(earliest(dialect, machines, now, versions), ([row]) =>
            Option.map(Option.fromNullishOr(row), (found) => wholeOf(found, "due")),
          ),
        ),
  unserved: (machines, before) =>
    persisting(
      "unserved",
      anyMachine,
    )(
      Effect.map(overdueMachines(dialect, before), (rows) =>
        rows.map((row) => textOf(row, "machine")).filter((machine) => !machines.includes(machine)),
      ),
    ),
  complete: (timer) => persisting("complete", timer)(Effect.map(deleteTimer(dialect, timer), isNotEmpty)),
  release: (timer, owner) => persisting("release", timer)(Effect.map(clearClaim(dialect, timer, owner), isNotEmpty)),
  bury: (timer, problem) => persisting("bury", timer)(Effect.map(markDead(dialect, timer, problem), isNotEmpty)),
  dead: (limit) => persisting("dead", anyMachine)(Effect.map(deadRows(dialect, limit), (rows) => rows.map(deadTimerOf))),
  revive: (timer) => persisting("revive", timer)(Effect.map(markAlive(dialect, timer), isNotEmpty)),
})

const isNotEmpty = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

/** `returning` keeps no order. */
const byDue = (left: Row, right: Row): number =>
  wholeOf(left, "due") - wholeOf(right, "due") ||
  wholeOf(left, "instance") - wholeOf(right, "instance") ||
  (textOf(left, "name") < textOf(right, "name") ? -1 : 1)

/** The machine is looked up for each timer in the order of the index; as a join it may be found by reading all instances. */
const unclaimed = ({ sql, instances }: Dialect, machines: ReadonlyArray<string>, now: number, versions: MachineVersions = {}): Fragment => {
  const known = machines.map((machine) => {
    const version = versions[machine]
    return version === undefined ? sql`when ${machine} then true` : sql`when ${machine} then i.version <= ${version}`
  })
  return sql`
    not t.dead and t.claimed_until <= ${now}
    and (
      select case i.machine ${sql.join(" ", false)(known)} else false end
      from ${instances} i where i.instance = t.instance
    )`
}

const claimDue = (dialect: Dialect, { machines, versions, now, limit, owner, until }: ClaimRequest) => {
  const { sql, timers, instances, skipLocked } = dialect
  return sql<Row>`
    with due_timers as materialized (
      select t.instance, t.name from ${timers} t
      where t.due <= ${now} and ${unclaimed(dialect, machines, now, versions)}
      order by t.due, t.instance, t.name limit ${limit} ${skipLocked}
    )
    update ${timers} set claimed_by = ${owner}, claimed_until = ${until}, attempts = attempts + 1
    from due_timers d where ${timers}.instance = d.instance and ${timers}.name = d.name
    returning ${timers}.instance, ${timers}.name, entry, due, attempts,
      (select machine from ${instances} i where i.instance = ${timers}.instance) as machine,
      (select id from ${instances} i where i.instance = ${timers}.instance) as id`
}

const earliest = (dialect: Dialect, machines: ReadonlyArray<string>, now: number, versions: MachineVersions | undefined) => {
  const { sql, timers } = dialect
  return sql<Row>`
    select t.due from ${timers} t
    where ${unclaimed(dialect, machines, now, versions)}
    order by t.due limit 1`
}

/** However many are overdue, only so many are read. */
const overdueMachines = ({ sql, timers, instances }: Dialect, before: number) => sql<Row>`
  select distinct i.machine
  from (select t.instance from ${timers} t where not t.dead and t.due <= ${before} order by t.due limit 1000) o
  join ${instances} i on i.instance = o.instance`

const thatTimer = ({ sql, instances }: Dialect, { machine, id, name, entry }: Timer): Fragment => sql`
  instance = (select instance from ${instances} where machine = ${machine} and id = ${id}) and name = ${name} and entry = ${entry}`

const deleteTimer = (dialect: Dialect, timer: Timer) => {
  const { sql, timers } = dialect
  return sql<Row>`delete from ${timers} where ${thatTimer(dialect, timer)} returning name`
}

const clearClaim = (dialect: Dialect, timer: Timer, owner: string) => {
  const { sql, timers } = dialect
  return sql<Row>`
    update ${timers} set claimed_by = null, claimed_until = 0
    where ${thatTimer(dialect, timer)} and claimed_by = ${owner}
    returning name`
}

const markDead = (dialect: Dialect, timer: Timer, problem: string) => {
  const { sql, timers } = dialect
  return sql<Row>`
    update ${timers} set dead = true, problem = ${problem}, claimed_by = null, claimed_until = 0
    where ${thatTimer(dialect, timer)} and not dead
    returning name`
}

const markAlive = (dialect: Dialect, timer: Timer) => {
  const { sql, timers } = dialect
  return sql<Row>`
    update ${timers} set dead = false, problem = null, attempts = 0
    where ${thatTimer(dialect, timer)} and dead
    returning name`
}

const deadRows = ({ sql, timers, instances }: Dialect, limit: number) => sql<Row>`
  select i.machine, i.id, t.name, t.entry, t.due, t.attempts, t.problem
  from ${timers} t join ${instances} i on i.instance = t.instance
  where t.dead order by t.due, t.instance, t.name limit ${limit}`
