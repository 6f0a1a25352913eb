/** The statements of commands on SQLite, run inside a transaction that holds the write lock. */
import { keptErrors } from "../contract/StoredCommand.ts"

/**
 * Rows: key, queue, slot, parameters, machine, id, priority, ordered, time, delay, group, pending key. Parameters: the time, twice; the
 * rows.
 */
export const insertCommands = `
  insert into detent_commands
    (key, queue, slot, parameters, instance, sequence, priority, ordered, run_at, waits, enqueued_at, group_name, pending_key)
  select key, queue, slot, parameters, instance, -1, priority, ordered, run_at, run_at > moment, moment, group_name, pending_key
  from (
    select value ->> 0 as key, value ->> 1 as queue, value ->> 2 as slot, value ->> 3 as parameters, value ->> 4 as machine,
      (select i.instance from detent_instances i where i.machine = value ->> 4 and i.id = value ->> 5) as instance,
      value ->> 6 as priority, value ->> 7 as ordered, coalesce(value ->> 8, ? + (value ->> 9)) as run_at, ? as moment,
      value ->> 10 as group_name, value ->> 11 as pending_key
    from json_each(?)
  )
  where machine is null or instance is not null
  on conflict do nothing
  returning id as number, key, queue`

/** Rows: key, queue, pending key. Returns the key that was asked for, and that of the stored command. Parameters: the rows, twice. */
export const findCommands = `
  select c.id as number, c.queue, k.value ->> 0 as key, c.key as stored_key from json_each(?) k
  cross join detent_commands c on c.key = k.value ->> 0 and c.queue = k.value ->> 1
  union all
  select c.id as number, c.queue, k.value ->> 0 as key, c.key as stored_key from json_each(?) k
  cross join detent_commands c on c.pending_key = k.value ->> 2 and c.queue = k.value ->> 1`

/** Rows: queue, pending key, parameters, time, delay. Parameters: the time, twice; the rows. */
export const replaceCommands = `
  update detent_commands
  set parameters = k.parameters, run_at = k.run_at, waits = k.run_at > k.moment
  from (
    select value ->> 0 as queue, value ->> 1 as pending_key, value ->> 2 as parameters, coalesce(value ->> 3, ? + (value ->> 4)) as run_at,
      ? as moment
    from json_each(?)
  ) k
  where detent_commands.pending_key = k.pending_key and detent_commands.queue = k.queue and status = 'pending'
  returning id as number, queue, pending_key, key as stored_key`

/**
 * Rows: number, claim, status, problem, delay, attempts to take back. Parameters: the time, three times; the rows; the worker. The
 * first error and the latest ones are kept as JSON.
 */
export const finishCommands = `
  update detent_commands as c
  set status = f.value ->> 2, waits = f.value ->> 2 = 'pending' and f.value ->> 4 > 0, counted = 0, dead = f.value ->> 2 = 'failed',
    attempts = c.attempts - (f.value ->> 5), claimed_until = null,
    run_at = case when f.value ->> 2 = 'pending' then ? + (f.value ->> 4) else c.run_at end,
    last_error = case when f.value ->> 2 = 'pending' then coalesce(f.value ->> 3, c.last_error) else f.value ->> 3 end,
    claimed_by = case when f.value ->> 2 = 'pending' then null else c.claimed_by end,
    finished_at = case when f.value ->> 2 = 'pending' then null else ? end,
    errors = case when f.value ->> 3 is null or f.value ->> 2 in ('completed', 'skipped') then c.errors else json_insert(
      case when json_array_length(c.errors) >= ${keptErrors} then json_remove(c.errors, '$[1]') else coalesce(c.errors, '[]') end,
      '$[#]', json_object('attempt', c.attempts, 'at', ?, 'problem', f.value ->> 3)) end
  from json_each(?) as f
  where c.id = f.value ->> 0 and c.claims = f.value ->> 1 and c.claimed_by = ? and c.status = 'processing'
  returning id, queue, status`

/** Rows: queue, status, number of newly finished commands. */
export const countFinished = `
  insert into detent_finished (queue, status, commands) select value ->> 0, value ->> 1, value ->> 2 from json_each(?) where true
  on conflict (queue, status) do update set commands = commands + excluded.commands`

/** Finds those of the same rows that were stored by an earlier call whose answer was lost. Parameters: the rows; the worker. */
export const finishedBefore = `
  select c.id from json_each(?) f
  cross join detent_commands c on c.id = f.value ->> 0 and c.claims = f.value ->> 1 and c.status = f.value ->> 2
  where c.claimed_by = ? and c.finished_at is not null`

export const selectQueue = `
  select name, paused, concurrency, rate_limit, rate_interval, starts, group_concurrency, group_rate_limit, group_rate_interval,
    limits_groups, turn
  from detent_queues where name = ?`

