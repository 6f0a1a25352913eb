/**
 * Effect's `EventJournal` in SQLite or PostgreSQL, with a feed of the same events by position. Unlike the journal of Effect, it
 * works on PostgreSQL, its changes reach every process, concurrent writes share a statement, and `keepLatest` keeps only the latest
 * event of each primary key.
 *
 *     SqlEventJournal.layer({ keepLatest: ["StageProgress"] }).pipe(Layer.provide(SqliteStore.layer({ filename: "shop.db" })))
 *
 * The tables are created and upgraded when the layer is built: schema `detent` on PostgreSQL, prefix `detent_` on SQLite.
 */

import type { EventJournal } from "effect/eventlog/EventJournal"
import type * as Layer from "effect/Layer"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { EventFeed } from "./journal/EventFeed.ts"
import type { StoreError } from "./journal/EventStore.ts"
import { layerOpen } from "./journal/JournalLayer.ts"
import type { JournalOptions } from "./journal/OpenJournal.ts"

export { EventFeed, type FeedError } from "./journal/EventFeed.ts"
export { EntryRefused, EntryUnreadable, JournalClosed, PositionUnknown } from "./journal/errors.ts"
export type { JournalOptions } from "./journal/OpenJournal.ts"
export type { StoredEntry } from "./journal/StoredEntry.ts"

/** Why a journal could not be opened. */
export type OpenError = MigrationError | SqlError | StoreError

export const layer = (options: JournalOptions = {}): Layer.Layer<EventJournal | EventFeed, OpenError, SqlClient> => layerOpen(options)
