/**
 * The tables of the store on PostgreSQL. Names are compared by bytes: that is faster than by the rules of a language, and the same on every
 * server. Columns of eight bytes come first, then those of four, so that no row has bytes of alignment between them.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { countFinished, exchangeFunction } from "../exchangeFunction.ts"
import { laterStarts } from "../groupTurns.ts"
import { inboxFunctions } from "../inboxFunctions.ts"

/**
 * By default PostgreSQL waits until a fifth of the rows are dead, which can be tens of millions if many ended commands or distant deadlines
 * are kept; until then, ended commands stay in the indexes that claims read: each 100,000 of them make a claim 0.3 ms longer. With this
 * setting it vacuums at about every check.
 */
const vacuumSoon = "autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.001"

const instances = (schema: string) => [
  // Half of each page is left free: a changed row then stays in its page, and no index changes, also when all
  // instances of a page change at once. With a third left free, that cost 16 µs of CPU each instead of 12.5. For the same
  // reason updated_at has no index, though lists are sorted by it: one costs each commit about 6 µs of CPU and 250 bytes of WAL.
  //
  // `needs_owner`: the state has work, which one node must run; while the instance runs, `owner` is that node. `reason`: why the instance was
  // stopped or is held. `owes`: an execution that has ended and whose parents may not have been notified. `revision`: how often events of
  // its journal were rewritten; nodes that decided on the events before are refused. `fields`, `labels`: the values by which it is found, as
  // JSON. They stand last: PostgreSQL logs nothing of what stays the same at the end of a row.
  `create table ${schema}.instances (
    instance bigint generated always as identity primary key,
    started_at bigint not null,
    updated_at bigint not null,
    sequence integer not null,
    version integer not null,
    revision integer not null default 0,
    needs_owner boolean not null,
    owes boolean not null,
    machine text collate "C" not null,
    id text collate "C" not null,
    tag text not null,
    status text not null,
    reason text,
    owner text,
    origin text,
    fields text,
    labels text,
    unique (machine, id)
  ) with (fillfactor = 50)`,
  // They change only when work starts, ends or moves, so that other commits remain HOT updates, which write to no index.
  `create index instances_owner on ${schema}.instances (machine, owner, id) where needs_owner`,
  `create index instances_work on ${schema}.instances (machine, id) where needs_owner`,
  `create index instances_owing on ${schema}.instances (machine, id) where owes`,
  // The listing: the tables by which instances are listed and counted, see sql/Listing.ts. The numbers of 500 instances take 4 kB. By default
  // PostgreSQL compresses values of more than 2 kB and stores them in another table: 0.5 ms of CPU for each flush of that size, which are
  // 1 µs for each of its commits.
  `create table ${schema}.moves (instances bigint[] not null)
    with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, toast_tuple_target = 8160)`,
  `create table ${schema}.listing (
    instance bigint primary key,
    updated_at bigint not null,
    machine text collate "C" not null,
    id text collate "C" not null,
    tag text collate "C" not null,
    status text not null,
    fields text,
    labels text
  )`,
  // The values of indexed fields and labels, derived from `fields` and `labels` of the instances when the listing is brought up to date. Ids
  // make the order of equal values the same in every store.
  `create table ${schema}.fields (
    instance bigint not null,
    number double precision,
    is_label boolean not null,
    machine text collate "C" not null,
    name text collate "C" not null,
    id text collate "C" not null,
    text text collate "C",
    primary key (instance, is_label, name)
  )`,
  `create index fields_text on ${schema}.fields (machine, is_label, name, text, id) where text is not null`,
  `create index fields_number on ${schema}.fields (machine, is_label, name, number, id) where number is not null`,
  // How far the indexes of each machine are filled with the values of instances that were stored before.
  `create table ${schema}.index_fills (
    machine text collate "C" primary key,
    filled bigint not null,
    is_complete boolean not null,
    definition text not null,
    through text collate "C"
  )`,
  `create table ${schema}.counts (
    machine text collate "C" not null,
    tag text collate "C" not null,
    instances bigint not null,
    primary key (machine, tag)
  )`,
  // Instances of one machine, or of all, are listed by merging the instances of each state. Two indexes over all states would take half the
  // cost of bringing the listing up to date.
  `create index listing_state on ${schema}.listing (machine, tag, updated_at, id)`,
  `create index listing_status on ${schema}.listing (status, machine, updated_at, id) where status <> 'running'`,
]

const events = (schema: string) => [
  // `delivery`: the id under which a node sent the event to another. It has no index; see commit.ts.
  `create table ${schema}.events (
    instance bigint not null,
    at bigint not null,
    sequence integer not null,
    tag text not null,
    body text not null,
    dedupe_id text collate "C",
    delivery text collate "C",
    primary key (instance, sequence)
  )`,
  `create unique index events_dedupe on ${schema}.events (instance, dedupe_id) where dedupe_id is not null`,
  `create table ${schema}.snapshots (
    instance bigint primary key,
    at bigint not null,
    sequence integer not null,
    version integer not null,
    body text not null
  )`,
]

/**
 * Timers store their machine, so that the due timers of a machine are found however many others there are, and the lease under which they
 * are claimed, so that the claims of a node end with its lease.
 */
