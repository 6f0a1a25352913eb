/** Domain events in Detent's journal, and through Detent's log with a handler that fills a table. */

import * as PgClient from "@detent/durable/PgClient"
import * as SqliteClient from "@detent/durable/SqliteClient"
import * as SqlEventJournal from "@detent/eventlog/SqlEventJournal"
import * as SqlEventLog from "@detent/eventlog/SqlEventLog"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createNotes, NoteHandlers, NoteLog, writingEvents, writingNotes } from "../machines/notes.ts"
import type { ThroughputOptions } from "../Throughput.ts"

const onSqlite = (filename: string) => SqliteClient.layer({ filename, disableWAL: true })
const onPostgres = (url: string) => PgClient.layer({ url: Redacted.make(url), maxConnections: 10 })

const journal = SqlEventJournal.layer()
const log = SqlEventLog.layer(NoteLog, NoteHandlers, { replay: { name: "notes", tables: ["notes"], create: createNotes } })

export const sqliteJournal = ({ database, concurrency }: ThroughputOptions) =>
  writingEvents(journal.pipe(Layer.provideMerge(onSqlite(database))), "detent_domain_events", concurrency)

export const sqliteLog = ({ database, concurrency }: ThroughputOptions) =>
  writingNotes(log.pipe(Layer.provideMerge(onSqlite(database))), "detent_domain_events", concurrency)

export const postgresJournal = ({ database, concurrency }: ThroughputOptions) =>
  writingEvents(journal.pipe(Layer.provideMerge(onPostgres(database))), "detent.domain_events", concurrency)

export const postgresLog = ({ database, concurrency }: ThroughputOptions) =>
  writingNotes(log.pipe(Layer.provideMerge(onPostgres(database))), "detent.domain_events", concurrency)
