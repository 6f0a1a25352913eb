/**
 * The statement of a commit, put together from the parts that the columns of its input need. A part that no commit of a batch needs costs
 * time even if it does nothing.
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
 *   while the tables are empty reads them whole, and PostgreSQL keeps that plan while they grow. For the same reason every column by which
 *   rows are found comes from the input: with the machine as a plain parameter, such a plan reads all instances of that machine.
 *
 * The ids under which nodes send events to one another have a column of their own, without an index: each event of another node has one,
 * and they are hardly ever searched for. An index took a third of the CPU of such an event, and 170 bytes of WAL. An event that is sent
 * again is searched for among all events of its instance.
 *
 * The commits whose ids the journal already has are selected in a part of their own. As conditions of the update, the cost of searching for
 * ids kept PostgreSQL from using the index on instances: its plan read all instances and all events for every batch.
 */
import {
  type Columns,
  commandColumns,
  instanceColumns,
  namesOf,
  replacing,
  snapshotColumns,
  timerColumns,
  unclaimedTimer,
} from "../sql/CommitColumns.ts"
import { type CommitColumn, columnsIn, countParameters, type Input, journalColumns, selectInput } from "./commitInput.ts"

/** The statement of a shape. `isFenced`: its last two parameters are the lease and the token of a fence that all commits share. */
export const commitStatement = (schema: string, input: Input, isFenced: boolean): string => {
  const columns = new Set(columnsIn(input))
  const isOne = input.form === "one"
  const fence = isFenced ? sharedFence(schema, countParameters(input) + 1) : ""
  const parts = [
    // Read once where it is a single row of parameters: PostgreSQL then plans the update as if it named them.
    `input as ${isOne ? "" : "materialized "}(${selectInput(input)})`,
    ...ownFences(schema, columns),
    ...duplicates(schema, columns),
    ...instances(schema, columns, isOne, fence),
    ...events(schema, columns),
    ...snapshots(schema, columns),
    ...timers(schema, columns),
    ...commands(schema, columns),
    // One row of `moves` for the whole batch, from which the listing is brought up to date.
    isOne
      ? `moved as (insert into ${schema}.moves (instances) select array[instance] from stored)`
      : `moved as (insert into ${schema}.moves (instances) select array_agg(instance) from stored having count(*) > 0)`,
  ]
  const result = isOne ? "1 as stored, n::text as positions" : "count(*)::integer as stored, string_agg(n::text, ',') as positions"
  return `with ${parts.join(",\n")}\nselect ${result} from stored`
}

type Names = ReadonlySet<CommitColumn>

/** Refers to no row of the statement, so that PostgreSQL evaluates it once, before anything else is locked. */
const sharedFence = (schema: string, first: number): string =>
  `and exists (select from ${schema}.leases l where l.name = $${first}::text and l.token = $${first + 1}::bigint for key share)`

/** The commits whose fence does not hold, where each may have its own. */
const ownFences = (schema: string, columns: Names): ReadonlyArray<string> =>
  columns.has("lease")
    ? [
        `fenced as materialized (
    select c.n from input c
    where c.lease is not null
      and not exists (select from ${schema}.leases l where l.name = c.lease and l.token = c.token for key share)
  )`,
      ]
    : []

const duplicates = (schema: string, columns: Names): ReadonlyArray<string> => {
  const conditions = [
    ...(columns.has("event_dedupe_id") ? ["c.event_dedupe_id is not null and e.dedupe_id = c.event_dedupe_id"] : []),
    ...(columns.has("more_ids")
      ? ["c.more_ids is not null and e.dedupe_id = any (array(select jsonb_array_elements_text(c.more_ids)))"]
      : []),
    ...(columns.has("resent") ? ["c.resent is not null and e.delivery = any (array(select jsonb_array_elements_text(c.resent)))"] : []),
  ]
  if (conditions.length === 0) return []
  const selects = conditions.map(
    (condition) => `
    select c.n from input c
    join ${schema}.instances i on i.machine = c.machine and i.id = c.id
    join ${schema}.events e on e.instance = i.instance and ${condition}
    where c.n % 1 = 0`,
  )
  return [`duplicates as materialized (${selects.join(" union all ")})`]
}

