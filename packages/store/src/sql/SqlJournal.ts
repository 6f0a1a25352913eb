/** The journal's operations that are the same SQL on SQLite and PostgreSQL. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord, InstanceKey, InstanceStatus, Json, SnapshotRecord } from "../contract/Commit.ts"
import { canBeStored, instanceName, isDeliveryId, raisedPrefix } from "../contract/CommitCheck.ts"
import {
  type InstanceCursor,
  type InstanceFilter,
  type InstanceStanding,
  type JournalRevision,
  type JournalService,
  type KeyFilter,
  type OpenedInstance,
  type RewriteKey,
  takeOverInSteps,
} from "../contract/Journal.ts"
import { afterPrefix, type LabelOutcome } from "../contract/Search.ts"
import type { Dialect, EventReading } from "./Dialect.ts"
import { keysOf, surrogate } from "./keys.ts"
import type { Listing } from "./Listing.ts"
import { eventOf, instanceOrHeld, openedOf, openedOrHeld, recordColumns, revisionIn, unreadable } from "./Records.ts"
import { flagOf, optionalTextOf, type Row, textOf, wholeOf } from "./Row.ts"
import { countEnded, purgeEnded } from "./retention.ts"
import { anyMachine, failingTyped, isUnreadable, persisting, type RowProblem, subjectOf } from "./StoreFailure.ts"
import { search } from "./searchRows.ts"
import { changeLabels, fillOf, writeFields, writeFill } from "./searchValues.ts"

export const sqlJournal = (dialect: Dialect, reading: EventReading, listing: Listing): Omit<JournalService, "commit" | "fork"> => {
  const journal = operations(dialect, reading, listing)
  return { ...journal, takeOver: takeOverInOne(dialect) ?? takeOverInSteps(journal) }
}

const operations = (dialect: Dialect, reading: EventReading, listing: Listing): Omit<JournalService, "commit" | "fork" | "takeOver"> => ({
  databaseId: dialect.databaseId,
  open: (key) =>
    canBeStored(key)
      ? persisting("open", key)(Effect.map(openRow(dialect, key), ([row]) => Option.map(Option.fromNullishOr(row), openedOf)))
      : Effect.succeedNone,
  transaction: dialect.sql.transactionService,
  clock: persisting(
    "clock",
    anyMachine,
  )(Effect.flatMap(dialect.now, (now) => Effect.map(dialect.sql<Row>`select ${now} as now`, ([row]) => wholeOf(row ?? {}, "now")))),
  standings: (keys) =>
    persisting(
      "standings",
      subjectOf(keys),
    )(
      Effect.map(standingRows(dialect, keys.filter(canBeStored)), (rows) => {
        const found = new Map(rows.map((row) => [instanceName({ machine: textOf(row, "machine"), id: textOf(row, "id") }), row]))
        return keys.map((key) => {
          const row = found.get(instanceName(key))
          return row === undefined ? undefined : standingOf(row)
        })
      }),
    ),
  openAll: (keys) =>
    persisting(
      "openAll",
      subjectOf(keys),
    )(
      Effect.map(openEach(dialect, keys.filter(canBeStored)), (instances) => {
        const opened = new Map(instances.map((instance) => [instanceName(instance.record), instance]))
        return keys.flatMap((key) => opened.get(instanceName(key)) ?? [])
      }),
    ),
  events: (key, after, limit) =>
    canBeStored(key)
      ? persisting("events", key)(Effect.map(reading.events(key, after, limit), (rows) => rows.map(eventOf)))
      : Effect.succeed([]),
  tails: (keys) =>
    persisting(
      "tails",
      subjectOf(keys),
    )(
      Effect.map(reading.tails(keys), (rows) =>
        rows.map((row) => ({ ...eventOf(row), machine: textOf(row, "machine"), id: textOf(row, "id") })),
      ),
    ),
  findDuplicate: (key, dedupeId) =>
    persisting(
      "findDuplicate",
      key,
    )(Effect.map(duplicateRow(dialect, key, dedupeId), ([row]) => Option.map(Option.fromNullishOr(row), eventOf))),
  saveSnapshot: (key, snapshot) => persisting("saveSnapshot", key)(Effect.map(upsertSnapshot(dialect, key, snapshot), isNotEmpty)),
  prune: (key, through, after = 0) =>
    persisting(
      "prune",
      key,
    )(
      // The origin is removed first: if the second statement fails, the events are still there and the snapshot covers both.
      Effect.andThen(
        clearOrigin(dialect, key, through),
        Effect.flatMap(dialect.now, (now) => Effect.map(deleteEvents(dialect, key, through, after, now), (rows) => rows.length)),
      ),
    ),
  list: (filter, limit, after) =>
    persisting(
      "list",
      filter.machine === undefined ? anyMachine : { machine: filter.machine },
    )(
      Effect.map(exactly(listing, listRows(dialect, filter, limit + 1, after)), (rows) => {
        const instances = rows.slice(0, limit).map(instanceOrHeld)
        const last = rows.at(limit - 1)
        if (rows.length <= limit || last === undefined) return { instances, next: undefined }
        return { instances, next: { updatedAt: wholeOf(last, "listed_at"), machine: textOf(last, "machine"), id: textOf(last, "id") } }
      }),
    ),
  page: (filter, limit, after) =>
    persisting(
      "page",
      filter,
    )(
      Effect.map(Effect.andThen(isFolded(filter) ? listing.fold : Effect.void, pageRows(dialect, filter, limit, after)), (rows) =>
        rows.map(instanceOrHeld),
      ),
    ),
  machines: persisting(
    "machines",
    anyMachine,
  )(Effect.map(machineRows(dialect), (rows) => rows.map((row) => textOf(row, "machine")).sort())),
  owners: (machine) =>
    persisting("owners", { machine })(Effect.map(ownerRows(dialect, machine), (rows) => rows.map((row) => optionalTextOf(row, "owner")))),
  changeOwner: (keys, from, to) =>
    persisting(
      "changeOwner",
      subjectOf(keys),
    )(
      Effect.map(updateOwner(dialect, keys, from, to), (rows) =>
        rows.map((row) => ({ machine: textOf(row, "machine"), id: textOf(row, "id") })),
      ),
    ),
  count: (machine) =>
    persisting("count", { machine })(
      Effect.map(
        exactly(listing, tagCounts(dialect, machine)),
        (rows) =>
          new Map(
            rows.flatMap((row) => (optionalTextOf(row, "tag") === undefined ? [] : [[textOf(row, "tag"), wholeOf(row, "instances")]])),
          ),
      ),
    ),
  setStatus: (seen, status, reason) =>
    persisting(
      "setStatus",
      seen,
    )(
      dialect.sql.withTransaction(
        Effect.gen(function* () {
          const [row] = yield* updateStatus(dialect, seen, status, reason, yield* dialect.now)
          if (row === undefined) return false
          yield* dialect.sql<Row>`${dialect.insertMoves([wholeOf(row, "instance")])}`
          return true
        }),
      ),
    ),
  purgeEnded: (machine, endedMillis, limit) =>
    persisting("purgeEnded", { machine })(Effect.andThen(listing.fold, purgeEnded(dialect, machine, endedMillis, limit))),
  countEnded: (machine, endedMillis) =>
    persisting("countEnded", { machine })(Effect.andThen(listing.fold, countEnded(dialect, machine, endedMillis))),
  search: (filter, limit, after) =>
    persisting("search", { machine: filter.machine })(Effect.andThen(listing.fold, search(dialect, filter, limit, after))),
  indexFill: (machine) =>
    persisting("indexFill", { machine })(
      Effect.map(
        dialect.sql<Row>`select definition, through, filled, is_complete from ${dialect.indexFills} where machine = ${machine}`,
        ([row]) => Option.map(Option.fromNullishOr(row), fillOf),
      ),
    ),
  setIndexFill: (machine, seen, fill) =>
    persisting("setIndexFill", { machine })(Effect.map(writeFill(dialect, machine, seen, fill), isNotEmpty)),
  writeFields: (machine, writes) =>
    persisting("writeFields", { machine })(dialect.sql.withTransaction(writeFields(dialect, machine, writes))),
  label: (key, changes) =>
    canBeStored(key)
      ? persisting("label", key)(dialect.sql.withTransaction(changeLabels(dialect, key, changes)))
      : Effect.succeed(noInstance),
  rewrite: (key, event, seen) => persisting("rewrite", key)(dialect.sql.withTransaction(rewrite(dialect, key, event, seen))),
})

/**
 * Reads the listing with all changes folded. Most reads find it up to date and need one statement: it also returns whether there are
 * changes that are not folded. If it returns no row, that is unknown, and the listing is folded.
 */
