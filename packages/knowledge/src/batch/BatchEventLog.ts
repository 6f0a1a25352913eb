/**
 * The log of batch events, in the database of the batches: what was told stays, can be read from any position on, and crosses
 * processes. Of a batch's progress only the latest is kept. A projection counts what became of each document.
 */
import * as SqlEventLog from "@detent/durable/SqlEventLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as EventGroup from "effect/unstable/eventlog/EventGroup"
import type { EventJournalError } from "effect/unstable/eventlog/EventJournal"
import * as EventLog from "effect/unstable/eventlog/EventLog"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import type { BatchId } from "../domain/Identity.ts"
import { BatchEvent } from "./BatchEvent.ts"

const { cases } = BatchEvent
const primaryKey = ({ batchId }: { readonly batchId: string }) => batchId

export const BatchEvents = EventGroup.empty
  .add({ tag: "BatchCreated", primaryKey, payload: cases.BatchCreated })
  .add({ tag: "DocumentStarted", primaryKey, payload: cases.DocumentStarted })
  .add({ tag: "DocumentCompleted", primaryKey, payload: cases.DocumentCompleted })
  .add({ tag: "DocumentFailed", primaryKey, payload: cases.DocumentFailed })
  .add({ tag: "StageProgress", primaryKey, payload: cases.StageProgress })
  .add({ tag: "ResolutionStarted", primaryKey, payload: cases.ResolutionStarted })
  .add({ tag: "ResolutionCompleted", primaryKey, payload: cases.ResolutionCompleted })
  .add({ tag: "BatchCompleted", primaryKey, payload: cases.BatchCompleted })
  .add({ tag: "BatchFailed", primaryKey, payload: cases.BatchFailed })

export const BatchLogSchema = EventLog.schema(BatchEvents)

const handlers = EventLog.group(BatchEvents, (group) =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    const document = (batch: string, id: string, status: string, error: string | null, at: number) =>
      Effect.orDie(sql`insert into batch_documents (batch_id, document_id, status, error, updated_at)
        values (${batch}, ${id}, ${status}, ${error}, ${at})
        on conflict (batch_id, document_id) do update set status = excluded.status, error = excluded.error, updated_at = excluded.updated_at`)
    return group
      .handle("BatchCreated", () => Effect.void)
      .handle("DocumentStarted", ({ payload: { batchId, documentId, at } }) => document(batchId, documentId, "processing", null, at))
      .handle("DocumentCompleted", ({ payload: { batchId, documentId, at } }) => document(batchId, documentId, "completed", null, at))
      .handle("DocumentFailed", ({ payload: { batchId, documentId, error, at } }) => document(batchId, documentId, "failed", error, at))
      .handle("StageProgress", () => Effect.void)
      .handle("ResolutionStarted", () => Effect.void)
      .handle("ResolutionCompleted", () => Effect.void)
      .handle("BatchCompleted", () => Effect.void)
      .handle("BatchFailed", () => Effect.void)
  }),
)

/** Filled by the events; dropped, it is filled again. */
const documents: SqlEventLog.Projection = {
  name: "batch-documents",
  version: 1,
  tables: ["batch_documents"],
  create: Effect.flatMap(
    SqlClient,
    (sql) => sql`create table batch_documents (
      batch_id text not null, document_id text not null, status text not null, error text, updated_at bigint not null,
      primary key (batch_id, document_id)
    )`,
  ),
}

export const DocumentStanding = Schema.Struct({
  documentId: Schema.String,
  status: Schema.Literals(["processing", "completed", "failed"]),
  error: Schema.NullOr(Schema.String),
})
export type DocumentStanding = typeof DocumentStanding.Type

type LogEvents = SqlEventLog.LogEvent<EventGroup.Events<typeof BatchEvents>>
type LogError = Stream.Error<ReturnType<typeof SqlEventLog.stream<typeof BatchEvents>>>

export interface BatchEventLogService {
  readonly emit: (event: BatchEvent) => Effect.Effect<void, EventJournalError>
  /** All events after a position, then each new one. */
  readonly events: (after?: number) => Stream.Stream<LogEvents, LogError>
  /** The documents of a batch of which was told that they are completed. */
  readonly completed: (batch: BatchId) => Effect.Effect<ReadonlySet<string>>
  /** What became of the documents of a batch, at most `limit` after one. */
  readonly documents: (
    batch: BatchId,
    options?: { readonly status?: DocumentStanding["status"]; readonly after?: string; readonly limit?: number },
  ) => Effect.Effect<ReadonlyArray<DocumentStanding>>
}

export class BatchEventLog extends Context.Service<BatchEventLog, BatchEventLogService>()("@detent/knowledge/BatchEventLog") {
  static readonly layer: Layer.Layer<BatchEventLog, SqlEventLog.OpenError, SqlClient> = Layer.effect(
    BatchEventLog,
    Effect.suspend(() => make),
  ).pipe(
    Layer.provide(SqlEventLog.layer(BatchLogSchema, handlers, { journal: "batches", keepLatest: ["StageProgress"], replay: documents })),
  )
}

const decodeRows = Schema.decodeUnknownSync(Schema.Array(DocumentStanding))

const make = Effect.gen(function* () {
  const write = yield* EventLog.makeClient(BatchLogSchema)
  const sql = (yield* SqlClient).withoutTransforms()
  const context = yield* Effect.context<Stream.Services<ReturnType<typeof SqlEventLog.stream<typeof BatchEvents>>>>()
  return {
    // The payload is that of the tag, which the types cannot follow through the union.
    emit: (event) => Effect.asVoid(write(event._tag, event as never)),
    events: (after = 0) => Stream.provideContext(SqlEventLog.stream(BatchLogSchema, { after }), context),
    completed: (batch) =>
      Effect.map(
        Effect.orDie(sql`select document_id as id from batch_documents where batch_id = ${batch} and status = 'completed'`),
        (rows) => new Set(rows.map(({ id }) => String(id))),
      ),
    documents: (batch, { status, after = "", limit = 100 } = {}) =>
      Effect.map(
        Effect.orDie(
          sql`select document_id as "documentId", status, error from batch_documents
            where batch_id = ${batch} and document_id > ${after} ${status === undefined ? sql`` : sql`and status = ${status}`}
            order by document_id limit ${Math.min(limit, 1000)}`,
        ),
        decodeRows,
      ),
  } satisfies BatchEventLogService
})
