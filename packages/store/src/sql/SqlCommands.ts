/** The SQL of commands that SQLite and PostgreSQL share: reading them, and the operations of operators. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Fragment } from "effect/sql/Statement"
import {
  type Claim,
  type CommandFilter,
  type CommandStatus,
  type CommandsService,
  type GroupLimits,
  type InstanceCommandPage,
  mostCounted,
  mostOfInstance,
  type QueueSettings,
  type Rate,
  unservedSample,
  withoutExecution,
} from "../contract/Commands.ts"
import type { InstanceKey } from "../contract/Commit.ts"
import { machineOfInbox } from "../contract/Inbox.ts"
import { unlimited } from "../contract/QueueLimits.ts"
import { commandCountOf, commandStatusOf, groupRecordOf, queueOf, storedCommandOf } from "./CommandRows.ts"
import type { Dialect } from "./Dialect.ts"
import { keysOf } from "./keys.ts"
import type { Row } from "./Row.ts"
import { textOf, wholeOf } from "./Row.ts"
import { anyMachine, persisting } from "./StoreFailure.ts"

type Retried = CommandFilter & { readonly key?: string }

export const sqlCommands = (dialect: Dialect): Omit<CommandsService, "isShared" | "signal" | "enqueue" | "exchange"> => {
  const { now } = dialect
  const reading = persisting("read commands", anyMachine)
  const changing = persisting("change commands", anyMachine)
  return {
    databaseId: dialect.databaseId,
    queuesOfNext: (instances) =>
      instances.length === 0
        ? Effect.succeed(new Set())
        : reading(
            Effect.flatMap(now, (time) =>
              Effect.map(nextQueues(dialect, instances, time), (rows) => new Set(rows.map((row) => textOf(row, "queue")))),
            ),
          ),
    renew: (worker, claims, millis) =>
      claims.length === 0
        ? Effect.succeed([])
        : persisting(
            "renew",
            anyMachine,
          )(
            Effect.flatMap(now, (time) =>
              Effect.map(prolong(dialect, worker, claims, Math.ceil(millis), time), (rows) => {
                const kept = new Set(rows.map((row) => wholeOf(row, "id")))
                return claims.filter(({ number }) => !kept.has(number)).map(({ number }) => number)
              }),
            ),
          ),
    oldestPending: (queue) =>
      reading(Effect.map(oldestIn(dialect, queue), ([row]) => (row === undefined || row["at"] === null ? undefined : wholeOf(row, "at")))),
    claims: (queue) =>
      reading(
        Effect.map(claimedIn(dialect, queue), (rows) =>
          Map.groupBy(
            rows.map((row) => ({ worker: textOf(row, "claimed_by"), number: wholeOf(row, "id"), claim: wholeOf(row, "claims") })),
            ({ worker }) => worker,
          ),
        ),
      ),
    disown: (worker, held) => persisting("disown", anyMachine)(Effect.map(handBack(dialect, worker, held), (rows) => rows.length)),
    releaseExpired: changing(Effect.flatMap(now, (time) => Effect.map(expire(dialect, time), (rows) => rows.length))),
    get: (key, queue) =>
      reading(
        Effect.map(select(dialect, withKey(dialect, key, queue), 1), ([row]) => Option.map(Option.fromNullishOr(row), storedCommandOf)),
      ),
    ofInstance: (key, page = {}) =>
      persisting("read commands", key)(Effect.map(latestOf(dialect, key, page), (rows) => rows.map(storedCommandOf).reverse())),
    list: (filter, limit, after = 0) =>
      reading(
        Effect.map(
          select(dialect, dialect.sql`c.id > ${after} and ${matching(dialect, filter)}`, limit + 1, sourceOf(dialect, filter)),
          (rows) => {
            const commands = rows.slice(0, limit).map(storedCommandOf)
            return { commands, next: rows.length > limit ? commands.at(-1)?.number : undefined }
          },
        ),
      ),
    counts: reading(Effect.map(countRows(dialect), (rows) => rows.map(commandCountOf))),
    backlog: reading(Effect.map(backlogRows(dialect), (rows) => rows.map(commandCountOf))),
    unserved: (overdueMillis) =>
      reading(
        Effect.gen(function* () {
          const time = yield* now
          const queues = yield* openQueues(dialect)
          const first = yield* Effect.forEach(queues, (row) => firstOf(dialect, textOf(row, "queue"), overdueMillis, time))
          return withoutExecution(first.flat().map((row) => ({ machine: textOf(row, "machine"), status: commandStatusOf(row) })))
        }),
      ),
    retry: (filter) => changing(Effect.flatMap(now, (time) => Effect.map(revive(dialect, filter, time), (rows) => rows.length))),
    countRetries: (filter) => reading(Effect.map(countFailed(dialect, filter), ([row]) => (row === undefined ? 0 : wholeOf(row, "count")))),
    skip: (key, reason, queue) =>
      changing(
        Effect.flatMap(now, (time) => Effect.map(giveUp(dialect, withKey(dialect, key, queue), reason, time), (rows) => rows.length > 0)),
      ),
    purge: (statuses, finishedBefore, limit) =>
      statuses.length === 0
        ? Effect.succeed(0)
        : persisting("purge", anyMachine)(Effect.map(remove(dialect, statuses, finishedBefore, limit), (rows) => rows.length)),
    configure: (queue, settings) => {
      const isCounted = settings.concurrency !== undefined || settings.perGroup !== undefined
      return changing(
        Effect.gen(function* () {
          yield* configure(dialect, queue, settings)
          if ("perGroup" in settings) yield* noteGroupLimits(dialect, queue)
          if (isCounted) yield* countRunning(dialect, queue)
        }),
      )
    },
    queues: reading(Effect.map(queueRows(dialect), (rows) => rows.map(queueOf))),
    configureGroup: (queue, group, own) =>
      changing(
        Effect.gen(function* () {
          yield* configureGroup(dialect, queue, group, own, yield* now)
          yield* noteGroupLimits(dialect, queue)
          if (own !== undefined) yield* countRunning(dialect, queue)
        }),
      ),
    groups: (queue, limit, after = "") => reading(Effect.map(groupRows(dialect, queue, limit, after), (rows) => rows.map(groupRecordOf))),
  }
}

const select = (dialect: Dialect, condition: Fragment, limit: number, source = dialect.commands, order: "asc" | "desc" = "asc") => {
  const { sql, instances } = dialect
  return sql<Row>`
  select c.id as number, c.key, c.queue, c.slot, c.parameters, c.sequence, c.status, c.priority, c.ordered, c.group_name, c.attempts, c.round,
    c.run_at, c.claimed_by, c.claimed_until, c.last_error, c.errors, c.enqueued_at, c.finished_at, i.machine, i.id as instance_id
  from ${source} c left join ${instances} i on i.instance = c.instance
  where ${condition} order by c.id ${sql.literal(order)} limit ${limit}`
}

/**
 * The commands of an instance, latest first, by the index of instances. The commands of a key prefix are few and have an index of their
 * own; the inner limit makes the database use it. Otherwise it would read all commands of the instance in the order of their numbers.
 */