const exactly = (listing: Listing, read: Effect.Effect<ReadonlyArray<Row>, SqlError>): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  Effect.flatMap(read, (rows) => {
    const [first] = rows
    return first === undefined || flagOf(first, "is_behind") ? Effect.andThen(listing.fold, read) : Effect.succeed(rows)
  })

const noInstance: LabelOutcome = { _tag: "NoInstance" }

const standingOf = (row: Row): InstanceStanding => ({
  sequence: wholeOf(row, "sequence"),
  status: statusOrHeld(row),
  startedAt: wholeOf(row, "started_at"),
  ...revisionIn(row),
})

/** An invalid status is reported when the instance is opened. */
const statusOrHeld = (row: Row): InstanceStatus => {
  const { status } = row
  return status === "running" || status === "final" || status === "stopped" ? status : "held"
}

const isNotEmpty = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

export const openedColumns = ({ sql, timersOfInstance }: Dialect): Fragment => sql`
  ${sql.literal(recordColumns)}, i.origin,
  s.sequence as snapshot_sequence, s.at as snapshot_at, s.version as snapshot_version, s.body as snapshot_body,
  ${timersOfInstance} as timers`

const openRow = (dialect: Dialect, { machine, id }: InstanceKey) => {
  const { sql, instances, snapshots } = dialect
  return sql<Row>`
    select ${openedColumns(dialect)}
    from ${instances} i left join ${snapshots} s on s.instance = i.instance
    where i.machine = ${machine} and i.id = ${id}`
}

