/** The tables of uploads on SQLite. */
import type { OwnTables } from "@detent/durable"

const statements = [
  // One row per batch: its file, the position of its extraction, and the counts of its items.
  `create table detent_upload_batches (
    batch integer primary key,
    batch_id text not null unique,
    kind text not null,
    file_name text not null,
    md5 text not null,
    original integer not null,
    created_at integer not null,
    next_index integer not null default 0,
    next_offset integer not null default 0,
    next_line integer not null default 1,
    stored integer not null default 0,
    failed integer not null default 0,
    run_started_at integer,
    run_start_index integer not null default 0,
    updated_at integer not null
  )`,
  // A file is recognised by its hash, once for each kind. Forced uploads of the same file are not original.
  `create unique index detent_upload_batches_file on detent_upload_batches (kind, md5) where original`,
  // One row per item of a file, stored or failed. A retry clears the time of a correction.
  `create table detent_upload_entries (
    batch integer not null,
    item_index integer not null,
    state text not null,
    item_id text,
    line integer not null,
    byte_offset integer not null,
    attempts integer not null,
    reason text,
    message text,
    content text,
    corrected_at integer,
    primary key (batch, item_index)
  ) without rowid`,
  `create unique index detent_upload_entries_stored on detent_upload_entries (batch, item_id) where state = 'stored'`,
  // Failed items by their reason, in the order of the file.
  `create index detent_upload_entries_reason on detent_upload_entries (batch, reason, state, item_index) where state <> 'stored'`,
  `create index detent_upload_entries_open on detent_upload_entries (batch, state, item_index) where state <> 'stored'`,
  // Items of all kinds, as JSON. An item without a time has 0.
  `create table detent_upload_items (
    item integer primary key,
    kind text not null,
    id text not null,
    time real not null,
    content text not null,
    batch integer not null,
    item_index integer not null
  )`,
  `create unique index detent_upload_items_id on detent_upload_items (kind, id)`,
  `create index detent_upload_items_time on detent_upload_items (kind, time)`,
  // The words, and a token for each value of a searched field. The text of an item is in its row.
  `create virtual table detent_upload_items_search using fts5 (
    words, fields, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
  )`,
  // Items whose reading exceeded the limit.
  `create table detent_upload_limits (
    batch integer not null,
    item_index integer not null,
    attempts integer not null,
    task_limit text not null,
    problem text not null,
    primary key (batch, item_index)
  ) without rowid`,
  // The mapping that is kept for the files of a kind, as JSON.
  `create table detent_upload_mappings (
    kind text primary key,
    mapping text not null,
    kept_at integer not null
  ) without rowid`,
]

export const sqliteSteps: OwnTables.Steps = { "0001_uploads": statements }