const timers = (schema: string) => [
  `create table ${schema}.timers (
    instance bigint not null,
    due bigint not null,
    claimed_until bigint not null default 0,
    claim_token bigint,
    entry integer not null,
    attempts integer not null default 0,
    dead boolean not null default false,
    name text collate "C" not null,
    machine text collate "C" not null,
    claimed_by text,
    claim_lease text collate "C",
    problem text,
    primary key (instance, name)
  ) with (${vacuumSoon})`,
  // The last columns order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index timers_machine on ${schema}.timers (machine, due, instance, name) where not dead`,
  `create index timers_dead on ${schema}.timers (due) where dead`,
  `create table ${schema}.leases (
    name text collate "C" primary key,
    owner text not null,
    token bigint not null,
    expires_at bigint not null
  )`,
]

/**
 * - A command `waits` until it is due, because it was delayed or will be retried. One partial index has the commands that can be claimed or
 *   are claimed, in the order of claims; it contains neither finished commands nor a million that are due next week.
 * - Claiming changes no indexed column, and half of each page is left free: so a claimed command stays in its page, and no index changes. A
 *   claim and its end cost 21 to 25 µs and 880 bytes of WAL, against 31 µs and 1,410 bytes if a claim removes the command from the index.
 *   Ended commands take twice the space for it, until they are purged.
 * - `claims` grows with every claim: a worker with an earlier claim can no longer finish the command.
 * - A command that failed for good and that an operator retries begins a new `round`; its instance accepts the event that follows once per
 *   round. `errors`: those of its first and latest executions, as JSON.
 * - `group_name` is empty for a command without a group. A claim of a queue with groups reads the first commands of the next groups, in the
 *   order of their names; `turn` is the last group that it took one of. See groupTurns.ts.
 * - `pending_key` is removed by the claim, so that the same pending key makes a new command from then on.
 * - Ended commands are found by a BRIN index: it costs next to nothing to keep, and old ones lie together.
 */
const commands = (schema: string) => [
  `create table ${schema}.commands (
    id bigint generated always as identity primary key,
    instance bigint,
    run_at bigint not null,
    claimed_until bigint,
    enqueued_at bigint not null,
    finished_at bigint,
    sequence integer not null,
    priority integer not null default 0,
    attempts integer not null default 0,
    claims integer not null default 0,
    round integer not null default 0,
    waits boolean not null default false,
    ordered boolean not null default false,
    counted boolean not null default false,
    dead boolean not null default false,
    status text not null default 'pending',
    queue text collate "C" not null,
    group_name text collate "C" not null default '',
    key text collate "C" not null,
    slot text not null,
    parameters text not null,
    pending_key text collate "C",
    claimed_by text,
    last_error text,
    errors text
  ) with (fillfactor = 50, ${vacuumSoon})`,
  // Keys are unique within their queue. The index also finds a key in any queue.
  `create unique index commands_key_in_queue on ${schema}.commands (key, queue)`,
  `create unique index commands_pending_key on ${schema}.commands (pending_key, queue) where pending_key is not null`,
  `create index commands_open on ${schema}.commands (queue, group_name, priority desc, id) where finished_at is null and not waits`,
  `create index commands_waiting on ${schema}.commands (queue, run_at) where waits`,
  `create index commands_ordered on ${schema}.commands (instance, id) where ordered and finished_at is null`,
  `create index commands_instance on ${schema}.commands (instance, id) where instance is not null`,
  `create index commands_counted on ${schema}.commands (queue) where counted`,
  `create index commands_dead on ${schema}.commands (id) where dead`,
  `create index commands_finished on ${schema}.commands using brin (finished_at) with (autosummarize = on)`,
  `create table ${schema}.queues (
    name text collate "C" primary key,
    paused boolean not null default false,
    concurrency integer,
    rate_limit integer,
    rate_interval bigint,
    starts jsonb not null default '[]',
    group_concurrency integer,
    group_rate_limit integer,
    group_rate_interval bigint,
    limits_groups boolean not null default false,
    turn text collate "C" not null default ''
  )`,
  // Limits of groups, where they differ from those of their queue, and the starts that the rates of groups count. A row without limits is
  // removed once its starts no longer count, from `idle_at` on.
  `create table ${schema}.groups (
    queue text collate "C" not null,
    name text collate "C" not null,
    concurrency integer,
    rate_limit integer,
    rate_interval bigint,
    idle_at bigint,
    starts jsonb not null default '[]',
    primary key (queue, name)
  )`,
  `create index groups_idle on ${schema}.groups (queue, idle_at) where idle_at is not null`,
  laterStarts(schema),
  // The number of finished commands of each queue, so that counting does not read them all. The call that finishes commands adds to it, once
  // per queue. Two workers that add to the same row would wait for each other's disk sync. So each connection has a row of its own, or shares
  // it with few; the count is their sum, and one row alone may be negative.
  `create table ${schema}.finished (
    queue text collate "C" not null,
    status text not null,
    shard integer not null,
    commands bigint not null,
    primary key (queue, status, shard)
  ) with (fillfactor = 50)`,
  exchangeFunction(schema),
  `create function ${schema}.count_removed_commands() returns trigger language plpgsql as $function$
  begin
    ${countFinished(schema, "removed", "-count(*)")};
    return null;
  end
  $function$`,
  `create trigger count_removed after delete on ${schema}.commands
    referencing old table as removed for each statement execute function ${schema}.count_removed_commands()`,
]

/** The id of the database: the first 48 bits of a random UUID. */
const database = (schema: string) => [
  `create table ${schema}.database (id text primary key)`,
  `insert into ${schema}.database (id) select left(replace(gen_random_uuid()::text, '-', ''), 12)`,
]

export const initial = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const part of [instances, events, timers, commands, inboxFunctions, database])
      for (const statement of part(schema)) yield* sql.unsafe(statement)
  })