const standingRows = ({ sql, instances, keys }: Dialect, requested: ReadonlyArray<InstanceKey>) => {
  const [first, second] = requested
  if (first !== undefined && second === undefined)
    return sql<Row>`
      select machine, id, sequence, status, started_at, revision from ${instances} where machine = ${first.machine} and id = ${first.id}`
  return sql<Row>`
    select i.machine, i.id, i.sequence, i.status, i.started_at, i.revision
    from ${keys(keysOf(requested))} k join ${instances} i on i.machine = k.machine and i.id = k.id`
}

const openRows = (dialect: Dialect, requested: ReadonlyArray<InstanceKey>) => {
  const { sql, instances, snapshots, keys } = dialect
  return sql<Row>`
    select ${openedColumns(dialect)}
    from ${keys(keysOf(requested))} k
    join ${instances} i on i.machine = k.machine and i.id = k.id
    left join ${snapshots} s on s.instance = i.instance`
}

/** If the rows of all cannot be read, each half is read by itself, and so on, so that only the unreadable instance is shown as held. */
const openEach = (
  dialect: Dialect,
  keys: ReadonlyArray<InstanceKey>,
): Effect.Effect<ReadonlyArray<OpenedInstance>, SqlError | RowProblem> =>
  Effect.catch(failingTyped(Effect.map(openRows(dialect, keys), (rows) => rows.map(openedOrHeld))), (error) => {
    const [only] = keys
    if (!isUnreadable(dialect.sql, error) || only === undefined) return Effect.fail(error)
    if (keys.length === 1) return Effect.succeed([unreadable(only, `it cannot be read: ${error.message}`)])
    const half = Math.ceil(keys.length / 2)
    const parts = Effect.forEach([keys.slice(0, half), keys.slice(half)], (part) => openEach(dialect, part))
    return Effect.map(parts, (opened) => opened.flat())
  })

