/**
 * The commit that nearly all are: an instance that exists, one event, and nothing with it. A statement for just that costs
 * PostgreSQL 16.5 µs each in batches of 50, against 24.3 µs for the one that can do everything.
 */
import type { Commit } from "../Commit.ts"
import type { Positioned } from "./input.ts"

export const isPlainCommit = ({ expected, sequence, at, events, snapshot, setTimers, clearTimers, commands, fence }: Commit): boolean => {
  const [event] = events
  if (expected < 0 || events.length !== 1 || event?.dedupeId !== undefined) return false
  if (event?.sequence !== sequence || event.at !== at) return false
  return snapshot === undefined && setTimers.length === 0 && clearTimers.length === 0 && commands.length === 0 && fence === undefined
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
  select n from updated`

/** One alone, without the JSON around it: 2,449/s against 1,713/s where each send is awaited. */
export const writeOnePlain = (schema: string): string => `
  with updated as (
    update ${schema}.instances
    set sequence = $4::bigint, updated_at = $5::bigint, tag = $6::text, status = $7::text, reason = $8::text, version = $9::integer,
      resident = $10::boolean
    where machine = $1::text and id = $2::text and sequence = $3::bigint
    returning instance
  )
  insert into ${schema}.events (instance, sequence, at, tag, body)
  select instance, $4::bigint, $5::bigint, $11::text, $12::text from updated
  returning 0 as n`

export const plainValues = ({ machine, id, expected, sequence, at, summary, events }: Commit): ReadonlyArray<unknown> => {
  const { tag, status, reason = null, version, resident } = summary
  return [machine, id, expected, sequence, at, tag, status, reason, version, resident, events[0]?.tag, events[0]?.body]
}

export const plainInput = ([position, commit]: Positioned): ReadonlyArray<unknown> => [position, ...plainValues(commit)]
