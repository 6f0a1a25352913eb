/**
 * The shapes of the commit statement on PostgreSQL, and the choice between them. Each shape stores a whole batch in one statement: half the
 * time and a third of the client's CPU of begin, update, insert, commit. Each returns one row: how many commits it stored, and their
 * positions in the batch.
 *
 * Rules of all shapes:
 *
 * - A concurrent transaction that changes an instance locks its row. When the lock is free, PostgreSQL checks `sequence = expected` again.
 *   Every new event increases the sequence, so the check of dedupe ids, made as of the start of the statement, holds as well.
 * - `started_at` distinguishes an instance from a removed one with the same id: the new instance may be at the expected sequence too.
 *   `revision` changes when an event is rewritten. A commit without a start applies to any instance with that id, in any revision.
 * - If the old and the new state both have work, a commit that names no owner keeps the owner in the row.
 * - A fence is checked once per statement, and its lease is locked FOR KEY SHARE until the commit. See SqlLeases.ts for why.
 * - Parts of one statement see the tables as they were before it and run in no defined order. So no two of them touch the same row: a timer
 *   that is set is replaced, never cleared.
 * - `n % 1 = 0` is always true. With it the planner expects one row instead of a hundred, and looks rows up by index. Otherwise a plan made
 *   while the tables are empty reads them whole, and PostgreSQL keeps that plan while they grow.
 */

import type { Commit, EventRecord, Fence } from "../contract/Commit.ts"
import { isDeliveryId } from "../contract/ReservedIds.ts"
import { revisionOf } from "../sql/life.ts"

/** A commit and its position in the batch. */
export interface Positioned {
  readonly position: number
  readonly commit: Commit
}

/** One statement and its parameters. */
export interface PreparedCommit {
  readonly statement: string
  readonly parameters: ReadonlyArray<unknown>
}

/** Every batch locks its instances in the same order, so that two batches do not deadlock. */
export const inOrder = (commits: ReadonlyArray<Commit>): ReadonlyArray<Positioned> =>
  commits.map((commit, position): Positioned => ({ position, commit })).sort(byName)

const byName = ({ commit: left }: Positioned, { commit: right }: Positioned): number => {
  if (left.machine !== right.machine) return left.machine < right.machine ? -1 : 1
  return left.id < right.id ? -1 : 1
}

/** Chooses the cheapest shape that can store all commits of a batch. */
export const makeShapes = (schema: string): ((ordered: ReadonlyArray<Positioned>) => PreparedCommit) => {
  const fast = { unfenced: fastShapes(schema, false), fenced: fastShapes(schema, true) }
  const full = fullShape(schema)
  return (ordered) => {
    const shared = sharedFence(ordered)
    if (shared === "several") return { statement: full, parameters: [JSON.stringify(ordered.map(fullValues))] }
    const shapes = shared === undefined ? fast.unfenced : fast.fenced
    const fence = shared === undefined ? [] : [shared.lease, shared.token]
    const first = ordered[0]
    if (first !== undefined && ordered.every(isPlain)) {
      if (ordered.length === 1) return { statement: shapes.onePlain, parameters: [...plainValues(first), ...fence] }
      if (areUniform(ordered)) return { statement: shapes.uniform, parameters: [...uniformValues(ordered), ...fence] }
      return { statement: shapes.plain, parameters: [JSON.stringify(ordered.map(plainValues)), ...fence] }
    }
    if (areAlike(ordered)) return { statement: shapes.alike, parameters: [...alikeValues(ordered), ...fence] }
    if (ordered.every(isTimed)) return { statement: shapes.timed, parameters: [JSON.stringify(ordered.map(timedValues)), ...fence] }
    if (ordered.every(hasOnlyEvents)) return { statement: shapes.events, parameters: [JSON.stringify(ordered.map(eventValues)), ...fence] }
    return { statement: full, parameters: [JSON.stringify(ordered.map(fullValues))] }
  }
}

