/** The statements of commands on SQLite, run inside a transaction that holds the write lock. */
import { keptErrors } from "../contract/StoredCommand.ts"

/** Rows: key, queue, slot, parameters, machine, id, priority, ordered, time, delay. Parameters: the time, twice; the rows. */
export const insertCommands = `
  insert into detent_commands (key, queue, slot, parameters, instance, sequence, priority, ordered, run_at, waits, enqueued_at)
  select key, queue, slot, parameters, instance, -1, priority, ordered, run_at, run_at > moment, moment
  from (
    select value ->> 0 as key, value ->> 1 as queue, value ->> 2 as slot, value ->> 3 as parameters, value ->> 4 as machine,
      (select i.instance from detent_instances i where i.machine = value ->> 4 and i.id = value ->> 5) as instance,
      value ->> 6 as priority, value ->> 7 as ordered, coalesce(value ->> 8, ? + (value ->> 9)) as run_at, ? as moment
    from json_each(?)
  )
  where machine is null or instance is not null
  on conflict (key, queue) do nothing
  returning id as number, key, queue`

/** Rows: key, queue. */
export const findCommands = `
  select c.id as number, c.key, c.queue from json_each(?) k
  cross join detent_commands c on c.key = k.value ->> 0 and c.queue = k.value ->> 1`

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
  select name, paused, concurrency, rate_limit, rate_interval, starts from detent_queues where name = ?`

/** Parameters: queue, time. */
export const wakeCommands = `
  update detent_commands set waits = 0
  where id in (select id from detent_commands where waits and queue = ? and run_at <= ? order by run_at limit 1000)`

/** Parameters: queue, time. */
export const countProcessing = `
  select count(*) as count from detent_commands where counted and queue = ? and claimed_until > ?`

/**
 * The commands that can be claimed, in order: unclaimed ones, and those whose claim has expired. The order and the first conditions are
 * those of the index `detent_commands_open`. Parameters: queue, time, limit.
 */
export const openCommands = `
  select c.id from detent_commands c
  where c.queue = ? and c.finished_at is null and not c.waits and (c.status = 'pending' or c.claimed_until <= ?)
    and (not c.ordered or not exists (
      select 1 from detent_commands e
      where e.ordered and e.finished_at is null and e.instance = c.instance and e.id <> c.id and (e.id < c.id or e.status = 'processing')
    ))
  order by c.priority desc, c.id limit ?`

/** Parameters: worker, expiry, whether to count it, queue, time, limit. */
export const claimCommands = `
  update detent_commands
  set status = 'processing', attempts = attempts + 1, claims = claims + 1, claimed_by = ?, claimed_until = ?, counted = ?
  where id in (${openCommands})
  returning id as number, claims as claim, queue, priority, ordered, attempts, round, sequence, enqueued_at, key, slot, parameters,
    (select i.machine from detent_instances i where i.instance = detent_commands.instance) as machine,
    (select i.id from detent_instances i where i.instance = detent_commands.instance) as instance_id`

export const noteStarts = `update detent_queues set starts = ? where name = ?`

export const nextDue = `select min(run_at) as due from detent_commands where waits and queue = ?`

/** When the first claim expires. Read only if every open command is being executed, or waits for one that is. */
export const nextFree = `
  select min(claimed_until) as due from detent_commands where queue = ? and finished_at is null and not waits`