const duplicateRow = (dialect: Dialect, key: InstanceKey, dedupeId: string) => {
  const { sql, events } = dialect
  // The ids of nodes have no index: all events of the instance are read. A node seldom sends an event again.
  const hasId = isDeliveryId(dedupeId) ? sql`${dedupeId} in (delivery, dedupe_id)` : sql`dedupe_id = ${dedupeId}`
  return sql<Row>`
    select sequence, at, tag, body, coalesce(dedupe_id, delivery) as dedupe_id from ${events}
    where instance = ${surrogate(dialect, key)} and ${hasId}`
}

/** A snapshot ahead of the journal would be of a state that was never committed. */
const upsertSnapshot = (
  { sql, instances, snapshots }: Dialect,
  { machine, id, startedAt, revision = 0 }: JournalRevision,
  snapshot: SnapshotRecord,
) => sql<Row>`
  insert into ${snapshots} as old (instance, sequence, at, version, body)
  select instance, ${snapshot.sequence}, ${snapshot.at}, ${snapshot.version}, ${snapshot.body}
  from ${instances} where machine = ${machine} and id = ${id} and sequence >= ${snapshot.sequence}
  ${startedAt === undefined ? sql.literal("") : sql`and started_at = ${startedAt} and revision = ${revision}`}
  on conflict (instance) do update
  set sequence = excluded.sequence, at = excluded.at, version = excluded.version, body = excluded.body
  where excluded.sequence >= old.sequence
  returning instance`

const clearOrigin = (dialect: Dialect, key: InstanceKey, through: number) => {
  const { sql, instances, snapshots } = dialect
  return sql`
    update ${instances} set origin = null
    where instance = ${surrogate(dialect, key)} and ${through} >= 1
    and instance in (select instance from ${snapshots} where sequence >= 1)`
}

/**
 * How long an event is kept that a node may send again. A node sends it again for half a minute by default; the clock that dates the event
 * may be hours off.
 */
const resentMillis = 24 * 3_600_000

/**
 * Events with a sender's id are kept, so that a repeated id is recognised; events with a node's id are kept while the node may send them
 * again. Self-sent events are journaled, so their ids are no longer needed.
 */
const deleteEvents = (dialect: Dialect, key: InstanceKey, through: number, after: number, now: Fragment) => {
  const { sql, eventsBySequence, snapshots, within } = dialect
  const instance = surrogate(dialect, key)
  return sql<Row>`
    delete from ${eventsBySequence}
    where instance = ${instance} and ${within(instance, after, through)}
    and (dedupe_id is null or substr(dedupe_id, 1, ${raisedPrefix.length}) = ${raisedPrefix})
    and (delivery is null or at <= ${now} - ${resentMillis})
    and sequence <= (select s.sequence from ${snapshots} s where s.instance = ${instance})
    returning sequence`
}

/**
 * Instances with work are few, and have an index of their own. All others are found through the listing, whose order the page keeps:
 * an instance that has changed since the listing was folded is shown as it is now.
 */