const fastShapes = (schema: string, isFenced: boolean) => ({
  plain: plainShape(schema, isFenced ? underFence(schema, 2) : ""),
  onePlain: onePlainShape(schema, isFenced ? underFence(schema, 16) : ""),
  uniform: uniformShape(schema, isFenced ? underFence(schema, 14) : ""),
  timed: timedShape(schema, isFenced ? underFence(schema, 2) : ""),
  alike: alikeShape(schema, isFenced ? underFence(schema, 17) : ""),
  events: eventsShape(schema, isFenced ? underFence(schema, 2) : ""),
})

/**
 * The one fence of a batch. Commits that a node makes as owner share the fence of its lease. Commits without a fence in the same batch are
 * stored under it as well; if it does not hold, the writer finds no reason of their own for their refusal and retries them without it.
 */
const sharedFence = (ordered: ReadonlyArray<Positioned>): Fence | "several" | undefined => {
  let shared: Fence | undefined
  for (const { commit } of ordered) {
    const { fence } = commit
    if (fence === undefined || fence === shared) continue
    if (shared !== undefined && (fence.lease !== shared.lease || fence.token !== shared.token)) return "several"
    shared = fence
  }
  return shared
}

/** Refers to no row of the statement, so that PostgreSQL evaluates it once, before anything else is locked. */
const underFence = (schema: string, first: number): string => `
      and exists (select from ${schema}.leases l where l.name = $${first}::text and l.token = $${first + 1}::bigint for key share)`

/** Whether the instance `i` and its journal are those that the commit was decided on. */
const isThatLife = (startedAt: string, revision: string): string =>
  `i.started_at = coalesce(${startedAt}, i.started_at) and i.revision = coalesce(${revision}, i.revision)`

/** The same where all commits have revision 0, as nearly all have: no event of their instances was rewritten. */
const isUnrevised = (startedAt: string): string =>
  `i.started_at = coalesce(${startedAt}, i.started_at) and (${startedAt} is null or i.revision = 0)`

const ownerOr = (reason: string, resident: string, status: string): string =>
  `case when ${reason} is null and ${resident} and ${status} = 'running' and i.resident and i.status = 'running' then i.reason else ${reason} end`

/** The assignments of every commit to the row of an existing instance. `c` is its row of the input. */
const instanceColumns = `sequence = c.sequence, updated_at = c.at, tag = c.tag, status = c.status, version = c.version,
      resident = c.resident, reason = ${ownerOr("c.reason", "c.resident", "c.status")}`

/** Appends one row to `moves` for the whole batch, from which the listing is brought up to date. */
const movedFrom = (schema: string, source: string): string =>
  `, moved as (insert into ${schema}.moves (instances) select array_agg(instance) from ${source} having count(*) > 0)`

/**
 * The ids under which nodes send events to one another have a column of their own, without an index: each event of another node has one,
 * and they are hardly ever searched for. An index took a third of the CPU of such an event, and 170 bytes of WAL. An event that is sent
 * again is searched for among all events of its instance, also in the column of senders' ids, where the previous version kept these ids.
 *
 * The commits whose ids the journal already has are selected in a part of their own. As conditions of the update, the cost of searching for
 * ids kept PostgreSQL from using the index on instances: its plan read all instances and all events for every batch.
 */
const duplicates = (schema: string, isDuplicate: ReadonlyArray<string>): string => `duplicates as materialized (${isDuplicate
  .map(
    (condition) => `
    select c.n from input c
    join ${schema}.instances i on i.machine = c.machine and i.id = c.id
    join ${schema}.events e on e.instance = i.instance and ${condition}
    where c.n % 1 = 0`,
  )
  .join(" union all")}
  )`

const wasResent = "c.resent is not null and array[e.delivery, e.dedupe_id] && array(select jsonb_array_elements_text(c.resent))"

const hasOneOf = (ids: string): string => `${ids} is not null and e.dedupe_id = any (array(select jsonb_array_elements_text(${ids})))`

