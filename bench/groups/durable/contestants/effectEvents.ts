/** Domain events in the journal that comes with Effect, and through Effect's log on it with a handler that fills a table. */
import * as SqliteClient from "@detent/durable/SqliteClient"
import * as Effect from "effect/Effect"
import * as EventLog from "effect/eventlog/EventLog"
import * as SqlEventJournal from "effect/eventlog/SqlEventJournal"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createNotes, NoteHandlers, NoteLog, writingEvents, writingNotes } from "../machines/notes.ts"
import type { ThroughputOptions } from "../Throughput.ts"

/** In WAL mode, which the client sets; synchronous=FULL is SQLite's default and set explicitly. */
const onSqlite = (filename: string) =>
  Layer.effectDiscard(Effect.flatMap(SqlClient, (sql) => sql`pragma synchronous = full`)).pipe(
    Layer.provideMerge(SqliteClient.layer({ filename })),
  )

const identity = Layer.succeed(EventLog.Identity, { publicKey: "one", privateKey: Redacted.make(new Uint8Array(32)) })

const log = EventLog.layer(NoteLog, NoteHandlers).pipe(
  Layer.provideMerge(SqlEventJournal.layer()),
  Layer.provideMerge(Layer.effectDiscard(createNotes)),
  Layer.provide(identity),
)

export const sqliteJournal = ({ database, concurrency }: ThroughputOptions) =>
  writingEvents(SqlEventJournal.layer().pipe(Layer.provideMerge(onSqlite(database))), "effect_event_journal", concurrency)

export const sqliteLog = ({ database, concurrency }: ThroughputOptions) =>
  writingNotes(log.pipe(Layer.provideMerge(onSqlite(database))), "effect_event_journal", concurrency)
