/**
 * Finishes one batch of commands and claims the next, in one call and one transaction. A function, because each of its statements must see
 * the effects of the one before, and because a limit that holds across workers has to be read after the row of its queue is locked; as
 * separate statements these would take six round trips.
 */
import { keptErrors } from "../contract/StoredCommand.ts"
import { chooseGroups, claimOfGroups, hasGroups, isLeft, lockQueue } from "./groupTurns.ts"

/** That no earlier ordered command of its instance is open. */
const isNext = (schema: string): string => `(not c.ordered or not exists (
      select from ${schema}.commands e
      where e.ordered and e.finished_at is null and e.instance = c.instance and e.id <> c.id and (e.id < c.id or e.status = 'processing')
    ))`

/**
 * The commands without a group that can be claimed, in order: unclaimed ones, and those whose claim has expired. The order and the first
 * conditions are those of the index `commands_open`, so that only the commands that workers hold are read in vain.
 */
export const openCommands = (schema: string, queue: string, moment: string, limit: string): string => `
  select c.id from ${schema}.commands c
  where c.queue = ${queue} and c.group_name = '' and c.finished_at is null and not c.waits
    and (c.status = 'pending' or c.claimed_until <= ${moment}) and ${isNext(schema)}
  order by c.priority desc, c.id limit ${limit}`

/** Claims the commands of the relation `chosen`. */
const claimChosen = (schema: string): string => `
        claimed as (
          update ${schema}.commands c
          set status = 'processing', attempts = c.attempts + 1, claims = c.claims + 1, claimed_by = worker, pending_key = null,
            claimed_until = moment + claim_millis, counted = settings.concurrency is not null or settings.limits_groups is true
          from chosen where c.id = chosen.id
          returning c.*
        )
        select 'claimed', c.id, c.claims, c.queue, c.priority, c.attempts, c.sequence, c.enqueued_at, c.key, c.slot, c.parameters,
          i.machine::text, i.id::text, c.round, c.ordered, c.group_name
        from claimed c left join ${schema}.instances i on i.instance = c.instance;`

/** Returns a row that says something of a queue. */
const tell = (kind: string, number: string): string => `
        return query select '${kind}', ${number}, null::integer, wanted, null::integer, null::integer, null::integer, null::bigint, null::text,
          null::text, null::text, null::text, null::text, null::integer, null::boolean, null::text;`

/** Adds the commands of a relation to the counts of finished commands. Each connection adds to its own rows of `finished`. */
export const countFinished = (schema: string, relation: string, count = "count(*)"): string => `
  insert into ${schema}.finished as f (queue, status, shard, commands)
  select r.queue, r.status, pg_backend_pid() % 64, ${count} from ${relation} r
  where r.status in ('completed', 'skipped', 'handled') group by r.queue, r.status order by r.queue, r.status
  on conflict (queue, status, shard) do update set commands = f.commands + excluded.commands`

/**
 * Parameters: the worker; rows `[number, claim, status, problem, delay, attempts to take back]`; rows `[queue, limit]`; how long a claim
 * lasts. Returns rows of a kind: `refused` (number), `claimed`, `busy` (queue) and `next` (queue, and milliseconds as number).
 *
 * A claim alone need not survive a crash of the server: a lost claim is made again. So it does not wait for the disk, unless the call also
 * finishes commands.
 */