const latestOf = (dialect: Dialect, key: InstanceKey, { limit = mostOfInstance, before, keyPrefix, sequences }: InstanceCommandPage) => {
  const { sql, commands } = dialect
  const own = ofInstance(dialect, key)
  const source =
    keyPrefix === undefined
      ? commands
      : sql`(select * from ${commands} where key >= ${keyPrefix} and key < ${`${keyPrefix}\u{10FFFF}`} order by key limit ${mostOfInstance})`
  const earlier = before === undefined ? own : sql`${own} and c.id < ${before}`
  const condition = sequences === undefined ? earlier : sql`${earlier} and c.sequence between ${sequences.from} and ${sequences.through}`
  return select(dialect, condition, Math.min(limit, mostOfInstance), source, "desc")
}

/** Unfinished commands are read from their partial indexes, so that a long history of finished ones is not read. */
const sourceOf = ({ sql, commands }: Dialect, { status }: CommandFilter): Fragment =>
  status === "pending" || status === "processing"
    ? sql`(select * from ${commands} where finished_at is null and not waits union all select * from ${commands} where waits)`
    : commands

/** The queue of the first open ordered command of each instance, unless a claim or a delay holds it back; both look-ups use an index. */
const nextQueues = ({ sql, commands, instances, keys }: Dialect, of: ReadonlyArray<InstanceKey>, now: Fragment) => sql<Row>`
  select distinct n.queue
  from (
    select (
      select min(c.id) from ${commands} c
      where c.ordered and c.finished_at is null
        and c.instance = (select i.instance from ${instances} i where i.machine = k.machine and i.id = k.id)
    ) as number
    from ${keys(keysOf(of))} k
  ) f
  cross join ${commands} n
  where n.id = f.number and n.status = 'pending' and (not n.waits or n.run_at <= ${now})`