/** `stored` has the row key of each stored commit, and the columns that the parts after it read. */
const instances = (schema: string, columns: Names, isOne: boolean, fence: string): ReadonlyArray<string> => {
  const inserts = columns.has("origin")
  const ownFence = columns.has("lease") ? "and c.n not in (select n from fenced)" : ""
  const names = ["n", ...[...columns].filter((name) => !isOnlyOfInstance(name))]
  const update = `
    update ${schema}.instances i
    set ${Object.keys(instanceColumns)
      .map((name) => `${name} = ${newValue(name)}`)
      .join(", ")}${columns.has("fields") ? ", fields = coalesce(nullif(c.fields, ''), i.fields)" : ""}
    from input c
    where ${isOne ? "" : "c.n % 1 = 0 and "}i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and i.started_at = coalesce(c.started_at, i.started_at) and i.revision = coalesce(c.revision, i.revision)
      ${inserts ? "and c.expected >= 0" : ""} ${fence} ${ownFence} ${columns.has("resent") ? "and c.n not in (select n from duplicates)" : ""}
    returning i.instance, ${names.map((name) => `c.${name}`).join(", ")}`
  if (!inserts) return [`stored as (${update})`]
  return [
    `updated as (${update})`,
    `inserted as (
    insert into ${schema}.instances (machine, id, started_at, origin, ${namesOf(instanceColumns)}${columns.has("fields") ? ", fields" : ""})
    select machine, id, updated_at, origin, ${namesOf(instanceColumns)}${columns.has("fields") ? ", nullif(fields, '')" : ""}
    from input c
    where c.expected < 0 ${ownFence}
    on conflict (machine, id) do nothing
    returning instance, machine, id
  )`,
    `stored as (
    select * from updated
    union all
    select i.instance, ${names.map((name) => `c.${name}`).join(", ")}
    from inserted i join input c on c.machine = i.machine and c.id = i.id
  )`,
  ]
}

/** The parts after the update of the instance do not read these. */
const isOnlyOfInstance = (name: CommitColumn): boolean =>
  (name in instanceColumns && name !== "sequence" && name !== "updated_at") ||
  ["id", "expected", "started_at", "revision", "origin", "fields", "more_ids", "resent", "lease", "token"].includes(name)

/** A commit that names no owner keeps the owner for as long as the instance needs one. An instance that needs none has none. */
const newValue = (name: string): string => (name === "owner" ? "case when c.needs_owner then coalesce(c.owner, i.owner) end" : `c.${name}`)

/** Expressions that read the values of `columns` from the JSON list `json`. */
const listed = (columns: Columns<never>, json: string): string =>
  Object.values(columns)
    .map(({ type }, index) => (type === "text" ? `${json} ->> ${index}` : `(${json} ->> ${index})::${type}`))
    .join(", ")

/** Where a shape has one event of each commit, sequence and time of the event are those of the commit. */
const events = (schema: string, columns: Names): ReadonlyArray<string> => {
  const names = Object.keys(journalColumns)
  const ofCommit: Readonly<Record<string, string>> = { sequence: "sequence", at: "updated_at" }
  const has = (name: string) => columns.has(`event_${name}` as CommitColumn)
  const written = names.filter((name) => has(name) || name in ofCommit)
  const first = `
    insert into ${schema}.events (instance, ${written.join(", ")})
    select instance, ${written.map((name) => (has(name) ? `event_${name}` : ofCommit[name])).join(", ")} from stored`
  if (!columns.has("more_events")) return [`new_events as (${first})`]
  return [
    `new_events as (${first} where event_sequence is not null
    union all
    select s.instance, ${listed(journalColumns, "e")}
    from stored s cross join lateral jsonb_array_elements(s.more_events) e where s.more_events is not null
  )`,
  ]
}

const snapshots = (schema: string, columns: Names): ReadonlyArray<string> =>
  columns.has("snapshot")
    ? [
        `new_snapshots as (
    insert into ${schema}.snapshots as old (instance, ${namesOf(snapshotColumns)})
    select instance, ${listed(snapshotColumns, "snapshot")} from stored where snapshot is not null
    on conflict (instance) do update set ${replacing(snapshotColumns)}
    where excluded.sequence >= old.sequence
  )`,
      ]
    : []

const timers = (schema: string, columns: Names): ReadonlyArray<string> => {
  const insert = `insert into ${schema}.timers (instance, machine, ${namesOf(timerColumns)})`
  const replace = `on conflict (instance, name) do update set ${replacing(timerColumns)}, ${unclaimedTimer}`
  if (columns.has("timer_name"))
    return [
      `ended_timers as (
    delete from ${schema}.timers t using stored s where s.n % 1 = 0 and t.instance = s.instance and t.name = s.ended
  )`,
      `new_timers as (
    ${insert} select instance, machine, ${namesOf(timerColumns, "timer_")} from stored where timer_name is not null ${replace}
  )`,
    ]
  if (!columns.has("timers")) return []
  return [
    `cleared_timers as (
    delete from ${schema}.timers t
    using stored s
    where s.n % 1 = 0 and (s.cleared is not null or s.kept is not null) and t.instance = s.instance
      and (s.cleared ? t.name or not s.kept ? t.name)
  )`,
    `new_timers as (
    ${insert}
    select s.instance, s.machine, ${listed(timerColumns, "t")}
    from stored s cross join lateral jsonb_array_elements(s.timers) t where s.timers is not null
    ${replace}
  )`,
  ]
}

const commands = (schema: string, columns: Names): ReadonlyArray<string> =>
  columns.has("commands")
    ? [
        `new_commands as (
    insert into ${schema}.commands (instance, run_at, enqueued_at, ${namesOf(commandColumns)})
    select s.instance, s.updated_at, s.updated_at, ${listed(commandColumns, "c")}
    from stored s cross join lateral jsonb_array_elements(s.commands) c where s.commands is not null
    on conflict (key, queue) do nothing
  )`,
      ]
    : []