const isNoDuplicate = "c.n not in (select n from duplicates)"

/** Whether the fence of a commit holds, in the shape where each commit may have its own. */
const isNotFenced = "c.n not in (select n from fenced)"

/** The id that the sender gave an event. */
const idOf = (event: EventRecord | undefined): string | undefined => (isDeliveryId(event?.dedupeId) ? undefined : event?.dedupeId)

/** The id that a node gave an event. */
const deliveryOf = (event: EventRecord | undefined): string | undefined => (isDeliveryId(event?.dedupeId) ? event.dedupeId : undefined)

/** The ids of events that nodes send again: the journal may have them. */
const resentIn = (events: ReadonlyArray<EventRecord>): ReadonlyArray<string> =>
  events.flatMap((event) => (event.isFirst === true ? [] : (deliveryOf(event) ?? [])))

const timerConflict = `on conflict (instance, name) do update
    set entry = excluded.entry, due = excluded.due, claimed_by = null, claimed_until = 0, attempts = 0, dead = false, problem = null`

/**
 * A number as a JSON string. PostgreSQL converts each JSON number to an arbitrary-precision decimal and that to text before it becomes an
 * integer: 0.7 µs of CPU for the six numbers of a plain commit.
 */
const digits = (number: number | undefined): string | null => (number === undefined ? null : String(number))

// ---- plain: an instance that exists, one event, and nothing else

/** Does not check timers. */
const isOneEvent = ({ expected, sequence, at, events, snapshot, commands }: Commit): boolean => {
  const event = events[0]
  if (expected < 0 || events.length !== 1 || event?.dedupeId !== undefined) return false
  return event?.sequence === sequence && event.at === at && snapshot === undefined && commands.length === 0
}

const isPlain = ({ commit }: Positioned): boolean => isOneEvent(commit) && commit.setTimers.length === 0 && commit.clearTimers.length === 0

