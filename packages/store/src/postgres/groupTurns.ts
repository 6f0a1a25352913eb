/**
 * The claim of a queue that has groups. Each claim visits the next groups in the order of their names, from the one after the last group
 * that had a turn, and takes about as many commands of each: a group with a million commands delays one with ten by no more than a turn.
 * The groups that wait are read from the index of open commands, one step for each, so that nothing has to be kept for a group, and nothing
 * differs after a crash. Two claims of such a queue wait for each other by the row of the queue.
 *
 * The statements are part of the function that claims commands, and use its variables.
 */

/** How many groups a claim visits beyond those that it has room for: groups at their limits are visited in vain. */
const visitedInVain = 200

/** The starts of a rate after `taken` more: starts in the same sixty-fourth of the interval count as one, at the later time. */
export const laterStarts = (schema: string): string => `
create function ${schema}.later_starts(starts jsonb, rate_interval bigint, moment bigint, taken bigint) returns jsonb language sql as $function$
  select jsonb_agg(jsonb_build_array(at, count) order by at)
  from (
    select max(s.at) as at, sum(s.count) as count
    from (
      select (s ->> 0)::bigint as at, (s ->> 1)::bigint as count from jsonb_array_elements(starts) s
      union all select moment, taken
    ) s
    where s.at > moment - rate_interval
    group by s.at * 64 / rate_interval
  ) s
$function$`

const claimable = "c.finished_at is null and not c.waits and (c.status = 'pending' or c.claimed_until <= moment)"

/** Whether the queue has groups: one look-up, where the index of the queue's open commands without a group ends. */
export const hasGroups = (schema: string): string => `exists (
    select from ${schema}.commands c where c.queue = wanted and c.group_name > '' and c.finished_at is null and not c.waits
  )`

/** Locks the queue, also one without settings. */
export const lockQueue = (schema: string): string => `
      insert into ${schema}.queues (name) values (wanted) on conflict (name) do nothing;
      select * into settings from ${schema}.queues q where q.name = wanted for update;`

const next = (schema: string, condition: string) => `(
        select c.group_name from ${schema}.commands c
        where c.queue = wanted and ${condition} and ${claimable} order by c.group_name limit 1
      )`

/**
 * Sets `names` to the groups that have their turn, `frees` to how many commands each may begin, `visited` to the number of groups that
 * were looked at, `full` to whether one was at its concurrency, and `due` to the time at which the first rate allows more.
 */
export const chooseGroups = (schema: string): string => `
      visits := room + ${visitedInVain};
      with recursive ahead (nth, name) as (
        select 1, ${next(schema, "c.group_name > settings.turn")}
        union all
        select a.nth + 1, ${next(schema, "c.group_name > a.name")} from ahead a where a.name is not null
      ), around (nth, name) as (
        select 1, ${next(schema, "c.group_name >= '' and c.group_name <= settings.turn")}
        union all
        select a.nth + 1, ${next(schema, "c.group_name > a.name and c.group_name <= settings.turn")} from around a where a.name is not null
      ), turns as materialized (
        select row_number() over () as nth, t.name from (
          select a.name from ahead a where a.name is not null
          union all
          select a.name from around a where a.name is not null
          limit case when settings.limits_groups then visits else room end
        ) t
      ), running as materialized (
        select c.group_name as name, count(*) as count from ${schema}.commands c
        where settings.limits_groups and c.queue = wanted and c.counted and c.claimed_until > moment
        group by c.group_name
      ), limited as materialized (
        select t.nth, t.name, coalesce(g.rate_interval, settings.group_rate_interval) as rate_interval, g.starts,
          case when t.name <> '' then coalesce(g.concurrency, settings.group_concurrency) - coalesce(r.count, 0) end as places,
          case when t.name <> '' then coalesce(g.rate_limit, settings.group_rate_limit) end as rate_limit
        from turns t
        left join ${schema}.groups g on settings.limits_groups and g.queue = wanted and g.name = t.name
        left join running r on r.name = t.name
      ), counted as materialized (
        select l.nth, l.name, l.places, l.rate_limit, l.rate_limit - coalesce(s.count, 0) as starts, s.first + l.rate_interval as opens
        from limited l
        left join lateral (
          select sum((s ->> 1)::bigint) as count, min((s ->> 0)::bigint) as first
          from jsonb_array_elements(l.starts) s where (s ->> 0)::bigint > moment - l.rate_interval
        ) s on l.rate_limit is not null
      ), free as materialized (
        select c.nth, c.name, greatest(0, least(room, c.places, c.starts)) as free, c.places < room as full, c.opens, c.starts <= 0 as spent
        from counted c
      )
      select (array_agg(f.name order by f.nth) filter (where f.free > 0))[1:room],
        (array_agg(f.free order by f.nth) filter (where f.free > 0))[1:room], count(*),
        coalesce(bool_or(f.full), false), min(f.opens) filter (where f.spent)
      into names, frees, visited, held_back, due
      from free f;`

/** Claims the commands of the chosen groups, and remembers the last one as `turn`. */
export const claimOfGroups = (schema: string, behind: string): string => `
        chosen as materialized (
          select o.id, a.name, a.nth
          from unnest(names, frees) with ordinality a (name, free, nth)
          cross join lateral (
            select c.id from ${schema}.commands c
            where c.queue = wanted and c.group_name = a.name and ${claimable} and ${behind}
            order by c.priority desc, c.id limit least(a.free, (room + cardinality(names) - 1) / cardinality(names))
            for update skip locked
          ) o
          limit room
        ), moved as (
          update ${schema}.queues q set turn = (select c.name from chosen c order by c.nth desc limit 1)
          where q.name = wanted and exists (select from chosen)
        ), begun as (
          insert into ${schema}.groups as g (queue, name, idle_at, starts)
          select wanted, b.name, moment + b.rate_interval, jsonb_build_array(jsonb_build_array(moment, b.count))
          from (
            select c.name, coalesce(o.rate_interval, settings.group_rate_interval) as rate_interval, count(*) as count
            from chosen c left join ${schema}.groups o on o.queue = wanted and o.name = c.name
            where settings.limits_groups and c.name <> '' group by c.name, o.rate_interval
          ) b
          where b.rate_interval is not null
          on conflict (queue, name) do update set
            starts = ${schema}.later_starts(g.starts, excluded.idle_at - moment, moment, (excluded.starts -> 0 ->> 1)::bigint),
            idle_at = case when g.concurrency is null and g.rate_limit is null then excluded.idle_at end
        ), forgotten as (
          delete from ${schema}.groups g using (
            select i.name from ${schema}.groups i where i.queue = wanted and i.idle_at < moment order by i.idle_at limit 100
          ) i
          where settings.limits_groups and g.queue = wanted and g.name = i.name and g.name <> all (names)
        )`

/** Whether one of the chosen groups has more. */
export const isLeft = (schema: string): string =>
  `exists (select from ${schema}.commands c where c.queue = wanted and c.group_name = any (names) and ${claimable})`