const listRows = (dialect: Dialect, filter: InstanceFilter, limit: number, after: InstanceCursor | undefined) => {
  const { sql, instances, listing } = dialect
  const source = filter.needsOwner === true ? sql.literal("i") : sql.literal("l")
  const conditions: Array<Fragment> = []
  if (filter.machine !== undefined) conditions.push(sql`${source}.machine = ${filter.machine}`)
  if (typeof filter.tag === "string") conditions.push(sql`${source}.tag = ${filter.tag}`, sql`i.tag = ${filter.tag}`)
  else if (filter.tag !== undefined) conditions.push(filter.tag.length === 0 ? sql.literal("1 = 0") : sql`i.tag in ${sql.in(filter.tag)}`)
  if (filter.status !== undefined) conditions.push(sql`${source}.status = ${filter.status}`, sql`i.status = ${filter.status}`)
  if (filter.status !== undefined && filter.status !== "running") conditions.push(sql`${source}.status <> 'running'`)
  if (filter.needsOwner !== undefined) conditions.push(filter.needsOwner ? sql`i.needs_owner` : sql`not i.needs_owner`)
  if (filter.owes !== undefined) conditions.push(filter.owes ? sql`i.owes` : sql`not i.owes`)
  if (filter.updatedAfter !== undefined) conditions.push(sql`${source}.updated_at > ${filter.updatedAfter}`)
  if (filter.updatedBefore !== undefined) conditions.push(sql`${source}.updated_at < ${filter.updatedBefore}`)
  const isNewest = filter.order === "newest"
  if (after !== undefined) {
    const beyond = sql.literal(isNewest ? "<" : ">")
    conditions.push(
      filter.machine === undefined
        ? sql`(${source}.updated_at, ${source}.machine, ${source}.id) ${beyond} (${after.updatedAt}, ${after.machine}, ${after.id})`
        : sql`(${source}.updated_at, ${source}.id) ${beyond} (${after.updatedAt}, ${after.id})`,
    )
  }
  const direction = sql.literal(isNewest ? "desc" : "asc")
  const page = knownLimit(dialect, limit)
  // Whether one index has the matching instances in the requested order.
  const isOfOneIndex =
    filter.needsOwner === true || typeof filter.tag === "string" || (filter.tag === undefined && (filter.status ?? "running") !== "running")
  const ofState = (machine: Fragment, tag: Fragment) => sql`
    select ${sql.literal(recordColumns)}, l.updated_at as listed_at
    from ${listing} l ${dialect.joinInstances} i on i.instance = l.instance
    where l.machine = ${machine} and l.tag = ${tag} and ${sql.and(conditions)}
    order by l.updated_at ${direction}, l.id ${direction} limit ${page}`
  const inOrder = sql`order by f.listed_at ${direction}, f.machine ${direction}, f.id ${direction} limit ${page}`
  if (dialect.eachState !== undefined && !isOfOneIndex && filter.tag?.length !== 0) {
    const states = dialect.eachState(filter.machine, ofState(sql.literal("c.machine"), sql.literal("c.tag")))
    const asked = filter.tag === undefined ? sql.literal("") : sql`and c.tag in ${sql.in(filter.tag)}`
    return sql<Row>`select f.*, ${isBehind(dialect)} from ${states} ${asked} ${inOrder}`
  }
  // One statement for all states, so that it sees an instance in one of them.
  if (filter.machine !== undefined && !isOfOneIndex && isSome(filter.tag)) {
    const machine = sql`${filter.machine}`
    const each = filter.tag.map((tag) => sql`select * from (${ofState(machine, sql`${tag}`)})`)
    const states = each.reduce((all, state) => sql`${all} union all ${state}`)
    return sql<Row>`select f.*, ${isBehind(dialect)} from (${states}) f ${inOrder}`
  }
  const from = filter.needsOwner === true ? sql`${instances} i` : sql`${listing} l ${dialect.joinInstances} i on i.instance = l.instance`
  const machineOrder = filter.machine === undefined ? sql`${source}.machine ${direction},` : sql.literal("")
  return sql<Row>`
    select ${sql.literal(recordColumns)}, ${source}.updated_at as listed_at, ${isBehind(dialect)}
    from ${from} where ${sql.and(conditions)}
    order by ${source}.updated_at ${direction}, ${machineOrder} ${source}.id ${direction} limit ${page}`
}

/** SQLite allows at most 500 parts of a union. */
const mostStates = 400

const isSome = (tags: InstanceFilter["tag"]): tags is ReadonlyArray<string> =>
  typeof tags === "object" && tags.length > 0 && tags.length <= mostStates

/** A literal, not a parameter: PostgreSQL assumes that an unknown limit is a tenth of the table, and then reads the whole table. */
const knownLimit = ({ sql }: Dialect, limit: number): Fragment => sql.literal(String(Math.max(0, Math.floor(limit))))

