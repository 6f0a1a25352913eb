/** The tables of the store on SQLite. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const instances = [
  // `needs_owner`: the state has work, which one node must run; while the instance runs, `owner` is that node. `reason`: why the instance was
  // stopped or is held. `owes`: an execution that has ended and whose parents may not have been notified. `revision`: how often events of
  // its journal were rewritten; nodes that decided on the events before are refused. `fields`, `labels`: the values by which it is found, as JSON.
  `create table detent_instances (
    instance integer primary key,
    machine text not null,
    id text not null,
    tag text not null,
    status text not null,
    reason text,
    owner text,
    sequence integer not null,
    version integer not null,
    revision integer not null default 0,
    needs_owner integer not null,
    owes integer not null,
    started_at integer not null,
    updated_at integer not null,
    origin text,
    fields text,
    labels text,
    unique (machine, id)
  )`,
  // They change only when work starts, ends or moves, so that most commits do not touch them.
  `create index detent_instances_owner on detent_instances (machine, owner, id) where needs_owner`,
  `create index detent_instances_work on detent_instances (machine, id) where needs_owner`,
  `create index detent_instances_owing on detent_instances (machine, id) where owes`,
  // The listing: the tables by which instances are listed and counted, see sql/Listing.ts.
  `create table detent_moves (instances text not null)`,
  `create table detent_listing (
    instance integer primary key,
    machine text not null,
    id text not null,
    tag text not null,
    status text not null,
    updated_at integer not null,
    fields text,
    labels text
  )`,
  // The values of indexed fields and labels, derived from `fields` and `labels` of the instances when the listing is brought up to date. Ids
  // make the order of equal values the same in every store.
  `create table detent_fields (
    instance integer not null,
    is_label integer not null,
    name text not null,
    machine text not null,
    id text not null,
    text text,
    number real,
    primary key (instance, is_label, name)
  ) without rowid`,
  `create index detent_fields_text on detent_fields (machine, is_label, name, text, id) where text is not null`,
  `create index detent_fields_number on detent_fields (machine, is_label, name, number, id) where number is not null`,
  // How far the indexes of each machine are filled with the values of instances that were stored before.
  `create table detent_index_fills (
    machine text primary key,
    definition text not null,
    through text,
    filled integer not null,
    is_complete integer not null
  ) without rowid`,
  `create table detent_counts (
    machine text not null,
    tag text not null,
    instances integer not null,
    primary key (machine, tag)
  ) without rowid`,
  `create index detent_listing_changed on detent_listing (updated_at, machine, id)`,
  `create index detent_listing_machine on detent_listing (machine, updated_at, id)`,
  `create index detent_listing_state on detent_listing (machine, tag, updated_at, id)`,
  `create index detent_listing_status on detent_listing (status, machine, updated_at, id) where status <> 'running'`,
]

/**
 * With rowid, events are appended: 5 µs of CPU each in transactions of 500, one event per instance. Without it they are inserted between
 * others, which takes 22 to 25 µs.
 *
 * Events are found by block, a run of 32 sequence numbers, then by instance. By instance first, each of 50 busy instances wrote to a page
 * of its own with every event: 56,000 events/s with their instance rows through the bare driver, against 110,000. A separate table has the
 * blocks of each instance, so that pruned events are skipped in one step. Triggers maintain it for every writer.
 */
const events = [
  // `delivery`: the ids under which the nodes sent events to one another, in a copy of a database of many nodes.
  `create table detent_events (
    instance integer not null,
    sequence integer not null,
    at integer not null,
    tag text not null,
    body text not null,
    dedupe_id text,
    delivery text,
    block integer generated always as (sequence >> 5) virtual
  )`,
  `create unique index detent_events_sequence on detent_events (block, instance, sequence)`,
  `create unique index detent_events_dedupe on detent_events (instance, dedupe_id) where dedupe_id is not null`,
  `create table detent_blocks (
    instance integer not null,
    block integer not null,
    primary key (instance, block)
  ) without rowid`,
  `create trigger detent_events_added after insert on detent_events
    when not exists (select 1 from detent_blocks where instance = new.instance and block = new.sequence >> 5)
    begin
      insert into detent_blocks (instance, block) values (new.instance, new.sequence >> 5);
    end`,
  `create trigger detent_events_pruned after delete on detent_events
    when not exists (select 1 from detent_events where block = old.sequence >> 5 and instance = old.instance)
    begin
      delete from detent_blocks where instance = old.instance and block = old.sequence >> 5;
    end`,
  `create table detent_snapshots (
    instance integer primary key,
    sequence integer not null,
    at integer not null,
    version integer not null,
    body text not null
  )`,
]

/**
 * Timers store their machine, so that the due timers of a machine are found however many others there are, and the lease under which they
 * are claimed, so that the claims of a node end with its lease.
 */