/** Most small batches are plain. One commit takes 16.5 µs of PostgreSQL's CPU in batches of 50, against 24.3 µs for the full shape. */
const plainShape = (schema: string, fence: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::bigint as expected, (c ->> 4)::bigint as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, c ->> 11 as event_tag, c ->> 12 as event_body, (c ->> 13)::bigint as started_at,
      (c ->> 14)::integer as revision
    from jsonb_array_elements($1::jsonb) c
  ), updated as (
    update ${schema}.instances i
    set ${instanceColumns}
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and ${isThatLife("c.started_at", "c.revision")} ${fence}
    returning i.instance, c.n, c.sequence, c.at, c.event_tag, c.event_body
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body)
    select instance, sequence, at, event_tag, event_body from updated
  )
  ${movedFrom(schema, "updated")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

/** One plain commit without JSON: 2,449/s instead of 1,713/s if each send is awaited. */
const onePlainShape = (schema: string, fence: string): string => `
  with updated as (
    update ${schema}.instances i
    set sequence = $5::bigint, updated_at = $6::bigint, tag = $7::text, status = $8::text, version = $10::integer,
      resident = $11::boolean, reason = ${ownerOr("$9::text", "$11::boolean", "$8::text")}
    where machine = $2::text and id = $3::text and sequence = $4::bigint and ${isThatLife("$14::bigint", "$15::integer")} ${fence}
    returning instance
  ), moved as (
    insert into ${schema}.moves (instances) select array[instance] from updated
  )
  insert into ${schema}.events (instance, sequence, at, tag, body)
  select instance, $5::bigint, $6::bigint, $12::text, $13::text from updated
  returning 1 as stored, $1::text as positions`

const plainValues = ({ position, commit }: Positioned): ReadonlyArray<unknown> => {
  const { machine, id, expected, sequence, at, summary, events } = commit
  const { tag, status, reason = null, version, resident } = summary
  const event = events[0]
  return [
    digits(position),
    machine,
    id,
    digits(expected),
    digits(sequence),
    digits(at),
    tag,
    status,
    reason,
    digits(version),
    resident,
    event?.tag,
    event?.body,
    digits(commit.startedAt),
    digits(revisionOf(commit)),
  ]
}

// ---- uniform: many plain commits of one machine

/** In smaller batches, splitting the eight columns costs more than parsing the JSON. */
const uniformMinimum = 16

/** Separates the values of a column. JSON contains no control characters, and hardly any name does. */
const separator = "\u001f"

const areUniform = (ordered: ReadonlyArray<Positioned>): boolean => {
  const first = ordered[0]
  return ordered.length >= uniformMinimum && first !== undefined && ordered.every(({ commit }) => isUniform(commit, first.commit))
}

const isUniform = (one: Commit, other: Commit): boolean =>
  one.machine === other.machine &&
  one.summary.status === other.summary.status &&
  one.summary.reason === other.summary.reason &&
  one.summary.version === other.summary.version &&
  one.summary.resident === other.summary.resident &&
  one.expected === one.sequence - 1 &&
  one.startedAt !== undefined &&
  revisionOf(one) === 0 &&
  isSeparable(one.id) &&
  isSeparable(one.summary.tag) &&
  isSeparable(one.events[0]?.tag) &&
  isSeparable(one.events[0]?.body)

/** Encoding as UTF-8 would replace half of a surrogate pair; JSON has an escape for it, which PostgreSQL refuses. */
const isSeparable = (text: string | undefined): boolean => text !== undefined && !text.includes(separator) && text.isWellFormed()

/**
 * Each column is one text, split at the separators: nothing is escaped and no JSON is parsed. One commit takes 11.2 µs of PostgreSQL's CPU
 * in batches of 50, against 13.2 µs for the plain shape; 10.7 µs against 14.3 in batches of 500.
 */
const uniformShape = (schema: string, fence: string): string => `
  with input as materialized (
    select n::integer as n, $9::text as machine, id, sequence::integer as sequence, at::bigint as at, tag, event_tag, event_body,
      started_at::bigint as started_at
    from unnest(${[1, 2, 3, 4, 5, 6, 7, 8].map((column) => `string_to_array($${column}::text, E'\\x1f')`).join(", ")})
      as c (n, id, sequence, at, tag, event_tag, event_body, started_at)
  ), updated as (
    update ${schema}.instances i
    set sequence = c.sequence, updated_at = c.at, tag = c.tag, status = $10::text, version = $12::integer, resident = $13::boolean,
      reason = ${ownerOr("$11::text", "$13::boolean", "$10::text")}
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.sequence - 1
      and ${isUnrevised("c.started_at")} ${fence}
    returning i.instance, c.n, c.sequence, c.at, c.event_tag, c.event_body
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body)
    select instance, sequence, at, event_tag, event_body from updated
  )
  ${movedFrom(schema, "updated")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

/** The columns, in the order of those of `input`; then the shared values. */
const uniformValues = (ordered: ReadonlyArray<Positioned>): ReadonlyArray<unknown> => {
  const { machine, summary } = (ordered[0] as Positioned).commit
  const { status, reason = null, version, resident } = summary
  const column = (valueOf: (commit: Commit, position: number) => unknown): string =>
    ordered.map(({ position, commit }) => valueOf(commit, position)).join(separator)
  return [
    column((_, position) => position),
    column(({ id }) => id),
    column(({ sequence }) => sequence),
    column(({ at }) => at),
    column((commit) => commit.summary.tag),
    column(({ events }) => events[0]?.tag),
    column(({ events }) => events[0]?.body),
    column(({ startedAt }) => startedAt),
    machine,
    status,
    reason,
    version,
    resident,
  ]
}

// ---- timed: a timer fires, or a state with a timer is entered or left

const isTimed = ({ commit }: Positioned): boolean =>
  isOneEvent(commit) && commit.clearTimers !== "all" && commit.clearTimers.length <= 1 && commit.setTimers.length <= 1

/**
 * One event, at most one timer that ends and one that begins; plain commits in the same batch too. One commit takes 15 µs of PostgreSQL's
 * CPU in batches of 500, against 23 µs for the full shape; 24 µs against 33 in batches of 50.
 */
const timedShape = (schema: string, fence: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::integer as expected, (c ->> 4)::integer as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, c ->> 11 as event_tag, c ->> 12 as event_body, (c ->> 13)::bigint as started_at,
      (c ->> 14)::integer as revision, c ->> 15 as ended, c ->> 16 as timer, (c ->> 17)::integer as entry, (c ->> 18)::bigint as due
    from jsonb_array_elements($1::jsonb) c
  ), updated as (
    update ${schema}.instances i
    set ${instanceColumns}
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and ${isThatLife("c.started_at", "c.revision")} ${fence}
    returning i.instance, c.n, c.machine, c.sequence, c.at, c.event_tag, c.event_body, c.ended, c.timer, c.entry, c.due
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body)
    select instance, sequence, at, event_tag, event_body from updated
  ), ended_timers as (
    delete from ${schema}.timers t using updated u where u.n % 1 = 0 and t.instance = u.instance and t.name = u.ended
  ), new_timers as (
    insert into ${schema}.timers (instance, machine, name, entry, due)
    select instance, machine, timer, entry, due from updated where timer is not null
    ${timerConflict}
  )
  ${movedFrom(schema, "updated")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

const timedValues = (positioned: Positioned): ReadonlyArray<unknown> => {
  const { clearTimers, setTimers } = positioned.commit
  const ended = clearTimers[0]
  const timer = setTimers[0]
  if (timer === undefined) return [...plainValues(positioned), ended]
  // A timer that is set anew is replaced, not cleared.
  return [...plainValues(positioned), timer.name === ended ? null : ended, timer.name, digits(timer.entry), digits(Math.ceil(timer.due))]
}

// ---- alike: many timers of one kind are due at once

const areAlike = (ordered: ReadonlyArray<Positioned>): boolean => {
  const first = ordered[0]
  return first !== undefined && ordered.length > 1 && ordered.every((one) => isStep(one) && isLike(one.commit, first.commit))
}

/** Whether the commit adds one to the sequence, and its new timer, if any, begins at that sequence. */
const isStep = (positioned: Positioned): boolean => {
  const { expected, sequence, setTimers } = positioned.commit
  return isTimed(positioned) && expected === sequence - 1 && (setTimers.length === 0 || setTimers[0]?.entry === sequence)
}

const isLike = (one: Commit, other: Commit): boolean =>
  one.events[0]?.body === other.events[0]?.body &&
  one.events[0]?.tag === other.events[0]?.tag &&
  one.machine === other.machine &&
  (revisionOf(one) ?? 0) === 0 &&
  one.summary.tag === other.summary.tag &&
  one.summary.status === other.summary.status &&
  one.summary.reason === other.summary.reason &&
  one.summary.version === other.summary.version &&
  one.summary.resident === other.summary.resident &&
  one.clearTimers[0] === other.clearTimers[0] &&
  one.setTimers[0]?.name === other.setTimers[0]?.name

/**
 * Commits that differ only in their instance and time: shared values are one parameter each, the others are columns. 11.2 µs of
 * PostgreSQL's CPU each in batches of 500, against 14.9 µs for the timed shape; 18.9 µs against 23.2 in batches of 50.
 *
 * Every column by which rows are found comes from the input. With the machine as a plain parameter, a plan made while the tables are empty
 * reads all instances of that machine.
 */
const alikeShape = (schema: string, fence: string): string => `
  with input as materialized (
    select n, $7::text as machine, id, sequence, at, due, started_at, $15::text as ended
    from unnest($1::integer[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[])
      as c (n, id, sequence, at, due, started_at)
  ), updated as (
    update ${schema}.instances i
    set sequence = c.sequence, updated_at = c.at, tag = $8::text, status = $9::text, version = $11::integer, resident = $12::boolean,
      reason = ${ownerOr("$10::text", "$12::boolean", "$9::text")}
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.sequence - 1
      and ${isUnrevised("c.started_at")} ${fence}
    returning i.instance, c.n, c.sequence, c.at, c.due, c.ended
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body)
    select instance, sequence, at, $13::text, $14::text from updated
  ), ended_timers as (
    delete from ${schema}.timers t using updated u where u.n % 1 = 0 and t.instance = u.instance and t.name = u.ended
  ), new_timers as (
    insert into ${schema}.timers (instance, machine, name, entry, due)
    select instance, $7::text, $16::text, sequence, due from updated where due is not null
    ${timerConflict}
  )
  ${movedFrom(schema, "updated")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

/** Columns of position, id, sequence, time, deadline of the new timer and start; then the shared values. */
const alikeValues = (ordered: ReadonlyArray<Positioned>): ReadonlyArray<unknown> => {
  const { machine, summary, events, clearTimers, setTimers } = (ordered[0] as Positioned).commit
  const { tag, status, reason = null, version, resident } = summary
  const event = events[0]
  const timer = setTimers[0]?.name
  // A timer that is set anew is replaced, not cleared.
  const ended = clearTimers[0] === timer ? undefined : clearTimers[0]
  return [
    arrayOf(ordered.map(({ position }) => position)),
    arrayOf(ordered.map(({ commit }) => `"${commit.id.replace(/["\\]/g, "\\$&")}"`)),
    arrayOf(ordered.map(({ commit }) => commit.sequence)),
    arrayOf(ordered.map(({ commit }) => commit.at)),
    arrayOf(ordered.map(({ commit }) => (commit.setTimers[0] === undefined ? "null" : Math.ceil(commit.setTimers[0].due)))),
    arrayOf(ordered.map(({ commit }) => commit.startedAt ?? "null")),
    machine,
    tag,
    status,
    reason,
    version,
    resident,
    event?.tag,
    event?.body,
    ended ?? null,
    timer ?? null,
  ]
}

/** PostgreSQL's text form of an array, which needs no type information from the client. */
const arrayOf = (values: ReadonlyArray<string | number>): string => `{${values.join(",")}}`

// ---- events: instances that exist, any events with or without the ids of their senders, and nothing else

const hasOnlyEvents = ({ commit: { expected, events, snapshot, commands, setTimers, clearTimers } }: Positioned): boolean =>
  expected >= 0 &&
  events.length > 0 &&
  snapshot === undefined &&
  commands.length === 0 &&
  setTimers.length === 0 &&
  clearTimers.length === 0

/**
 * For busy instances, which get several events in one commit, and for events of other nodes, which have ids. Leaves out the parts for
 * timers, snapshots and commands, which cost time even if a batch has none of them.
 */
const eventsShape = (schema: string, fence: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::integer as expected, (c ->> 4)::integer as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, (c ->> 11)::bigint as started_at,
      (c ->> 12)::integer as event_sequence, (c ->> 13)::bigint as event_at, c ->> 14 as event_tag, c ->> 15 as event_body,
      c ->> 16 as event_dedupe, nullif(c -> 17, 'null') as more_events, nullif(c -> 18, 'null') as more_dedupe,
      c ->> 19 as event_delivery, nullif(c -> 20, 'null') as resent, (c ->> 21)::integer as revision
    from jsonb_array_elements($1::jsonb) c
  ), ${duplicates(schema, ["c.event_dedupe is not null and e.dedupe_id = c.event_dedupe", hasOneOf("c.more_dedupe"), wasResent])}
  , updated as (
    update ${schema}.instances i
    set ${instanceColumns}
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and ${isThatLife("c.started_at", "c.revision")} ${fence} and ${isNoDuplicate}
    returning i.instance, c.n, c.event_sequence, c.event_at, c.event_tag, c.event_body, c.event_dedupe, c.event_delivery, c.more_events
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body, dedupe_id, delivery)
    select instance, event_sequence, event_at, event_tag, event_body, event_dedupe, event_delivery from updated
    union all
    select u.instance, (e ->> 0)::integer, (e ->> 1)::bigint, e ->> 2, e ->> 3, e ->> 4, e ->> 5
    from updated u cross join lateral jsonb_array_elements(u.more_events) e where u.more_events is not null
  )
  ${movedFrom(schema, "updated")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

/** In the order of the columns of `input`. An undefined value becomes null. */
const eventValues = ({ position, commit }: Positioned): ReadonlyArray<unknown> => {
  const { machine, id, expected, sequence, at, summary, events } = commit
  const { tag, status, reason, version, resident } = summary
  const [first, ...more] = events
  return [
    digits(position),
    machine,
    id,
    digits(expected),
    digits(sequence),
    digits(at),
    tag,
    status,
    reason,
    digits(version),
    resident,
    digits(commit.startedAt),
    digits(first?.sequence),
    digits(first?.at),
    first?.tag,
    first?.body,
    idOf(first),
    unlessEmpty(more.map(eventValue)),
    unlessEmpty(more.flatMap((event) => idOf(event) ?? [])),
    deliveryOf(first),
    unlessEmpty(resentIn(events)),
    digits(revisionOf(commit)),
  ]
}

const eventValue = (event: EventRecord): ReadonlyArray<unknown> => {
  const { sequence, at, tag, body } = event
  return [digits(sequence), digits(at), tag, body, idOf(event), deliveryOf(event)]
}

// ---- full: everything a commit can carry

/**
 * A commit is an array that contains its first event, and empty parts are not expanded: 22 µs of the server's CPU per commit in batches of
 * 50, 18 in batches of 500. As objects (jsonb_to_recordset) with all events in a list it was about 24, json instead of jsonb about 25;
 * single runs differ by 2.
 */
const fullShape = (schema: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::integer as expected, (c ->> 4)::integer as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, c ->> 11 as origin,
      (c ->> 12)::integer as event_sequence, (c ->> 13)::bigint as event_at, c ->> 14 as event_tag, c ->> 15 as event_body,
      c ->> 16 as event_dedupe, nullif(c -> 17, 'null') as more_events, nullif(c -> 18, 'null') as dedupe,
      nullif(c -> 19, 'null') as snapshot, nullif(c -> 20, 'null') as timers, nullif(c -> 21, 'null') as cleared,
      nullif(c -> 22, 'null') as kept, nullif(c -> 23, 'null') as commands, c ->> 24 as lease, (c ->> 25)::bigint as token,
      (c ->> 26)::bigint as started_at, c ->> 27 as event_delivery, nullif(c -> 28, 'null') as resent, (c ->> 29)::integer as revision
    from jsonb_array_elements($1::jsonb) c
  ), fenced as materialized (
    select c.n from input c
    where c.lease is not null
      and not exists (select from ${schema}.leases l where l.name = c.lease and l.token = c.token for key share)
  ), ${duplicates(schema, [hasOneOf("c.dedupe"), wasResent])}
  , updated as (
    update ${schema}.instances i
    set ${instanceColumns}
    from input c
    where c.n % 1 = 0 and c.expected >= 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and ${isThatLife("c.started_at", "c.revision")}
      and ${isNotFenced} and ${isNoDuplicate}
    returning i.instance, c.*
  ), inserted as (
    insert into ${schema}.instances (machine, id, sequence, started_at, updated_at, tag, status, reason, version, resident, origin)
    select machine, id, sequence, at, at, tag, status, reason, version, resident, origin
    from input c
    where c.expected < 0 and ${isNotFenced}
    on conflict (machine, id) do nothing
    returning instance, machine, id
  ), stored as (
    select * from updated
    union all
    select i.instance, c.* from inserted i join input c on c.machine = i.machine and c.id = i.id
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body, dedupe_id, delivery)
    select instance, event_sequence, event_at, event_tag, event_body, event_dedupe, event_delivery
    from stored where event_sequence is not null
    union all
    select s.instance, (e ->> 0)::integer, (e ->> 1)::bigint, e ->> 2, e ->> 3, e ->> 4, e ->> 5
    from stored s cross join lateral jsonb_array_elements(s.more_events) e where s.more_events is not null
  ), new_snapshots as (
    insert into ${schema}.snapshots as old (instance, sequence, at, version, body)
    select instance, (snapshot ->> 0)::integer, (snapshot ->> 1)::bigint, (snapshot ->> 2)::integer, snapshot ->> 3
    from stored where snapshot is not null
    on conflict (instance) do update
    set sequence = excluded.sequence, at = excluded.at, version = excluded.version, body = excluded.body
    where excluded.sequence >= old.sequence
  ), cleared_timers as (
    delete from ${schema}.timers t
    using stored s
    where s.n % 1 = 0 and (s.cleared is not null or s.kept is not null) and t.instance = s.instance
      and (s.cleared ? t.name or not s.kept ? t.name)
  ), new_timers as (
    insert into ${schema}.timers (instance, machine, name, entry, due)
    select s.instance, s.machine, t ->> 0, (t ->> 1)::integer, (t ->> 2)::bigint
    from stored s cross join lateral jsonb_array_elements(s.timers) t where s.timers is not null
    ${timerConflict}
  ), new_commands as (
    insert into ${schema}.commands (instance, key, slot, parameters, sequence, run_at, enqueued_at, queue, priority, ordered)
    select s.instance, c ->> 0, c ->> 1, c ->> 2, (c ->> 3)::integer, s.at, s.at, c ->> 4, (c ->> 5)::integer, (c ->> 6)::boolean
    from stored s cross join lateral jsonb_array_elements(s.commands) c where s.commands is not null
    on conflict (key, queue) do nothing
  )
  ${movedFrom(schema, "stored")}
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from stored`

/** In the order of the columns of `input`. An undefined value becomes null. */
const fullValues = ({ position, commit }: Positioned): ReadonlyArray<unknown> => {
  const { summary, events, setTimers, clearTimers, snapshot, commands, fence } = commit
  const [first, ...more] = events
  const names = setTimers.map(({ name }) => name)
  const isNew = commit.expected < 0
  return [
    digits(position),
    commit.machine,
    commit.id,
    digits(commit.expected),
    digits(commit.sequence),
    digits(commit.at),
    summary.tag,
    summary.status,
    summary.reason,
    digits(summary.version),
    summary.resident,
    commit.origin,
    digits(first?.sequence),
    digits(first?.at),
    first?.tag,
    first?.body,
    idOf(first),
    unlessEmpty(more.map(eventValue)),
    isNew ? null : unlessEmpty(events.flatMap((event) => idOf(event) ?? [])),
    snapshot === undefined ? null : [snapshot.sequence, snapshot.at, snapshot.version, snapshot.body],
    unlessEmpty(setTimers.map(({ name, entry, due }) => [name, entry, Math.ceil(due)])),
    clearTimers === "all" ? null : unlessEmpty(clearTimers.filter((name) => !names.includes(name))),
    // A new instance has no timers to clear.
    clearTimers === "all" && !isNew ? names : null,
    unlessEmpty(
      commands.map(({ key, slot, parameters, sequence, queue = commit.machine, priority = 0, ordered = false }) => [
        key,
        slot,
        parameters,
        sequence,
        queue,
        priority,
        ordered,
      ]),
    ),
    fence?.lease,
    fence?.token,
    digits(commit.startedAt),
    deliveryOf(first),
    isNew ? null : unlessEmpty(resentIn(events)),
    digits(revisionOf(commit)),
  ]
}

const unlessEmpty = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> | null => (values.length === 0 ? null : values)