/** The condition for instances `i` of an owner; null: without an owner, undefined: with work, of any owner. */
const ownedBy = ({ sql }: Dialect, owner: string | null | undefined): Fragment => {
  const isOwned = sql`i.needs_owner and i.status = 'running'`
  if (owner === undefined) return isOwned
  return owner === null ? sql`${isOwned} and i.owner is null` : sql`${isOwned} and i.owner = ${owner}`
}

/** Instances that have ended or are held are found through the listing. */
const isListed = ({ status }: KeyFilter): boolean => status !== undefined && status !== "running"

/**
 * Whether the listing must be folded before a page is read. Held instances are few, so the instances with unfolded changes are read in
 * addition. Every process reads held instances when it starts, and after a crash the listing is seconds behind: folding it first took a
 * tenth of a recovery.
 */
const isFolded = (filter: KeyFilter): boolean => isListed(filter) && filter.status !== "held"

const pageRows = (dialect: Dialect, filter: KeyFilter, limit: number, after: string | undefined) => {
  const { sql } = dialect
  return sql<Row>`select ${sql.literal(recordColumns)} ${pageOf(dialect, filter, limit, after)}`
}

/** A page of instances `i`, from its source to its limit. */
const pageOf = (dialect: Dialect, filter: KeyFilter, limit: number, after: string | undefined): Fragment => {
  const { sql, instances, listing } = dialect
  const { machine, status, idPrefix, needsOwner, owner, newestVersion, owes, shards } = filter
  const conditions: Array<Fragment> = [sql`i.machine = ${machine}`]
  if (status !== undefined) conditions.push(sql`i.status = ${status}`)
  if (needsOwner !== undefined || owner !== undefined) conditions.push(ownedBy(dialect, owner))
  if (owes) conditions.push(sql`i.owes`)
  if (newestVersion !== undefined) conditions.push(sql`i.version <= ${newestVersion}`)
  if (idPrefix !== undefined) conditions.push(sql`i.id >= ${idPrefix}`)
  const beyond = idPrefix === undefined ? undefined : afterPrefix(idPrefix)
  if (beyond !== undefined) conditions.push(sql`i.id < ${beyond}`)
  if (after !== undefined) conditions.push(sql`i.id > ${after}`)
  if (shards !== undefined && dialect.inShards !== undefined) conditions.push(dialect.inShards(shards))
  const listed = sql`
    select l.instance from ${listing} l where l.machine = ${machine} and l.status = ${status ?? ""} and l.status <> 'running'`
  const found = isFolded(filter) ? sql`(${listed})` : dialect.orMoved(listed)
  const from = isListed(filter) ? sql`${found} found ${dialect.joinInstances} i on i.instance = found.instance` : sql`${instances} i`
  return sql`from ${from} where ${sql.and(conditions)} order by i.id limit ${knownLimit(dialect, limit)}`
}

/**
 * A loose index scan: each step finds the next greater owner in the index `instances_owner`. `select distinct` would read the row
 * of every instance with work.
 */
const ownerRows = (dialect: Dialect, machine: string) => {
  const { sql, instances } = dialect
  const owned = sql`${instances} i where i.machine = ${machine} and ${ownedBy(dialect, undefined)}`
  return sql<Row>`
    with recursive found (owner) as (
      select min(i.owner) from ${owned}
      union all
      select (select min(i.owner) from ${owned} and i.owner > found.owner) from found where found.owner is not null
    )
    select owner from found where owner is not null
    union all
    select null where exists (select 1 from ${owned} and i.owner is null)`
}

/** A loose index scan over the unique index of machine and id: each step finds the next greater name. */
export const machineRows = ({ sql, instances }: Dialect) => sql<Row>`
  with recursive found (machine) as (
    select min(i.machine) from ${instances} i
    union all
    select (select min(i.machine) from ${instances} i where i.machine > found.machine) from found where found.machine is not null
  )
  select machine from found where machine is not null`