/** Parameters: queue, time. */
export const wakeCommands = `
  update detent_commands set waits = 0
  where id in (select id from detent_commands where waits and queue = ? and run_at <= ? order by run_at limit 1000)`

/** Parameters: queue, time. */
export const countProcessing = `
  select count(*) as count from detent_commands where counted and queue = ? and claimed_until > ?`

/**
 * The commands of a group that can be claimed, in order: unclaimed ones, and those whose claim has expired. The order and the first
 * conditions are those of the index `detent_commands_open`. Parameters: queue, group, time, limit.
 */
export const openCommands = `
  select c.id from detent_commands c
  where c.queue = ? and c.group_name = ? and c.finished_at is null and not c.waits and (c.status = 'pending' or c.claimed_until <= ?)
    and (not c.ordered or not exists (
      select 1 from detent_commands e
      where e.ordered and e.finished_at is null and e.instance = c.instance and e.id <> c.id and (e.id < c.id or e.status = 'processing')
    ))
  order by c.priority desc, c.id limit ?`

/** Parameters: worker, expiry, whether to count it, queue, group, time, limit. */
export const claimCommands = `
  update detent_commands
  set status = 'processing', attempts = attempts + 1, claims = claims + 1, claimed_by = ?, claimed_until = ?, counted = ?, pending_key = null
  where id in (${openCommands})
  returning id as number, claims as claim, queue, group_name, priority, ordered, attempts, round, sequence, enqueued_at, key, slot, parameters,
    (select i.machine from detent_instances i where i.instance = detent_commands.instance) as machine,
    (select i.id from detent_instances i where i.instance = detent_commands.instance) as instance_id`

export const noteStarts = `update detent_queues set starts = ? where name = ?`

export const nextDue = `select min(run_at) as due from detent_commands where waits and queue = ?`

/** When the first claim expires. Read only if every open command is being executed, or waits for one that is. */
export const nextFree = `
  select min(claimed_until) as due from detent_commands where queue = ? and finished_at is null and not waits`

/** Whether the queue has groups. */
export const hasGroups = `
  select exists (select 1 from detent_commands where queue = ? and group_name > '' and finished_at is null and not waits) as found`

const claimable = "c.finished_at is null and not c.waits and (c.status = 'pending' or c.claimed_until <= t.moment)"

const nextGroup = (condition: string) => `(
    select c.group_name from detent_commands c where c.queue = t.queue and ${condition} and ${claimable} order by c.group_name limit 1
  )`

/**
 * The groups that a claim visits: by name, from the one after the last that had a turn, then from the first on. Each with its own limits and
 * starts. Parameters: queue, time, turn, limit.
 */
export const nextGroups = `
  with recursive t (queue, moment, turn) as (values (?, ?, ?)),
  ahead (nth, name) as (
    select 1, (select ${nextGroup("c.group_name > t.turn")} from t)
    union all
    select a.nth + 1, (select ${nextGroup("c.group_name > a.name")} from t) from ahead a where a.name is not null
  ), around (nth, name) as (
    select 1, (select ${nextGroup("c.group_name >= '' and c.group_name <= t.turn")} from t)
    union all
    select a.nth + 1, (select ${nextGroup("c.group_name > a.name and c.group_name <= t.turn")} from t) from around a where a.name is not null
  ), turns as materialized (
    select * from (
      select 1 as part, nth, name from ahead where name is not null
      union all
      select 2 as part, nth, name from around where name is not null
    ) limit ?
  )
  select turns.name, g.concurrency, g.rate_limit, g.rate_interval, g.starts
  from turns left join detent_groups g on g.queue = (select t.queue from t) and g.name = turns.name
  order by part, nth`

/** Parameters: queue, time. */
export const runningGroups = `
  select group_name, count(*) as count from detent_commands where counted and queue = ? and claimed_until > ? group by group_name`

/** Parameters: queue, turn, turn. */
export const noteTurn = `
  insert into detent_queues (name, turn) values (?, ?) on conflict (name) do update set turn = excluded.turn`

/** Rows: name, starts, when they no longer count. Parameters: queue, rows. */
export const noteGroupStarts = `
  insert into detent_groups (queue, name, starts, idle_at) select ?, value ->> 0, value ->> 1, value ->> 2 from json_each(?) where true
  on conflict (queue, name) do update set starts = excluded.starts,
    idle_at = case when concurrency is null and rate_limit is null then excluded.idle_at end`

/** Parameters: queue, time. */
export const forgetGroups = `
  delete from detent_groups where (queue, name) in (
    select queue, name from detent_groups where queue = ? and idle_at < ? order by idle_at limit 100
  )`
