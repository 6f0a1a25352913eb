/**
 * Effect's `EventJournal` in SQLite or PostgreSQL, beside a feed of the same events by position. What the one that comes with
 * Effect does not do: it works on PostgreSQL, changes reach every process, concurrent writes share a statement, and of events
 * of which only the latest counts only that one is kept.
 *
 *     SqlEventJournal.layer({ keepLatest: ["StageProgress"] }).pipe(Layer.provide(SqliteStore.layer({ filename: "shop.db" })))
 *
 * The tables are made and upgraded when the layer is built: schema `detent` on PostgreSQL, prefix `detent_` on SQLite.
 */
import type * as Layer from "effect/Layer"
import type { EventJournal } from "effect/unstable/eventlog/EventJournal"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { EventFeed } from "./engine/EventFeed.ts"
import type { StoreError } from "./eventlog/EventStore.ts"
import { layerOpen } from "./eventlog/journal.ts"
import type { JournalOptions } from "./eventlog/OpenJournal.ts"

export { EventFeed, type FeedError } from "./engine/EventFeed.ts"
export { EntryRefused, EntryUnreadable, JournalClosed, PositionUnknown } from "./eventlog/DomainEventError.ts"
export type { JournalOptions } from "./eventlog/OpenJournal.ts"
export type { StoredEntry } from "./eventlog/StoredEntry.ts"

/** What can keep a journal from being opened. */
export type OpenError = MigrationError | SqlError | StoreError

export const layer = (options: JournalOptions = {}): Layer.Layer<EventJournal | EventFeed, OpenError, SqlClient> => layerOpen(options)
