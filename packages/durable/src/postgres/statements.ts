/** The statements of a commit on PostgreSQL, for tables in a schema. */

/**
 * A whole batch in one statement and one parameter: half the time and a third of the client's CPU of begin, update, insert,
 * commit. Answers how many commits were stored, and their positions. The parameter is in input.ts.
 *
 * - Whoever else changes an instance at the same time holds its row; once it is free, `sequence = expected` is checked anew.
 *   No event is ever added without the sequence growing, so that the check of dedupe ids, as of the start, holds as well.
 * - The lease is locked against being taken over until this is committed.
 * - Parts of one statement see the tables as they were before it and run in no certain order: so no two of them touch the
 *   same row, and timers that are set are replaced, never cleared.
 * - A commit is an array, its first event stands in it, and parts that are empty are not unfolded: 22 µs of the server's CPU
 *   per commit in batches of 50, 18 in batches of 500. As objects (jsonb_to_recordset) with all events in a list it was
 *   about 24, json instead of jsonb about 25; single runs differ by 2.
 * - `n % 1 = 0` is always true. It makes the planner expect one row where it expects a hundred, so that it looks rows up by
 *   index; a plan made while the tables are empty reads them whole, and is kept while they grow.
 */
export const writeCommits = (schema: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::integer as expected, (c ->> 4)::integer as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, c ->> 11 as origin,
      (c ->> 12)::integer as event_sequence, (c ->> 13)::bigint as event_at, c ->> 14 as event_tag, c ->> 15 as event_body,
      c ->> 16 as event_dedupe, nullif(c -> 17, 'null') as more_events, nullif(c -> 18, 'null') as dedupe,
      nullif(c -> 19, 'null') as snapshot, nullif(c -> 20, 'null') as timers, nullif(c -> 21, 'null') as cleared,
      nullif(c -> 22, 'null') as kept, nullif(c -> 23, 'null') as commands, c ->> 24 as lease, (c ->> 25)::bigint as token
    from jsonb_array_elements($1::jsonb) c
  ), updated as (
    update ${schema}.instances i
    set sequence = c.sequence, updated_at = c.at, tag = c.tag, status = c.status, reason = c.reason, version = c.version,
      resident = c.resident
    from input c
    where c.n % 1 = 0 and c.expected >= 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
      and (c.lease is null or exists (select from ${schema}.leases l where l.name = c.lease and l.token = c.token for share))
      and (c.dedupe is null or not exists (
        select from ${schema}.events e
        where e.instance = i.instance and e.dedupe_id = any (array(select jsonb_array_elements_text(c.dedupe)))
      ))
    returning i.instance, c.*
  ), inserted as (
    insert into ${schema}.instances (machine, id, sequence, started_at, updated_at, tag, status, reason, version, resident, origin)
    select machine, id, sequence, at, at, tag, status, reason, version, resident, origin
    from input c
    where c.expected < 0
      and (c.lease is null or exists (select from ${schema}.leases l where l.name = c.lease and l.token = c.token for share))
    on conflict (machine, id) do nothing
    returning instance, machine, id
  ), stored as (
    select * from updated
    union all
    select i.instance, c.* from inserted i join input c on c.machine = i.machine and c.id = i.id
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body, dedupe_id)
    select instance, event_sequence, event_at, event_tag, event_body, event_dedupe
    from stored where event_sequence is not null
    union all
    select s.instance, (e ->> 0)::integer, (e ->> 1)::bigint, e ->> 2, e ->> 3, e ->> 4
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
    insert into ${schema}.timers (instance, name, entry, due)
    select s.instance, t ->> 0, (t ->> 1)::integer, (t ->> 2)::bigint
    from stored s cross join lateral jsonb_array_elements(s.timers) t where s.timers is not null
    on conflict (instance, name) do update
    set entry = excluded.entry, due = excluded.due, claimed_by = null, claimed_until = 0, attempts = 0, dead = false, problem = null
  ), new_commands as (
    insert into ${schema}.commands (instance, key, slot, parameters, sequence, run_at, enqueued_at, queue, priority, ordered)
    select s.instance, c ->> 0, c ->> 1, c ->> 2, (c ->> 3)::integer, s.at, s.at, c ->> 4, (c ->> 5)::integer, (c ->> 6)::boolean
    from stored s cross join lateral jsonb_array_elements(s.commands) c where s.commands is not null
    on conflict (key) do nothing
  )
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from stored`

/** Why commits were not stored. Rows: position, machine, id, dedupe ids, lease. The first dedupe id that is taken, in the order of the events. */
export const explainRefusals = (schema: string): string => `
  select c.n, coalesce(i.sequence, -1) as actual, coalesce(l.token, 0) as newest, d.dedupe_id, d.sequence as duplicate
  from (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, c -> 3 as dedupe, c ->> 4 as lease
    from jsonb_array_elements($1::jsonb) c
  ) c
  left join ${schema}.instances i on i.machine = c.machine and i.id = c.id
  left join ${schema}.leases l on l.name = c.lease
  left join lateral (
    select e.dedupe_id, e.sequence
    from jsonb_array_elements_text(c.dedupe) with ordinality as sent (id, position)
    join ${schema}.events e on e.instance = i.instance and e.dedupe_id = sent.id
    order by sent.position limit 1
  ) d on true`

/** What a fork takes over from its source, up to a sequence number. */
export const selectForkSource = (schema: string): string => `
  select i.instance, i.origin, s.sequence, s.at, s.version, s.body
  from ${schema}.instances i left join ${schema}.snapshots s on s.instance = i.instance and s.sequence <= $1
  where i.machine = $2 and i.id = $3`

/** Parameters: JSON of dedupe ids, source, sequence number. */
export const selectForkDuplicates = (schema: string): string => `
  select e.dedupe_id, e.sequence
  from jsonb_array_elements_text($1::jsonb) with ordinality as sent (id, position)
  join ${schema}.events e on e.instance = $2 and e.dedupe_id = sent.id and e.sequence <= $3
  order by sent.position limit 1`

/** Parameters: machine and id of the fork, source, sequence number. */
export const copyEvents = (schema: string): string => `
  insert into ${schema}.events (instance, sequence, at, tag, body, dedupe_id)
  select (select instance from ${schema}.instances where machine = $1 and id = $2), sequence, at, tag, body, dedupe_id
  from ${schema}.events where instance = $3 and sequence <= $4`
