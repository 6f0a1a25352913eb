/** Durable deadlines in SQL. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Fragment } from "effect/sql/Statement"
import type { ShardFilter, TimerRecord } from "../contract/Commit.ts"
import type { InstanceLife } from "../contract/Journal.ts"
import type { ClaimRequest, MachineVersions, TimersService } from "../contract/Timers.ts"
import type { Dialect } from "./Dialect.ts"
import { surrogateOfLife } from "./keys.ts"
import { claimedTimerOf, deadTimerOf } from "./Records.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { anyMachine, persisting } from "./StoreFailure.ts"

type Timer = InstanceLife & TimerRecord

export const sqlTimers = (dialect: Dialect): TimersService => ({
  claim: (request) =>
    request.machines.length === 0
      ? Effect.succeed([])
      : persisting(
          "claim",
          anyMachine,
        )(
          Effect.flatMap(dialect.now, (now) =>
            Effect.map(claimDue(dialect, request, now), (rows) => rows.toSorted(byDue).map(claimedTimerOf)),
          ),
        ),
  nextDue: (machines, versions, shards) =>
    machines.length === 0
      ? Effect.succeedNone
      : persisting(
          "nextDue",
          anyMachine,
        )(
          Effect.flatMap(dialect.now, (now) =>
            Effect.map(earliest(dialect, machines, versions, shards, now), ([row]) =>
              row === undefined || row["millis"] === null ? Option.none() : Option.some(wholeOf(row, "millis")),
            ),
          ),
        ),
  unserved: (machines, overdueMillis) =>
    persisting(
      "unserved",
      anyMachine,
    )(
      Effect.flatMap(dialect.now, (now) =>
        Effect.map(overdueMachines(dialect, overdueMillis, now), (rows) =>
          rows.map((row) => textOf(row, "machine")).filter((machine) => !machines.includes(machine)),
        ),
      ),
    ),
  complete: (timer) => persisting("complete", timer)(Effect.map(deleteTimer(dialect, timer), isNotEmpty)),
  release: (timer, owner, delayMillis) =>
    persisting(
      "release",
      timer,
    )(Effect.flatMap(dialect.now, (now) => Effect.map(clearClaim(dialect, timer, owner, delayMillis, now), isNotEmpty))),
  bury: (timer, problem) => persisting("bury", timer)(Effect.map(markDead(dialect, timer, problem), isNotEmpty)),
  dead: (limit) => persisting("dead", anyMachine)(Effect.map(deadRows(dialect, limit), (rows) => rows.map(deadTimerOf))),
  fireNow: (timer) =>
    persisting("fireNow", timer)(Effect.flatMap(dialect.now, (now) => Effect.map(makeDue(dialect, timer, now), isNotEmpty))),
  revive: (timer) => persisting("revive", timer)(Effect.map(markAlive(dialect, timer), isNotEmpty)),
})

const isNotEmpty = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

/** `returning` guarantees no order. */
const byDue = (left: Row, right: Row): number =>
  wholeOf(left, "due") - wholeOf(right, "due") ||
  wholeOf(left, "instance") - wholeOf(right, "instance") ||
  (textOf(left, "name") < textOf(right, "name") ? -1 : 1)

/** A volatile function in a condition keeps PostgreSQL from using an index; the result of a query does not. */
const moment = ({ sql }: Dialect, now: Fragment): Fragment => sql`moment as materialized (select ${now} as now)`

const nowOf = ({ sql }: Dialect): Fragment => sql`(select now from moment)`

/** Whether the claim on a timer has ended, by its time or with the lease of the node that made it. */
const isFree = (dialect: Dialect, timer: "t" | "e"): Fragment => {
  const { sql, leases } = dialect
  const t = sql.literal(timer)
  return sql`(
    ${t}.claimed_until <= ${nowOf(dialect)} or (${t}.claim_lease is not null and not exists (
      select 1 from ${leases} l where l.name = ${t}.claim_lease and l.token = ${t}.claim_token and l.expires_at > ${nowOf(dialect)}
    ))
  )`
}

/** The timers `t` of each machine, as conditions that the index on machine and deadline serves. */
const ofMachines = (
  dialect: Dialect,
  machines: ReadonlyArray<string>,
  versions: MachineVersions = {},
  shards?: ShardFilter,
): ReadonlyArray<Fragment> => {
  const { sql, instances } = dialect
  const isHere =
    shards === undefined || dialect.inShards === undefined
      ? sql``
      : sql` and exists (select 1 from ${instances} i where i.instance = t.instance and ${dialect.inShards(shards)})`
  return machines.map((machine) => {
    const version = versions[machine]
    return version === undefined
      ? sql`t.machine = ${machine}${isHere}`
      : sql`t.machine = ${machine} and (select i.version from ${instances} i where i.instance = t.instance) <= ${version}${isHere}`
  })
}