const withKey = ({ sql }: Dialect, key: string, queue: string | undefined): Fragment =>
  queue === undefined ? sql`c.key = ${key}` : sql`c.key = ${key} and c.queue = ${queue}`

const ofInstance = ({ sql, instances }: Dialect, { machine, id }: InstanceKey): Fragment =>
  sql`c.instance = (select instance from ${instances} where machine = ${machine} and id = ${id})`

const matching = (dialect: Dialect, filter: CommandFilter): Fragment => {
  const { sql, instances } = dialect
  const conditions: Array<Fragment> = []
  if (filter.queue !== undefined) conditions.push(sql`c.queue = ${filter.queue}`)
  if (filter.status !== undefined) conditions.push(filter.status === "failed" ? sql`c.dead` : sql`c.status = ${filter.status}`)
  if (filter.slot !== undefined) conditions.push(sql`c.slot = ${filter.slot}`)
  if (filter.machine !== undefined && filter.id !== undefined)
    conditions.push(ofInstance(dialect, { machine: filter.machine, id: filter.id }))
  else if (filter.machine !== undefined)
    conditions.push(sql`(select m.machine from ${instances} m where m.instance = c.instance) = ${filter.machine}`)
  else if (filter.id !== undefined) conditions.push(sql`(select m.id from ${instances} m where m.instance = c.instance) = ${filter.id}`)
  if (filter.enqueuedAfter !== undefined) conditions.push(sql`c.enqueued_at > ${filter.enqueuedAfter}`)
  if (filter.enqueuedBefore !== undefined) conditions.push(sql`c.enqueued_at < ${filter.enqueuedBefore}`)
  return sql.and(conditions)
}

/** Each part is read from a partial index: open commands, those that are not due yet, and dead letters. */
const unfinished = ({ sql, commands }: Dialect): Fragment => sql`
  select queue, status, count(*) as part from ${commands} where finished_at is null and not waits group by queue, status
  union all select queue, status, count(*) as part from ${commands} where waits group by queue, status
  union all select queue, status, count(*) as part from ${commands} where dead group by queue, status`

const sumOf = ({ sql }: Dialect, parts: Fragment) => sql<Row>`
  select queue, status, cast(sum(part) as bigint) as count from (${parts}) parts
  group by queue, status having sum(part) > 0 order by queue, status`

const backlogRows = (dialect: Dialect) => sumOf(dialect, unfinished(dialect))

const countRows = (dialect: Dialect) =>
  sumOf(dialect, dialect.sql`${unfinished(dialect)} union all select queue, status, commands as part from ${dialect.finished}`)

/** A loose index scan of both partial indexes: one step for each queue, however many commands it has. */
const openQueues = ({ sql, commands }: Dialect) => {
  const ready = sql`${commands} o where o.finished_at is null and not o.waits`
  const delayed = sql`${commands} o where o.waits`
  return sql<Row>`
    with recursive ready (queue) as (
      select min(o.queue) from ${ready}
      union all
      select (select min(o.queue) from ${ready} and o.queue > ready.queue) from ready where ready.queue is not null
    ), delayed (queue) as (
      select min(o.queue) from ${delayed}
      union all
      select (select min(o.queue) from ${delayed} and o.queue > delayed.queue) from delayed where delayed.queue is not null
    )
    select queue from ready where queue is not null union select queue from delayed where queue is not null`
}

/**
 * Of the first commands of a queue, those that instances requested or that are in the inbox of a machine, and that are being executed, or
 * have been overdue for this long.
 */
const firstOf = ({ sql, commands, instances }: Dialect, queue: string, overdueMillis: number, now: Fragment) => {
  const limit = sql.literal(String(unservedSample))
  const machine = sql`coalesce(i.machine, cast(${machineOfInbox(queue) ?? null} as text))`
  return sql<Row>`
    select ${machine} as machine, f.status from (
      select * from (
        select o.instance, o.status, o.run_at from ${commands} o
        where o.queue = ${queue} and o.finished_at is null and not o.waits
        order by o.group_name, o.priority desc, o.id limit ${limit}
      ) ready
      union all
      select * from (
        select o.instance, o.status, o.run_at from ${commands} o where o.queue = ${queue} and o.waits order by o.run_at limit ${limit}
      ) delayed
    ) f left join ${instances} i on i.instance = f.instance
    where ${machine} is not null and (f.status = 'processing' or f.run_at <= ${now} - ${Math.floor(overdueMillis)})`
}

