/** The tables of uploads on PostgreSQL, in a schema. */
import type { OwnTables } from "@detent/durable"

const statements = (schema: string): ReadonlyArray<string> => [
  // One row per batch: its file, the position of its extraction, and the counts of its items.
  `create table ${schema}.upload_batches (
    batch integer generated always as identity primary key,
    batch_id text not null unique,
    kind text not null,
    file_name text not null,
    md5 text not null,
    original boolean not null,
    created_at bigint not null,
    next_index bigint not null default 0,
    next_offset bigint not null default 0,
    next_line bigint not null default 1,
    stored bigint not null default 0,
    failed bigint not null default 0,
    run_started_at bigint,
    run_start_index bigint not null default 0,
    updated_at bigint not null
  )`,
  // A file is recognised by its hash, once for each kind. Forced uploads of the same file are not original.
  `create unique index upload_batches_file on ${schema}.upload_batches (kind, md5) where original`,
  // One row per item of a file, stored or failed. A retry clears the time of a correction.
  `create table ${schema}.upload_entries (
    batch integer not null,
    item_index bigint not null,
    state text not null,
    item_id text,
    line bigint not null,
    byte_offset bigint not null,
    attempts integer not null,
    reason text,
    message text,
    content text,
    corrected_at bigint,
    primary key (batch, item_index)
  )`,
  `create unique index upload_entries_stored on ${schema}.upload_entries (batch, item_id) where state = 'stored'`,
  // Failed items by their reason, in the order of the file.
  `create index upload_entries_reason on ${schema}.upload_entries (batch, reason, state, item_index) where state <> 'stored'`,
  `create index upload_entries_open on ${schema}.upload_entries (batch, state, item_index) where state <> 'stored'`,
  // Items of all kinds, as JSON. An item without a time has 0. The vector has the words, and a token for each value of a searched
  // field; the sequence has the words of a long text in their order, because its vector has no positions.
  `create table ${schema}.upload_items (
    item bigint generated always as identity primary key,
    kind text not null,
    id text not null,
    time double precision not null,
    content text not null,
    batch integer not null,
    item_index bigint not null,
    search tsvector not null,
    sequence tsvector,
    unique (kind, id)
  )`,
  `create index upload_items_time on ${schema}.upload_items (kind, time, item)`,
  `create index upload_items_search on ${schema}.upload_items using gin (search)`,
  // Items whose reading exceeded the limit.
  `create table ${schema}.upload_limits (
    batch integer not null,
    item_index bigint not null,
    attempts integer not null,
    task_limit text not null,
    problem text not null,
    primary key (batch, item_index)
  )`,
  // The mapping that is kept for the files of a kind, as JSON.
  `create table ${schema}.upload_mappings (
    kind text primary key,
    mapping text not null,
    kept_at bigint not null
  )`,
]

export const postgresSteps = (schema: string): OwnTables.Steps => ({ "0001_uploads": statements(schema) })
