/**
 * The statements of a commit. The events of all commits of a transaction share statements of many rows; as one JSON parameter they would
 * cost twice as much. Rows with values to compare, such as the sequence of an instance, have one statement each.
 */

const set = "sequence = ?, updated_at = ?, tag = ?, status = ?, reason = ?, version = ?, resident = ?"

/** For a commit that names no owner: if the old state has work too, the row keeps its owner. The given reason is null. */
const setKeepingOwner =
  "sequence = ?, updated_at = ?, tag = ?, status = ?, reason = case when resident and status = 'running' then reason else ? end, version = ?, resident = ?"

/**
 * A commit without the start of its instance applies to any instance with that id, and to any revision of its journal: both are null.
 */
const expected = "machine = ? and id = ? and sequence = ? and started_at = coalesce(?, started_at) and revision = coalesce(?, revision)"

const named = `where ${expected} returning instance`

const numbered = `where instance = ? and ${expected}`

/** Sequence, at, tag, status, reason, version, resident, machine, id, expected, start, revision. */
export const updateInstance = `update detent_instances set ${set} ${named}`

export const updateInstanceKeepingOwner = `update detent_instances set ${setKeepingOwner} ${named}`

/** The same for an instance whose row key is known; the key comes before the machine. */
export const updateRow = `update detent_instances set ${set} ${numbered}`

export const updateRowKeepingOwner = `update detent_instances set ${setKeepingOwner} ${numbered}`

/** Sequence, at, tag, status, reason, version, resident, machine, id, started at, origin. */
export const insertInstance = `
  insert into detent_instances (sequence, updated_at, tag, status, reason, version, resident, machine, id, started_at, origin)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (machine, id) do nothing
  returning instance`

/** For each event: instance, sequence, at, tag, body, dedupe id. A few sizes, largest first, so that each is prepared once. */
export const insertEvents = [25, 5, 1].map((size) => ({
  size,
  statement: `insert into detent_events (instance, sequence, at, tag, body, dedupe_id) values ${Array(size).fill("(?, ?, ?, ?, ?, ?)").join(", ")}`,
}))

/** Instance, sequence, at, version, body. */
export const upsertSnapshot = `
  insert into detent_snapshots as old (instance, sequence, at, version, body) values (?, ?, ?, ?, ?)
  on conflict (instance) do update
  set sequence = excluded.sequence, at = excluded.at, version = excluded.version, body = excluded.body
  where excluded.sequence >= old.sequence`

export const deleteAllTimers = `delete from detent_timers where instance = ?`

/** Instance, name. */
export const deleteTimer = `delete from detent_timers where instance = ? and name = ?`

/** Instance, machine, name, entry, due. */
export const upsertTimer = `
  insert into detent_timers (instance, machine, name, entry, due) values (?, ?, ?, ?, ?)
  on conflict (instance, name) do update
  set entry = excluded.entry, due = excluded.due, claimed_by = null, claimed_until = 0, attempts = 0, dead = 0, problem = null`

/** Instance, key, slot, parameters, sequence, run at, enqueued at, queue, priority, ordered. */
export const insertCommand = `
  insert into detent_commands (instance, key, slot, parameters, sequence, run_at, enqueued_at, queue, priority, ordered)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
  insert into detent_events (instance, sequence, at, tag, body, dedupe_id)
  select (select instance from detent_instances where machine = ? and id = ?), e.sequence, e.at, e.tag, e.body, e.dedupe_id
  from detent_blocks b cross join detent_events e indexed by detent_events_sequence on e.block = b.block and e.instance = b.instance
  where b.instance = ? and b.block <= ? >> 5 and e.sequence <= ?
  order by b.block, e.sequence`