const prolong = ({ sql, commands, claims }: Dialect, worker: string, held: ReadonlyArray<Claim>, millis: number, now: Fragment) => sql<Row>`
  update ${commands} set claimed_until = ${now} + ${millis}
  from ${claims(JSON.stringify(held.map(({ number, claim }) => [number, claim])))} h
  where ${commands}.id = h.number and claims = h.claim and claimed_by = ${worker} and status = 'processing'
  returning ${commands}.id`

/** How many commands of a queue are examined for claims. */
const lookedAt = 1000

/** Commands are claimed in this order, so that the claimed ones are among the first. */
const claimedIn = ({ sql, commands }: Dialect, queue: string) => sql<Row>`
  select c.id, c.claims, c.claimed_by from (
    select o.id, o.claims, o.claimed_by, o.status from ${commands} o
    where o.queue = ${queue} and o.finished_at is null and not o.waits order by o.group_name, o.priority desc, o.id limit ${lookedAt}
  ) c where c.status = 'processing'`

const oldestIn = ({ sql, commands }: Dialect, queue: string) => sql<Row>`
  select min(c.enqueued_at) as at from (
    select o.enqueued_at, o.status from ${commands} o
    where o.queue = ${queue} and o.finished_at is null and not o.waits order by o.group_name, o.priority desc, o.id limit ${lookedAt}
  ) c where c.status = 'pending'`

const handBack = ({ sql, commands, claims }: Dialect, worker: string, held: ReadonlyArray<number>) => sql<Row>`
  update ${commands} set status = 'pending', counted = false, claimed_by = null, claimed_until = null, attempts = attempts - 1
  where finished_at is null and not waits and status = 'processing' and claimed_by = ${worker}
  and id not in (select h.number from ${claims(JSON.stringify(held.map((number) => [number, 0])))} h)
  returning id`

const expire = ({ sql, commands }: Dialect, now: Fragment) => sql<Row>`
  update ${commands} set status = 'pending', counted = false, claimed_by = null, claimed_until = null
  where finished_at is null and not waits and status = 'processing' and claimed_until <= ${now}
  returning id`

const retryable = (dialect: Dialect, { key, ...filter }: Retried): Fragment => {
  const { sql } = dialect
  return sql`c.dead and ${key === undefined ? sql.literal("true") : sql`c.key = ${key}`} and ${matching(dialect, filter)}`
}

const revive = (dialect: Dialect, filter: Retried, now: Fragment) => {
  const { sql, commands } = dialect
  return sql<Row>`
    update ${commands} set status = 'pending', dead = false, attempts = 0, round = round + 1, run_at = ${now}, claimed_by = null,
      finished_at = null
    where dead and id in (select c.id from ${commands} c where ${retryable(dialect, filter)})
    returning id`
}

const countFailed = (dialect: Dialect, filter: Retried) => {
  const { sql, commands } = dialect
  return sql<Row>`select count(*) as count from ${commands} c where ${retryable(dialect, filter)}`
}

const giveUp = ({ sql, commands, finishing }: Dialect, chosen: Fragment, reason: string, now: Fragment) =>
  sql<Row>`${finishing(sql`
  update ${commands} as c set status = 'skipped', waits = false, dead = false, pending_key = null, last_error = ${reason}, finished_at = ${now}
  where ${chosen} and status in ('failed', 'pending')
  returning id, queue, status`)}`

const remove = ({ sql, commands }: Dialect, statuses: ReadonlyArray<CommandStatus>, finishedBefore: number, limit: number) => sql<Row>`
  delete from ${commands} where id in (
    select id from ${commands} where finished_at < ${finishedBefore} and status in ${sql.in(statuses)} limit ${limit}
  )
  returning id`

