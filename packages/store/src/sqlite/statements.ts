/**
 * The statements of a commit. The events of all commits of a transaction share statements of many rows; as one JSON parameter they would
 * cost twice as much. Rows with values to compare, such as the sequence of an instance, have one statement each.
 */
import type { EventRecord } from "../contract/Commit.ts"
import {
  type Columns,
  commandColumns,
  eventColumns,
  instanceColumns,
  namesOf,
  replacing,
  snapshotColumns,
  timerColumns,
  unclaimedTimer,
} from "../sql/CommitColumns.ts"

const questionMarks = (count: number): string => Array(count).fill("?").join(", ")

const assigned = (keepsOwner: boolean): string =>
  Object.keys(instanceColumns)
    .map((name) => `${name} = ${keepsOwner && name === "owner" ? "coalesce(?, owner)" : "?"}`)
    .join(", ")

/**
 * A commit without the start of its instance applies to any instance with that id, and to any revision of its journal: both are null.
 */
const expected = "machine = ? and id = ? and sequence = ? and started_at = coalesce(?, started_at) and revision = coalesce(?, revision)"

const named = `where ${expected} returning instance`

const numbered = `where instance = ? and ${expected}`

/** The columns of every commit, machine, id, expected, start, revision. */
export const updateInstance = `update detent_instances set ${assigned(false)} ${named}`

/** For a commit that names no owner: the row keeps its owner. The given owner is null, and an instance that needs no owner has none. */
export const updateInstanceKeepingOwner = `update detent_instances set ${assigned(true)} ${named}`

/** The same for an instance whose row key is known; the key comes before the machine. */
export const updateRow = `update detent_instances set ${assigned(false)} ${numbered}`

export const updateRowKeepingOwner = `update detent_instances set ${assigned(true)} ${numbered}`

/** The columns of every commit, machine, id, started at, origin. */
export const insertInstance = `
  insert into detent_instances (${namesOf(instanceColumns)}, machine, id, started_at, origin)
  values (${questionMarks(Object.keys(instanceColumns).length + 4)})
  on conflict (machine, id) do nothing
  returning instance`

/** SQLite has one column for all ids of senders, with an index. */
export const journalColumns = {
  ...eventColumns,
  dedupe_id: { type: "text", value: ({ dedupeId }) => dedupeId },
} satisfies Columns<EventRecord>

const eventRow = `(${questionMarks(Object.keys(journalColumns).length + 1)})`

/** For each event: instance, and its columns. A few sizes, largest first, so that each is prepared once. */
export const insertEvents = [25, 5, 1].map((size) => ({
  size,
  statement: `insert into detent_events (instance, ${namesOf(journalColumns)}) values ${Array(size).fill(eventRow).join(", ")}`,
}))

/** Instance, and the columns of a snapshot. */
export const upsertSnapshot = `
  insert into detent_snapshots as old (instance, ${namesOf(snapshotColumns)})
  values (${questionMarks(Object.keys(snapshotColumns).length + 1)})
  on conflict (instance) do update set ${replacing(snapshotColumns)}
  where excluded.sequence >= old.sequence`

/** Values of indexed fields as JSON, instance. */
export const updateFields = `update detent_instances set fields = ? where instance = ?`

export const deleteAllTimers = `delete from detent_timers where instance = ?`

/** Instance, name. */
export const deleteTimer = `delete from detent_timers where instance = ? and name = ?`

/** Instance, machine, and the columns of a timer. */
export const upsertTimer = `
  insert into detent_timers (instance, machine, ${namesOf(timerColumns)}) values (${questionMarks(Object.keys(timerColumns).length + 2)})
  on conflict (instance, name) do update set ${replacing(timerColumns)}, ${unclaimedTimer}`

/** Instance, run at, enqueued at, and the columns of a command. */
export const insertCommand = `
  insert into detent_commands (instance, run_at, enqueued_at, ${namesOf(commandColumns)})
  values (${questionMarks(Object.keys(commandColumns).length + 3)})
  on conflict (key, queue) do nothing`

/** JSON of row keys: the instances that one transaction has changed, for the listing. */
export const insertMoves = `insert into detent_moves (instances) values (?)`

export const selectToken = `select token from detent_leases where name = ?`

/** JSON of dedupe ids, machine, id. Returns the first id that the journal already has, in the order of the events. */
export const selectDuplicate = `
  select e.dedupe_id, e.sequence
  from json_each(?) d
  cross join detent_instances i on i.machine = ? and i.id = ?
  cross join detent_events e on e.instance = i.instance and e.dedupe_id = d.value
  order by d.key limit 1`

/** Machine, id, started at. */
export const selectSequence = `select sequence from detent_instances where machine = ? and id = ? and started_at = coalesce(?, started_at)`

/** The source of a fork, with its snapshot if that is not newer than a sequence number. */
export const selectForkSource = `
  select i.instance, i.origin, s.sequence, s.at, s.version, s.body
  from detent_instances i left join detent_snapshots s on s.instance = i.instance and s.sequence <= ?
  where i.machine = ? and i.id = ?`

/** Parameters: JSON of dedupe ids, source, sequence number. */
export const selectForkDuplicates = `
  select e.dedupe_id, e.sequence
  from json_each(?) d cross join detent_events e on e.instance = ? and e.dedupe_id = d.value and e.sequence <= ?
  order by d.key`

/** Parameters: machine and id of the fork, source, sequence number twice. */
export const copyEvents = `
  insert into detent_events (instance, ${namesOf(journalColumns)})
  select (select instance from detent_instances where machine = ? and id = ?), ${namesOf(journalColumns, "e.")}
  from detent_blocks b cross join detent_events e indexed by detent_events_sequence on e.block = b.block and e.instance = b.instance
  where b.instance = ? and b.block <= ? >> 5 and e.sequence <= ?
  order by b.block, e.sequence`
