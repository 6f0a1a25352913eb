/**
 * Stores commands, and with a worker of the same process waiting for them claims in the same call and transaction: enqueued
 * and begun after one round trip and one sync of the disk.
 *
 * Changed by a new migration only: whoever runs an older version calls the function it was made with.
 */
import { withRounds } from "./exchangeFunction.ts"

export const enqueueAndExchange = "enqueue_and_exchange"

/** Rows: key, queue, slot, parameters, machine, id, priority, ordered, time, delay. */
export const insertCommands = (schema: string, rows: string, answers: string): string => `
  with input as materialized (
    select c, (extract(epoch from clock_timestamp()) * 1000)::bigint as moment,
      case when c ->> 4 is not null then (select i.instance from ${schema}.instances i where i.machine = c ->> 4 and i.id = c ->> 5) end as instance
    from jsonb_array_elements(${rows}) c
  )
  insert into ${schema}.commands as stored (key, queue, slot, parameters, instance, sequence, priority, ordered, run_at, waits, enqueued_at)
  select c ->> 0, c ->> 1, c ->> 2, c ->> 3, instance, -1, (c ->> 6)::integer, (c ->> 7)::integer = 1,
    coalesce((c ->> 8)::bigint, moment + (c ->> 9)::bigint), coalesce((c ->> 8)::bigint, moment + (c ->> 9)::bigint) > moment, moment
  from input where c ->> 4 is null or instance is not null
  on conflict (key) do nothing
  returning ${answers}`

/** Parameters: rows of commands; who would have them; rows `[queue, limit]`; how long a claim lasts. Answers as exchanging does, and `enqueued` (number, key). */
export const enqueueFunction = (schema: string): string => `
create function ${schema}.${enqueueAndExchange}(rows jsonb, worker text, wants jsonb, claim_millis bigint)
returns table (
  kind text, number bigint, claim integer, queue text, priority integer, attempts integer, sequence integer, enqueued_at bigint,
  key text, slot text, parameters text, machine text, instance_id text${withRounds.column}
)
language plpgsql
as $function$
#variable_conflict use_column
declare
  safety text := current_setting('synchronous_commit');
begin
  return query ${insertCommands(
    schema,
    "enqueue_and_exchange.rows",
    `'enqueued', stored.id, null::integer, null::text, null::integer, null::integer, null::integer, null::bigint, stored.key,
      null::text, null::text, null::text, null::text${withRounds.none}`,
  )};
  return query select * from ${schema}.${withRounds.name}(worker, '[]'::jsonb, wants, claim_millis);
  -- A claim alone need not wait for the disk, and says so for the whole transaction. What is enqueued must.
  perform set_config('synchronous_commit', safety, true);
end
$function$`