/** Settings that are not given are unchanged. */
const configure = ({ sql, queues }: Dialect, queue: string, settings: Partial<QueueSettings>) => {
  const { paused, concurrency, rate, perGroup } = { ...unlimited, ...settings }
  const given = [
    ...("paused" in settings ? [sql`paused = excluded.paused`] : []),
    ...("concurrency" in settings ? [sql`concurrency = excluded.concurrency`] : []),
    ...("rate" in settings ? [sql`rate_limit = excluded.rate_limit, rate_interval = excluded.rate_interval, starts = '[]'`] : []),
    ...("perGroup" in settings
      ? [
          sql`group_concurrency = excluded.group_concurrency, group_rate_limit = excluded.group_rate_limit,
            group_rate_interval = excluded.group_rate_interval`,
        ]
      : []),
  ]
  return sql`
    insert into ${queues} (
      name, paused, concurrency, rate_limit, rate_interval, group_concurrency, group_rate_limit, group_rate_interval
    )
    values (${queue}, ${sql.literal(String(paused))}, ${concurrency ?? null}, ${rate?.limit ?? null}, ${intervalOf(rate)},
      ${perGroup?.concurrency ?? null}, ${perGroup?.rate?.limit ?? null}, ${intervalOf(perGroup?.rate)})
    on conflict (name) do ${given.length === 0 ? sql.literal("nothing") : sql`update set ${sql.csv(given)}`}`
}

const intervalOf = (rate: Rate | undefined): number | null => (rate === undefined ? null : Math.ceil(rate.intervalMillis))

/** Claims count the commands of each group where one has a limit. */
const noteGroupLimits = ({ sql, queues, groups }: Dialect, queue: string) =>
  sql`
    insert into ${queues} (name) values (${queue})
    on conflict (name) do update set limits_groups = ${queues}.group_concurrency is not null or ${queues}.group_rate_limit is not null
      or exists (select 1 from ${groups} g where g.queue = ${queue} and (g.concurrency is not null or g.rate_limit is not null))`

const configureGroup = ({ sql, queues, groups }: Dialect, queue: string, group: string, own: GroupLimits | undefined, now: Fragment) => {
  const limits = sql`concurrency = excluded.concurrency, rate_limit = excluded.rate_limit, rate_interval = excluded.rate_interval`
  // Without limits of its own it is forgotten by a later claim.
  const idleAt = own === undefined ? now : sql`null`
  return Effect.andThen(
    sql`insert into ${queues} (name) values (${queue}) on conflict (name) do nothing`,
    sql`
      insert into ${groups} (queue, name, concurrency, rate_limit, rate_interval, idle_at)
      values (${queue}, ${group}, ${own?.concurrency ?? null}, ${own?.rate?.limit ?? null}, ${intervalOf(own?.rate)}, ${idleAt})
      on conflict (queue, name) do update set ${limits}, idle_at = excluded.idle_at`,
  )
}

/** A loose index scan: one step for each group, and few more for its commands. */
const groupRows = ({ sql, commands, groups }: Dialect, queue: string, limit: number, after: string) => {
  const open = sql`${commands} o where o.queue = ${queue} and o.finished_at is null and not o.waits`
  const counted = sql.literal(String(mostCounted))
  const first = (status: string) => sql`(
    select count(*) from (
      select o.status from ${open} and o.group_name = n.name order by o.priority desc, o.id limit ${counted}
    ) f where f.status = ${status}
  )`
  return sql<Row>`
    with recursive open (name, nth) as (
      select min(o.group_name), 1 from ${open} and o.group_name > ${after}
      union all
      select (select min(o.group_name) from ${open} and o.group_name > open.name), nth + 1 from open
      where open.name is not null and nth < ${limit}
    )
    select n.name, g.concurrency, g.rate_limit, g.rate_interval, ${first("pending")} as pending, ${first("processing")} as running
    from (
      select name from (
        select name from open where name is not null
        union
        select * from (
          select g.name from ${groups} g
          where g.queue = ${queue} and g.name > ${after} and (g.concurrency is not null or g.rate_limit is not null)
          order by g.name limit ${limit}
        ) own
      ) names order by name limit ${limit}
    ) n
    left join ${groups} g on g.queue = ${queue} and g.name = n.name
    order by n.name`
}

/** Running commands count towards the new limit. */
const countRunning = ({ sql, commands }: Dialect, queue: string) =>
  sql`update ${commands} set counted = true
    where queue = ${queue} and finished_at is null and not waits and status = 'processing' and not counted`

const queueRows = ({ sql, queues }: Dialect) =>
  sql<Row>`
    select name, paused, concurrency, rate_limit, rate_interval, group_concurrency, group_rate_limit, group_rate_interval
    from ${queues} order by name`
