/** The tables of uploads on PostgreSQL, in a schema. */
import type { OwnTables } from "@detent/durable"

const statements = (schema: string): ReadonlyArray<string> => [
  // One row per batch: its file, the position of its extraction, and the counts of its items.
  `create table ${schema}.upload_batches (
    batch integer generated always as identity primary key,
    batch_id text not null unique,
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
  // A file is recognised by its hash. Forced uploads of the same file are not original.
  `create unique index upload_batches_md5 on ${schema}.upload_batches (md5) where original`,
  // One row per item of a file, stored or failed.
  `create table ${schema}.upload_entries (
    batch integer not null,
    item_index bigint not null,
    state text not null,
    hn_id bigint,
    line bigint not null,
    byte_offset bigint not null,
    attempts integer not null,
    reason text,
    message text,
    content text,
    primary key (batch, item_index)
  )`,
  `create unique index upload_entries_stored on ${schema}.upload_entries (batch, hn_id) where state = 'stored'`,
  `create index upload_entries_open on ${schema}.upload_entries (batch, state, item_index) where state <> 'stored'`,
  // An item without a time has 0, so that a cursor in the order of time can point to it.
  `create table ${schema}.items (
    hn_id bigint primary key,
    type text not null,
    author text,
    time bigint not null,
    text text,
    url text,
    title text,
    score bigint,
    kids text,
    parent bigint,
    descendants bigint,
    deleted boolean,
    dead boolean,
    parts text,
    poll bigint,
    batch integer not null,
    item_index bigint not null,
    search tsvector not null
  )`,
  `create index items_time on ${schema}.items (time, hn_id)`,
  `create index items_author on ${schema}.items (author, time, hn_id)`,
  `create index items_type on ${schema}.items (type, time, hn_id)`,
  `create index items_search on ${schema}.items using gin (search)`,
]

/** Uploads of kinds other than Hacker News. */
const kinds = (schema: string): ReadonlyArray<string> => [
  `alter table ${schema}.upload_batches add column kind text not null default 'HackerNews'`,
  // The same file may be uploaded once for each kind.
  `drop index ${schema}.upload_batches_md5`,
  `create unique index upload_batches_file on ${schema}.upload_batches (kind, md5) where original`,
  // The id of an item of any kind but Hacker News.
  `alter table ${schema}.upload_entries add column item_id text`,
  `create unique index upload_entries_id on ${schema}.upload_entries (batch, item_id) where state = 'stored' and item_id is not null`,
  // Items of all other kinds, as JSON. The vector has their words, and a token for each value of a searched field.
  `create table ${schema}.upload_items (
    item bigint generated always as identity primary key,
    kind text not null,
    id text not null,
    time double precision not null,
    content text not null,
    batch integer not null,
    item_index bigint not null,
    search tsvector not null,
    unique (kind, id)
  )`,
  `create index upload_items_time on ${schema}.upload_items (kind, time, item)`,
  `create index upload_items_search on ${schema}.upload_items using gin (search)`,
]

/** Items whose reading exceeded the limit. */
const limits = (schema: string): ReadonlyArray<string> => [
  `create table ${schema}.upload_limits (
    batch integer not null,
    item_index bigint not null,
    attempts integer not null,
    task_limit text not null,
    problem text not null,
    primary key (batch, item_index)
  )`,
]

/** The words of long texts in their order: their vectors have no positions. */
const sequences = (schema: string): ReadonlyArray<string> => [
  `alter table ${schema}.items add column sequence tsvector`,
  `alter table ${schema}.upload_items add column sequence tsvector`,
]

/** When the content of a failed item was corrected. A retry clears it. */
const corrections = (schema: string): ReadonlyArray<string> => [`alter table ${schema}.upload_entries add column corrected_at bigint`]

export const postgresSteps = (schema: string): OwnTables.Steps => ({
  "0001_uploads": statements(schema),
  "0002_kinds": kinds(schema),
  "0003_limits": limits(schema),
  "0004_sequences": sequences(schema),
  "0005_corrections": corrections(schema),
})
