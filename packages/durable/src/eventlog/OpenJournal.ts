/** A journal of domain events that is open in this process: its store, what is known of its end, and how it is written to. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { EntryWriter } from "./EntryWriter.ts"
import { makeEntryWriter } from "./EntryWriter.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { makeEventStore } from "./EventStore.ts"
import type { Following, Hearing } from "./Following.ts"
import { makeFollowing } from "./Following.ts"
import { postgresEvents } from "./postgres/dialect.ts"
import { canListen, hearing } from "./postgres/Hearing.ts"
import { sqliteEvents } from "./sqlite/dialect.ts"
import { Tail } from "./Tail.ts"

export interface JournalOptions {
  /** Journals of different names share nothing but the tables; `default` unless told. */
  readonly journal?: string
  /** Where the tables are on PostgreSQL; `detent` unless told. */
  readonly schema?: string
  /** Events of which only the latest per primary key is kept, such as progress. */
  readonly keepLatest?: ReadonlyArray<string>
  /** How often other processes' events are looked for: 100 ms unless told, 1 s where they are announced. */
  readonly pollInterval?: Duration.Input
}

export class OpenJournal extends Context.Service<
  OpenJournal,
  {
    readonly store: EventStore
    readonly tail: Tail
    readonly following: Following
    readonly writer: EntryWriter
  }
>()("@detent/durable/domain/OpenJournal") {}

export const openJournal = ({
  journal = "default",
  schema = "detent",
  keepLatest = [],
  pollInterval,
}: JournalOptions): Effect.Effect<OpenJournal["Service"], MigrationError | SqlError | StoreError, SqlClient | Scope.Scope> =>
  Effect.gen(function* () {
    if (!/^[a-z_][a-z0-9_]*$/.test(schema))
      return yield* Effect.die(new Error(`${schema} is no plain name for a schema: use a-z, 0-9 and _`))
    if (!/^[\x21-\x7e]{1,200}$/.test(journal))
      return yield* Effect.die(new Error("a journal's name has 1 to 200 letters, digits and signs, without spaces"))
    const client = yield* SqlClient
    const dialect = client.onDialectOrElse({
      pg: () => postgresEvents(client.withoutTransforms(), schema),
      sqlite: () => sqliteEvents(client.withoutTransforms()),
      orElse: () => undefined,
    })
    if (dialect === undefined)
      return yield* Effect.die(new Error("domain events are kept in SQLite or PostgreSQL; this client is of neither"))
    const store = makeEventStore(dialect, journal)
    yield* store.prepare
    const latest = new Set(keepLatest)
    const { position, emptied } = yield* store.state
    const tail = new Tail(position, latest)
    const isAnnounced = dialect.announce !== undefined && canListen(client)
    const hear: Hearing = isAnnounced ? hearing(client, schema, journal) : () => Effect.never
    const following = yield* makeFollowing(store, tail, emptied, pollInterval ?? (isAnnounced ? "1 second" : "100 millis"), hear)
    const writer = yield* makeEntryWriter(store, tail, following, latest)
    return { store, tail, following, writer }
  }).pipe(Effect.withTracerEnabled(false))