export const exchangeFunction = (schema: string): string => `
create function ${schema}.exchange_commands(worker text, finished jsonb, wants jsonb, claim_millis bigint)
returns table (
  kind text, number bigint, claim integer, queue text, priority integer, attempts integer, sequence integer, enqueued_at bigint,
  key text, slot text, parameters text, machine text, instance_id text, round integer, ordered boolean, group_name text
)
language plpgsql
set enable_seqscan = off
as $function$
#variable_conflict use_column
declare
  moment bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  want jsonb;
  wanted text;
  room integer;
  allowed integer;
  taken integer;
  pause bigint;
  due bigint;
  settings ${schema}.queues%rowtype;
  grouped boolean;
  held_back boolean;
  visits integer;
  visited bigint;
  names text[];
  frees bigint[];
begin
  if jsonb_array_length(finished) > 0 then
    return query
      with given as materialized (
        select (f ->> 0)::bigint as number, (f ->> 1)::integer as claim, f ->> 2 as status, f ->> 3 as problem, (f ->> 4)::bigint as delay,
          (f ->> 5)::integer as back
        from jsonb_array_elements(finished) f
      ), done as (
        update ${schema}.commands c
        set status = g.status, waits = g.status = 'pending' and g.delay > 0, counted = false, dead = g.status = 'failed',
          attempts = c.attempts - g.back, claimed_until = null,
          run_at = case when g.status = 'pending' then moment + g.delay else c.run_at end,
          last_error = case when g.status = 'pending' then coalesce(g.problem, c.last_error) else g.problem end,
          claimed_by = case when g.status = 'pending' then null else c.claimed_by end,
          finished_at = case when g.status = 'pending' then null else moment end,
          errors = case when g.problem is null or g.status in ('completed', 'skipped') then c.errors else (
            case when jsonb_array_length(c.errors::jsonb) >= ${keptErrors} then c.errors::jsonb - 1 else coalesce(c.errors::jsonb, '[]') end
            || jsonb_build_array(jsonb_build_object('attempt', c.attempts, 'at', moment, 'problem', g.problem))
          )::text end
        from given g
        where c.id = g.number and c.claims = g.claim and c.claimed_by = worker and c.status = 'processing'
        returning c.id, c.queue, c.status
      ), counted as (${countFinished(schema, "done")})
      select 'refused', g.number, null::integer, null::text, null::integer, null::integer, null::integer, null::bigint, null::text,
        null::text, null::text, null::text, null::text, null::integer, null::boolean, null::text
      from given g
      -- A result that is stored already, and whose answer was lost, is not refused.
      where g.number not in (select id from done) and not exists (
        select from ${schema}.commands c
        where c.id = g.number and c.claims = g.claim and c.claimed_by = worker and c.status = g.status and c.finished_at is not null
      );
  else
    perform set_config('synchronous_commit', 'off', true);
  end if;

  for want in select value from jsonb_array_elements(wants) loop
    wanted := want ->> 0;
    room := (want ->> 1)::integer;
    pause := null;
    select * into settings from ${schema}.queues q where q.name = wanted;
    continue when settings.paused;
    if settings.concurrency is not null or settings.rate_limit is not null then
      -- What is counted from here on is what the worker before left.
      select * into settings from ${schema}.queues q where q.name = wanted for update;
    end if;
    held_back := false;

    update ${schema}.commands c set waits = false
    where c.id in (
      select w.id from ${schema}.commands w
      where w.queue = wanted and w.waits and w.run_at <= moment
      order by w.run_at limit 1000 for update skip locked
    );

    if settings.concurrency is not null then
      select settings.concurrency - count(*) into allowed
      from ${schema}.commands c where c.queue = wanted and c.counted and c.claimed_until > moment;
      if allowed < room then
        room := greatest(0, allowed);
        pause := 500;
        ${tell("busy", "null::bigint")}
      end if;
    end if;
    if settings.rate_limit is not null then
      select settings.rate_limit - coalesce(sum((s ->> 1)::integer), 0), min((s ->> 0)::bigint) + settings.rate_interval - moment
      into allowed, due
      from jsonb_array_elements(settings.starts) s where (s ->> 0)::bigint > moment - settings.rate_interval;
      if allowed < room then
        room := greatest(0, allowed);
        pause := greatest(0, due);
      end if;
    end if;

    grouped := ${hasGroups(schema)};
    if grouped then
      taken := 0;
      names := null;
      if room > 0 then
        ${lockQueue(schema)}
        ${chooseGroups(schema)}
        if due is not null then
          pause := least(pause, greatest(0, due - moment));
        end if;
        if visited >= visits then
          -- There may be groups that were not visited.
          pause := least(pause, 10);
        end if;
        if names is not null then
          return query
            with ${claimOfGroups(schema, isNext(schema))}, ${claimChosen(schema)}
          get diagnostics taken = row_count;
          if taken < room and ${isLeft(schema)} then
            pause := least(pause, case when taken = 0 then 100 else 1 end);
          end if;
        end if;
        if held_back and taken < room then
          pause := least(pause, 500);
          ${tell("busy", "null::bigint")}
        end if;
      end if;
    else
      return query
        with chosen as materialized (${openCommands(schema, "wanted", "moment", "room")} for update skip locked), ${claimChosen(schema)}
      get diagnostics taken = row_count;
    end if;

    if settings.rate_limit is not null and taken > 0 then
      update ${schema}.queues q set starts = ${schema}.later_starts(q.starts, q.rate_interval, moment, taken) where q.name = wanted;
    end if;

    select min(w.run_at) into due from ${schema}.commands w where w.queue = wanted and w.waits;
    if taken < room and not (grouped and pause is not null) then
      -- All that is open is being executed, or waits for something that is: what a dead worker had is free when its claim ends.
      select least(due, min(c.claimed_until)) into due
      from ${schema}.commands c where c.queue = wanted and c.finished_at is null and not c.waits;
    end if;
    if due is not null then
      pause := least(pause, greatest(0, due - moment));
    end if;
    if pause is not null then
      ${tell("next", "pause")}
    end if;
  end loop;
end
$function$`