const timers = [
  `create table detent_timers (
    instance integer not null,
    name text not null,
    machine text not null,
    entry integer not null,
    due integer not null,
    claimed_by text,
    claimed_until integer not null default 0,
    claim_lease text,
    claim_token integer,
    attempts integer not null default 0,
    dead integer not null default 0,
    problem text,
    primary key (instance, name)
  ) without rowid`,
  // The last columns order timers of the same deadline, so that a claim reads no more rows than it takes.
  `create index detent_timers_machine on detent_timers (machine, due, instance, name) where not dead`,
  `create index detent_timers_dead on detent_timers (due) where dead`,
  `create table detent_leases (
    name text primary key,
    owner text not null,
    token integer not null,
    expires_at integer not null
  ) without rowid`,
]

/**
 * A command `waits` until it is due, because it was delayed or will be retried. One partial index has the commands that can be claimed or
 * are claimed, in the order of claims; claiming changes no indexed column. `claims` grows with every claim: a worker with an earlier claim
 * can no longer finish the command. A command that failed for good and that an operator retries begins a new `round`; its instance accepts
 * the event that follows once per round. `errors`: those of its first and latest executions, as JSON. `group_name` is empty for a command
 * without a group; a claim removes `pending_key`.
 */
const commands = [
  `create table detent_commands (
    id integer primary key,
    instance integer,
    key text not null,
    queue text not null,
    group_name text not null default '',
    slot text not null,
    parameters text not null,
    pending_key text,
    sequence integer not null,
    status text not null default 'pending',
    waits integer not null default 0,
    ordered integer not null default 0,
    counted integer not null default 0,
    dead integer not null default 0,
    priority integer not null default 0,
    attempts integer not null default 0,
    claims integer not null default 0,
    round integer not null default 0,
    run_at integer not null,
    claimed_by text,
    claimed_until integer,
    last_error text,
    enqueued_at integer not null,
    finished_at integer,
    errors text
  )`,
  // Keys are unique within their queue. The index also finds a key in any queue.
  `create unique index detent_commands_key on detent_commands (key, queue)`,
  `create unique index detent_commands_pending_key on detent_commands (pending_key, queue) where pending_key is not null`,
  `create index detent_commands_open on detent_commands (queue, group_name, priority desc, id) where finished_at is null and not waits`,
  `create index detent_commands_waiting on detent_commands (queue, run_at) where waits`,
  `create index detent_commands_ordered on detent_commands (instance, id) where ordered and finished_at is null`,
  `create index detent_commands_instance on detent_commands (instance, id) where instance is not null`,
  `create index detent_commands_counted on detent_commands (queue) where counted`,
  `create index detent_commands_dead on detent_commands (id) where dead`,
  `create index detent_commands_finished on detent_commands (finished_at) where finished_at is not null`,
  `create table detent_queues (
    name text primary key,
    paused integer not null default 0,
    concurrency integer,
    rate_limit integer,
    rate_interval integer,
    starts text not null default '[]',
    group_concurrency integer,
    group_rate_limit integer,
    group_rate_interval integer,
    limits_groups integer not null default 0,
    turn text not null default ''
  ) without rowid`,
  // Limits of groups, where they differ from those of their queue, and the starts that the rates of groups count. A row without limits is
  // removed once its starts no longer count, from `idle_at` on.
  `create table detent_groups (
    queue text not null,
    name text not null,
    concurrency integer,
    rate_limit integer,
    rate_interval integer,
    idle_at integer,
    starts text not null default '[]',
    primary key (queue, name)
  ) without rowid`,
  `create index detent_groups_idle on detent_groups (queue, idle_at) where idle_at is not null`,
  // The number of finished commands of each queue, so that counting does not read them all. The transaction that finishes a batch adds to it
  // once per queue: a trigger for each command would add 1.5 µs to 13 µs. Triggers count commands that any statement skips or removes.
  `create table detent_finished (
    queue text not null,
    status text not null,
    commands integer not null,
    primary key (queue, status)
  ) without rowid`,
  `create trigger detent_commands_skip after update of finished_at on detent_commands
    when new.status = 'skipped' and old.status in ('pending', 'failed')
    begin
      insert into detent_finished (queue, status, commands) values (new.queue, new.status, 1)
      on conflict (queue, status) do update set commands = commands + 1;
    end`,
  `create trigger detent_commands_remove after delete on detent_commands when old.status in ('completed', 'skipped', 'handled')
    begin
      update detent_finished set commands = commands - 1 where queue = old.queue and status = old.status;
    end`,
]

const database = [
  `create table detent_database (id text primary key) without rowid`,
  `insert into detent_database (id) values (lower(hex(randomblob(6))))`,
]

export const initial = Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of [...instances, ...events, ...timers, ...commands, ...database]) yield* sql.unsafe(statement)
})