const updateOwner = (dialect: Dialect, requested: ReadonlyArray<InstanceKey>, from: string | undefined, to: string) => {
  const { sql, instances, keys } = dialect
  return sql<Row>`
    update ${instances} as i set owner = ${to}
    where (i.machine, i.id) in (select k.machine, k.id from ${keys(keysOf(requested))} k) and ${ownedBy(dialect, from ?? null)}
    returning machine, id`
}

/**
 * Takes over a page and opens it in one statement, so that instances, snapshots and timers are read at one moment. Only the update checks
 * rows again that changed since, and leaves out those of another owner. Returns at least one row, even if nothing was changed.
 */
const takeOverInOne = (dialect: Dialect): JournalService["takeOver"] | undefined => {
  const { sql, instances, snapshots, updateAndRead } = dialect
  if (updateAndRead === undefined) return undefined
  return (filter, to, limit, after) => {
    const statement = sql<Row>`${updateAndRead({
      page: sql`select i.instance, i.id ${pageOf(dialect, filter, limit, after)}`,
      update: (page) => sql`
        update ${instances} as i set owner = ${to}
        where i.instance = ${page} and ${ownedBy(dialect, filter.owner)} returning i.instance`,
      read: sql`
        select ${openedColumns(dialect)}, page.size, page.last_id
        from page left join (
          changed c join ${instances} i on i.instance = c.instance left join ${snapshots} s on s.instance = i.instance
        ) on true`,
    })}`
    return persisting(
      "takeOver",
      filter,
    )(
      Effect.map(statement, (rows) => {
        const [first = {}] = rows
        return {
          opened: rows.filter(({ id }) => id !== null).map((row) => openedOrHeld({ ...row, owner: to })),
          next: wholeOf(first, "size") < limit ? undefined : optionalTextOf(first, "last_id"),
        }
      }),
    )
  }
}

/** Returns one row without a state if there is no instance. */
const tagCounts = (dialect: Dialect, machine: string) => {
  const { sql, counts } = dialect
  return sql<Row>`
    select c.tag, c.instances, m.is_behind from (select ${isBehind(dialect)}) m
    left join ${counts} c on c.machine = ${machine} and c.instances > 0`
}

/** Whether there are changes that the listing does not have. */
const isBehind = ({ sql, moves }: Dialect): Fragment => sql`exists (select 1 from ${moves}) as is_behind`

const updateStatus = (
  { sql, instances }: Dialect,
  seen: InstanceKey & InstanceStanding,
  status: InstanceStatus,
  reason: string | undefined,
  now: Fragment,
) => sql<Row>`
  update ${instances} set status = ${status}, reason = ${reason ?? null}, owner = null, updated_at = ${now}
  where machine = ${seen.machine} and id = ${seen.id} and status = ${seen.status} and sequence = ${seen.sequence}
  ${seen.startedAt === undefined ? sql.literal("") : sql`and started_at = ${seen.startedAt}`}
  returning instance`

/** The revision changes first: commits of the instance wait for the end of the transaction, and are refused then. */
const rewrite = (dialect: Dialect, key: RewriteKey, event: EventRecord, seen: Json | undefined): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    if (!isNotEmpty(yield* changeRevision(dialect, key, 1))) return false
    if (isNotEmpty(yield* updateEvent(dialect, key, event, seen))) return true
    yield* changeRevision(dialect, key, -1)
    return false
  })

const changeRevision = ({ sql, instances }: Dialect, { machine, id, sequence }: RewriteKey, by: number) => sql<Row>`
  update ${instances} set revision = revision + ${by} where machine = ${machine} and id = ${id}
  ${sequence === undefined ? sql.literal("") : sql`and sequence = ${sequence}`}
  returning instance`

const updateEvent = (dialect: Dialect, key: InstanceKey, { sequence, tag, body }: EventRecord, seen: Json | undefined) => {
  const { sql, eventsBySequence, within } = dialect
  const instance = surrogate(dialect, key)
  return sql<Row>`
    update ${eventsBySequence} set tag = ${tag}, body = ${body}
    where instance = ${instance} and ${within(instance, sequence - 1, sequence)}
    ${seen === undefined ? sql.literal("") : sql`and body = ${seen}`}
    returning sequence`
}
