/** The tables of uploads on SQLite. */
import type { OwnTables } from "@detent/durable"

const statements = [
  // One row per batch: its file, the position of its extraction, and the counts of its items.
  `create table detent_upload_batches (
    batch integer primary key,
    batch_id text not null unique,
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
  // A file is recognised by its hash. Forced uploads of the same file are not original.
  `create unique index detent_upload_batches_md5 on detent_upload_batches (md5) where original`,
  // One row per item of a file, stored or failed.
  `create table detent_upload_entries (
    batch integer not null,
    item_index integer not null,
    state text not null,
    hn_id integer,
    line integer not null,
    byte_offset integer not null,
    attempts integer not null,
    reason text,
    message text,
    content text,
    primary key (batch, item_index)
  ) without rowid`,
  `create unique index detent_upload_entries_stored on detent_upload_entries (batch, hn_id) where state = 'stored'`,
  `create index detent_upload_entries_open on detent_upload_entries (batch, state, item_index) where state <> 'stored'`,
  // An item without a time has 0, so that a cursor in the order of time can point to it.
  `create table detent_items (
    hn_id integer primary key,
    type text not null,
    author text,
    time integer not null,
    text text,
    url text,
    title text,
    score integer,
    kids text,
    parent integer,
    descendants integer,
    deleted integer,
    dead integer,
    parts text,
    poll integer,
    batch integer not null,
    item_index integer not null
  )`,
  `create index detent_items_time on detent_items (time)`,
  `create index detent_items_type on detent_items (type, time)`,
  // The words only: the text of an item is in its row. Authors are searched here too: a B-tree index of authors would be written at
  // random places in every transaction, which takes 7 of the 12 µs of CPU for the insert of an item among 200,000.
  `create virtual table detent_items_search using fts5 (
    words, author, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
  )`,
]

/** Uploads of kinds other than Hacker News. */
const kinds = [
  `alter table detent_upload_batches add column kind text not null default 'HackerNews'`,
  // The same file may be uploaded once for each kind.
  `drop index detent_upload_batches_md5`,
  `create unique index detent_upload_batches_file on detent_upload_batches (kind, md5) where original`,
  // The id of an item of any kind but Hacker News.
  `alter table detent_upload_entries add column item_id text`,
  `create unique index detent_upload_entries_id on detent_upload_entries (batch, item_id) where state = 'stored' and item_id is not null`,
  // Items of all other kinds, as JSON.
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
  // The words, and a token for each value of a searched field.
  `create virtual table detent_upload_items_search using fts5 (
    words, fields, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
  )`,
]

/** Items whose reading exceeded the limit. */
const limits = [
  `create table detent_upload_limits (
    batch integer not null,
    item_index integer not null,
    attempts integer not null,
    task_limit text not null,
    problem text not null,
    primary key (batch, item_index)
  ) without rowid`,
]

/** When the content of a failed item was corrected. A retry clears it. */
const corrections = [`alter table detent_upload_entries add column corrected_at integer`]

export const sqliteSteps: OwnTables.Steps = {
  "0001_uploads": statements,
  "0002_kinds": kinds,
  "0003_limits": limits,
  "0004_corrections": corrections,
}
