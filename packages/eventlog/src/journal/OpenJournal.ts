/** A journal of domain events that is open in this process: its store, its tail, its follower, its writer and its ids. */

import { listenerOf } from "@detent/store/internal"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { EntryIds } from "./EntryIds.ts"
import type { EntryWriter } from "./EntryWriter.ts"
import { makeEntryWriter } from "./EntryWriter.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { makeEventStore } from "./EventStore.ts"
import { type JournalFollower, makeFollower } from "./JournalFollower.ts"
import { announcementsOf } from "./postgres/announcements.ts"
import { postgresEvents } from "./postgres/dialect.ts"
import { sqliteEvents } from "./sqlite/dialect.ts"
import { Tail } from "./Tail.ts"

export interface JournalOptions {
  /** Journals of different names share only the tables. Default: `default`. */
  readonly journal?: string
  /** The schema of the tables on PostgreSQL. Default: `detent`. */
  readonly schema?: string
  /** Events of which only the latest per primary key is kept, such as progress. */
  readonly keepLatest?: ReadonlyArray<string>
  /** How often the store is polled for events of other processes. Default: 100 ms, or 1 s if they are announced. */
  readonly pollInterval?: Duration.Input
}

export class OpenJournal extends Context.Service<
  OpenJournal,
  {
    readonly store: EventStore
    readonly tail: Tail
    readonly follower: JournalFollower
    readonly writer: EntryWriter
    readonly ids: EntryIds
  }
>()("@detent/eventlog/OpenJournal") {}

export const openJournal = ({
  journal = "default",
  schema = "detent",
  keepLatest = [],
  pollInterval,
}: JournalOptions): Effect.Effect<OpenJournal["Service"], MigrationError | SqlError | StoreError, SqlClient | Scope.Scope> =>
  Effect.gen(function* () {
    if (!/^[a-z_][a-z0-9_]*$/.test(schema))
      return yield* Effect.die(new Error(`${schema} is not a plain name for a schema: use a-z, 0-9 and _`))
    if (!/^[\x21-\x7e]{1,200}$/.test(journal))
      return yield* Effect.die(new Error("a journal's name has 1 to 200 letters, digits and signs, without spaces"))
    const client = yield* SqlClient
    const dialect = client.onDialectOrElse({
      pg: () => postgresEvents(client.withoutTransforms(), schema),
      sqlite: () => sqliteEvents(client.withoutTransforms()),
      orElse: () => undefined,
    })
    if (dialect === undefined)
      return yield* Effect.die(
        new Error("domain events are stored in SQLite or PostgreSQL, and this client is for neither; provide a client of one of them"),
      )
    const store = makeEventStore(dialect, journal)
    yield* store.prepare
    const latest = new Set(keepLatest)
    const { position, emptied } = yield* store.state
    const tail = new Tail(position, latest)
    const ids = new EntryIds()
    const latestId = yield* store.latestId
    if (latestId !== undefined) ids.observe(latestId)
    const subscribe = dialect.announce === undefined ? undefined : (yield* listenerOf(client)).subscribe
    const announcements = subscribe === undefined ? undefined : announcementsOf(subscribe, schema, journal)
    const interval = pollInterval ?? (announcements === undefined ? "100 millis" : "1 second")
    const follower = yield* makeFollower(store, tail, ids, emptied, interval, announcements)
    const writer = yield* makeEntryWriter(store, tail, follower, latest)
    return { store, tail, follower, writer, ids }
  }).pipe(Effect.withTracerEnabled(false))
