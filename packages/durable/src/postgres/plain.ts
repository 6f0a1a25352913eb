/**
 * The commit that nearly all are: an instance that exists, one event, and nothing with it. A statement for just that costs
 * PostgreSQL 16.5 µs each in batches of 50, against 24.3 µs for the one that can do everything.
 */
import type { Commit } from "../store/Commit.ts"
import type { Positioned } from "./input.ts"

export const isPlainCommit = (commit: Commit): boolean =>
  hasPlainCore(commit) && commit.setTimers.length === 0 && commit.clearTimers.length === 0

/** Whatever it says of timers. */
export const hasPlainCore = ({ expected, sequence, at, events, snapshot, commands, fence }: Commit): boolean => {
  const [event] = events
  if (expected < 0 || events.length !== 1 || event?.dedupeId !== undefined) return false
  if (event?.sequence !== sequence || event.at !== at) return false
  return snapshot === undefined && commands.length === 0 && fence === undefined
}

/** Many at once, as one JSON parameter. `n % 1 = 0` keeps the planner from scanning the table when it was empty at first. */
export const writePlain = (schema: string): string => `
  with input as materialized (
    select (c ->> 0)::integer as n, c ->> 1 as machine, c ->> 2 as id, (c ->> 3)::bigint as expected, (c ->> 4)::bigint as sequence,
      (c ->> 5)::bigint as at, c ->> 6 as tag, c ->> 7 as status, c ->> 8 as reason, (c ->> 9)::integer as version,
      (c ->> 10)::boolean as resident, c ->> 11 as event_tag, c ->> 12 as event_body
    from jsonb_array_elements($1::jsonb) c
  ), updated as (
    update ${schema}.instances i
    set sequence = c.sequence, updated_at = c.at, tag = c.tag, status = c.status, reason = c.reason, version = c.version,
      resident = c.resident
    from input c
    where c.n % 1 = 0 and i.machine = c.machine and i.id = c.id and i.sequence = c.expected
    returning i.instance, c.n, c.sequence, c.at, c.event_tag, c.event_body
  ), new_events as (
    insert into ${schema}.events (instance, sequence, at, tag, body)
    select instance, sequence, at, event_tag, event_body from updated
  )
  select count(*)::integer as stored, string_agg(n::text, ',') as positions from updated`

/** One alone, without the JSON around it: 2,449/s against 1,713/s where each send is awaited. */
export const writeOnePlain = (schema: string): string => `
  with updated as (
    update ${schema}.instances
    set sequence = $5::bigint, updated_at = $6::bigint, tag = $7::text, status = $8::text, reason = $9::text, version = $10::integer,
      resident = $11::boolean
    where machine = $2::text and id = $3::text and sequence = $4::bigint
    returning instance
  )
  insert into ${schema}.events (instance, sequence, at, tag, body)
  select instance, $5::bigint, $6::bigint, $12::text, $13::text from updated
  returning 1 as stored, $1::text as positions`

export const plainValues = ([position, commit]: Positioned): ReadonlyArray<unknown> => {
  const { machine, id, expected, sequence, at, summary, events } = commit
  const { tag, status, reason = null, version, resident } = summary
  return [position, machine, id, expected, sequence, at, tag, status, reason, version, resident, events[0]?.tag, events[0]?.body]
}