/**
 * A timer is left out while an earlier timer of its instance is not among the chosen: another process has claimed the earlier one, or is
 * about to claim or complete it. So a timer that leaves the state never overtakes one that was due before it.
 */
const claimDue = (
  dialect: Dialect,
  { machines, versions, graceMillis = 0, limit, owner, claimMillis, fence, shards }: ClaimRequest,
  now: Fragment,
) => {
  const { sql, timers, instances, skipLocked } = dialect
  const due = ofMachines(dialect, machines, versions, shards).map(
    (condition) => sql`
      select * from (
        select t.instance, t.name, t.due from ${timers} t
        where ${condition} and not t.dead and t.due <= ${nowOf(dialect)} - ${Math.floor(graceMillis)} and ${isFree(dialect, "t")}
        order by t.due, t.instance, t.name limit ${limit} ${skipLocked}
      ) d`,
  )
  return sql<Row>`
    with ${moment(dialect, now)}, chosen as materialized (
      select * from (${sql.join(" union all ", false)(due)}) a order by due, instance, name limit ${limit}
    ), ready as materialized (
      select c.instance, c.name from chosen c
      where not exists (
        select 1 from ${timers} e
        where e.instance = c.instance and not e.dead and (e.due < c.due or (e.due = c.due and e.name < c.name))
          and (e.instance, e.name) not in (select instance, name from chosen)
      )
    )
    update ${timers} set claimed_by = ${owner}, claimed_until = ${nowOf(dialect)} + ${Math.ceil(claimMillis)}, attempts = attempts + 1,
      claim_lease = ${fence?.lease ?? null}, claim_token = ${fence?.token ?? null}
    from ready r where ${timers}.instance = r.instance and ${timers}.name = r.name
    returning ${timers}.instance, ${timers}.name, entry, due, attempts,
      ${timers}.machine,
      (select id from ${instances} i where i.instance = ${timers}.instance) as id`
}

const earliest = (
  dialect: Dialect,
  machines: ReadonlyArray<string>,
  versions: MachineVersions | undefined,
  shards: ShardFilter | undefined,
  now: Fragment,
) => {
  const { sql, timers } = dialect
  const first = ofMachines(dialect, machines, versions, shards).map(
    (condition) => sql`
      select (
        select t.due from ${timers} t
        where ${condition} and not t.dead and ${isFree(dialect, "t")} and not exists (
          select 1 from ${timers} e where e.instance = t.instance and not e.dead and e.due < t.due and not ${isFree(dialect, "e")}
        )
        order by t.due limit 1
      ) as due`,
  )
  return sql<Row>`
    with ${moment(dialect, now)}
    select min(due) - ${nowOf(dialect)} as millis from (${sql.join(" union all ", false)(first)}) d`
}

/** A loose index scan: one step for each machine that has timers, however many those are. */
const overdueMachines = (dialect: Dialect, overdueMillis: number, now: Fragment) => {
  const { sql, timers } = dialect
  return sql<Row>`
    with recursive ${moment(dialect, now)}, found (machine) as (
      select min(t.machine) from ${timers} t where not t.dead
      union all
      select (select min(t.machine) from ${timers} t where not t.dead and t.machine > found.machine) from found where found.machine is not null
    )
    select machine from found where machine is not null and exists (
      select 1 from ${timers} t where t.machine = found.machine and not t.dead and t.due <= ${nowOf(dialect)} - ${Math.floor(overdueMillis)}
    )`
}

const thatTimer = (dialect: Dialect, timer: Timer): Fragment =>
  dialect.sql`instance = ${surrogateOfLife(dialect, timer)} and name = ${timer.name} and entry = ${timer.entry}`

const deleteTimer = (dialect: Dialect, timer: Timer) => {
  const { sql, timers } = dialect
  return sql<Row>`delete from ${timers} where ${thatTimer(dialect, timer)} returning name`
}

/** A timer that failed to fire is left alone for the delay, also when the lease of the node that tried it ends. */
const clearClaim = (dialect: Dialect, timer: Timer, owner: string, delayMillis: number, now: Fragment) => {
  const { sql, timers } = dialect
  const until = delayMillis === 0 ? sql`0` : sql`${now} + ${Math.ceil(delayMillis)}`
  return sql<Row>`
    update ${timers} set claimed_by = null, claim_lease = null, claimed_until = ${until}
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

const makeDue = (dialect: Dialect, timer: Timer, now: Fragment) => {
  const { sql, timers } = dialect
  return sql<Row>`
    update ${timers} set due = case when due < ${now} then due else ${now} end,
      claimed_until = case when claimed_by is null then 0 else claimed_until end
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
