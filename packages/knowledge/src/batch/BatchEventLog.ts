/**
 * The log of batch events, in the database of the batches: entries are kept, can be read from any position, and reach other
 * processes. Of a batch's progress only the latest entry is kept. A projection holds the latest result of each document.
 */
import { EventFeed } from "@detent/eventlog/SqlEventJournal"
import * as SqlEventLog from "@detent/eventlog/SqlEventLog"
import { defectsAsFailures } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import type { EventJournalError } from "effect/eventlog/EventJournal"
import * as EventLog from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { createSchema, defaultPatience, type RunStoreFailed, runStoreFailed, storePatience, tableIn } from "../runs/RunTables.ts"
import type { BatchId, DocumentId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { BatchEvent } from "./BatchMachine.ts"
import { countEvent, exposeCounters } from "./BatchMetrics.ts"

const { cases } = BatchEvent
const primaryKey = ({ batchId }: { readonly batchId: string }) => batchId

const BatchEvents = EventGroup.empty
  .add({ tag: "BatchCreated", primaryKey, payload: cases.BatchCreated })
  .add({ tag: "DocumentStarted", primaryKey, payload: cases.DocumentStarted })
  .add({ tag: "DocumentCompleted", primaryKey, payload: cases.DocumentCompleted })
  .add({ tag: "DocumentsUnchanged", primaryKey, payload: cases.DocumentsUnchanged })
  .add({ tag: "DocumentFailed", primaryKey, payload: cases.DocumentFailed })
  .add({ tag: "DocumentSetAside", primaryKey, payload: cases.DocumentSetAside })
  .add({ tag: "StageProgress", primaryKey, payload: cases.StageProgress })
  .add({ tag: "ResolutionStarted", primaryKey, payload: cases.ResolutionStarted })
  .add({ tag: "ResolutionCompleted", primaryKey, payload: cases.ResolutionCompleted })
  .add({ tag: "ValidationStarted", primaryKey, payload: cases.ValidationStarted })
  .add({ tag: "ValidationCompleted", primaryKey, payload: cases.ValidationCompleted })
  .add({ tag: "IngestionStarted", primaryKey, payload: cases.IngestionStarted })
  .add({ tag: "IngestionCompleted", primaryKey, payload: cases.IngestionCompleted })
  .add({ tag: "BatchCompleted", primaryKey, payload: cases.BatchCompleted })
  .add({ tag: "BatchFailed", primaryKey, payload: cases.BatchFailed })

const BatchLogSchema = EventLog.schema(BatchEvents)

const handlers = EventLog.group(BatchEvents, (group) =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    const documents = tableIn(sql, table)
    type Row = Omit<DocumentStanding, "documentId"> & { readonly at: number }
    /** When two processes work on one batch, the slower one reports outdated results: an event replaces a row only if `isOlder` holds. */
    const document = (batch: string, id: string, row: Row, isOlder: Fragment) => {
      const { status, error, round, at, entities = null, facts = null, forReview = null } = row
      return Effect.orDie(sql`insert into ${documents} as d
          (batch_id, document_id, status, error, round, updated_at, entities, facts, for_review)
        values (${batch}, ${id}, ${status}, ${error}, ${round}, ${at}, ${entities}, ${facts}, ${forReview})
        on conflict (batch_id, document_id) do update set status = excluded.status, error = excluded.error,
          round = excluded.round, updated_at = excluded.updated_at,
          entities = excluded.entities, facts = excluded.facts, for_review = excluded.for_review
        where d.status <> 'completed' and ${isOlder}`)
    }
    const isEarlierRound = sql`d.round < excluded.round`
    const isUnderWay = sql`(${isEarlierRound} or (d.round = excluded.round and d.status = 'processing'))`
    return group
      .handle("BatchCreated", () => Effect.void)
      .handle("DocumentStarted", ({ payload: { batchId, documentId, round, at } }) =>
        document(batchId, documentId, { status: "processing", error: null, round, at }, isEarlierRound),
      )
      .handle("DocumentCompleted", ({ payload: { batchId, documentId, at, entityCount, relationCount, reviewCount } }) =>
        document(
          batchId,
          documentId,
          { status: "completed", error: null, round: 0, at, entities: entityCount, facts: relationCount, forReview: reviewCount },
          sql`true`,
        ),
      )
      .handle("DocumentsUnchanged", ({ payload: { batchId, documentIds, at } }) =>
        !Arr.isReadonlyArrayNonEmpty(documentIds)
          ? Effect.void
          : Effect.orDie(sql`insert into ${documents} as d ${sql.insert(
              Arr.map(documentIds, (id) => ({
                batch_id: batchId,
                document_id: id,
                status: "completed",
                error: null,
                round: 0,
                updated_at: at,
              })),
            )} on conflict (batch_id, document_id) do update set status = excluded.status, error = excluded.error,
              round = excluded.round, updated_at = excluded.updated_at where d.status <> 'completed'`),
      )
      .handle("DocumentFailed", ({ payload: { batchId, documentId, round, error, at } }) =>
        document(batchId, documentId, { status: "failed", error, round, at }, isUnderWay),
      )
      .handle("DocumentSetAside", ({ payload: { batchId, documentId, round, error, at } }) =>
        document(batchId, documentId, { status: "set-aside", error, round, at }, isUnderWay),
      )
      .handle("StageProgress", () => Effect.void)
      .handle("ResolutionStarted", () => Effect.void)
      .handle("ResolutionCompleted", () => Effect.void)
      .handle("ValidationStarted", () => Effect.void)
      .handle("ValidationCompleted", () => Effect.void)
      .handle("IngestionStarted", () => Effect.void)
      .handle("IngestionCompleted", () => Effect.void)
      .handle("BatchCompleted", () => Effect.void)
      .handle("BatchFailed", () => Effect.void)
  }),
)

const table = "batch_documents"

/** The projection of the events. Once dropped, it is rebuilt from them. */
const documentsIn = (sql: SqlClient): SqlEventLog.Projection => ({
  name: "batch-documents",
  version: 3,
  tables: [sql.onDialectOrElse({ pg: () => `detent.${table}`, orElse: () => table })],
  create: sql`create table ${tableIn(sql, table)} (
      batch_id text not null, document_id text not null, status text not null, error text,
      round integer not null, updated_at bigint not null,
      entities integer, facts integer, for_review integer,
      primary key (batch_id, document_id)
    )`,
})

export const DocumentStanding = Schema.Struct({
  documentId: Schema.String,
  status: Schema.Literals(["processing", "completed", "failed", "set-aside"]),
  error: Schema.NullOr(Schema.String),
  /** The round in which the document was last started or ended; 0 when it is completed. */
  round: Count,
  /** Counts of a completed document; null when unknown. */
  entities: Schema.optionalKey(Schema.NullOr(Count)),
  facts: Schema.optionalKey(Schema.NullOr(Count)),
  forReview: Schema.optionalKey(Schema.NullOr(Count)),
})
export type DocumentStanding = typeof DocumentStanding.Type

type LogEvents = SqlEventLog.LogEvent<EventGroup.Events<typeof BatchEvents>>
type LogError = Stream.Error<ReturnType<typeof SqlEventLog.stream<typeof BatchEvents>>>

export interface BatchEventLogService {
  readonly emit: (event: BatchEvent) => Effect.Effect<void, EventJournalError>
  /** The position of the last event. */
  readonly position: Effect.Effect<number, EventJournalError>
  /** All events after a position, then each new one. */
  readonly events: (after?: number) => Stream.Stream<LogEvents, LogError>
  /** One page of the events after a position; `through` is the position to continue from. An empty page: no events up to `through`. */
  readonly page: (after: number) => Effect.Effect<{ readonly events: ReadonlyArray<LogEvents>; readonly through: number }, LogError>
  /** The latest result of the given documents of a batch. */
  readonly standings: (
    batch: BatchId,
    documents: ReadonlyArray<DocumentId>,
  ) => Effect.Effect<ReadonlyMap<string, DocumentStanding>, RunStoreFailed>
  /** How many documents of a batch are in each status. */
  readonly counts: (batch: BatchId) => Effect.Effect<Readonly<Record<DocumentStanding["status"], number>>, RunStoreFailed>
  /** The results of the documents of a batch, at most `limit`, after the document id `after`. */
  readonly documents: (
    batch: BatchId,
    options?: { readonly status?: DocumentStanding["status"]; readonly after?: string; readonly limit?: number },
  ) => Effect.Effect<ReadonlyArray<DocumentStanding>, RunStoreFailed>
}

export class BatchEventLog extends Context.Service<BatchEventLog, BatchEventLogService>()("@detent/knowledge/BatchEventLog") {
  /** Reads of an unreachable database are retried for the given time. */
  static readonly layer = (patience: Duration.Input = defaultPatience): Layer.Layer<BatchEventLog, SqlEventLog.OpenError, SqlClient> =>
    Layer.effect(
      BatchEventLog,
      Effect.suspend(() => make(patience)),
    ).pipe(Layer.provide(eventLog))
}

const eventLog = Layer.unwrap(
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    yield* createSchema
    const replay = documentsIn(sql)
    return SqlEventLog.layer(BatchLogSchema, handlers, { journal: "batches", keepLatest: ["StageProgress"], replay })
  }),
)

const decodeCounts = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ status: DocumentStanding.fields.status, documents: Schema.NumberFromString })),
)

const decodeRows = Schema.decodeUnknownSync(Schema.Array(DocumentStanding))

const make = (patience: Duration.Input) =>
  Effect.gen(function* () {
    const write = yield* EventLog.makeClient(BatchLogSchema)
    const sql = (yield* SqlClient).withoutTransforms()
    const context = yield* Effect.context<Stream.Services<ReturnType<typeof SqlEventLog.stream<typeof BatchEvents>>>>()
    const feed = yield* EventFeed
    const documents = tableIn(sql, table)
    const patiently = storePatience(patience)
    const reading = <A>(effect: Effect.Effect<A, SqlError>) =>
      patiently(effect.pipe(defectsAsFailures(isSqlError), Effect.mapError(runStoreFailed("read the results of"))))
    yield* exposeCounters
    const events = (after = 0) => Stream.provideContext(SqlEventLog.stream(BatchLogSchema, { after }), context)
    return {
      // The payload belongs to the tag, which TypeScript cannot infer through the union.
      emit: (event) => Effect.andThen(write({ event: event._tag, payload: event as never }), countEvent(event)),
      events,
      position: feed.position,
      page: (after) =>
        Effect.gen(function* () {
          const last = (yield* feed.read({ after })).at(-1)?.position
          if (last === undefined) return { events: [], through: Math.max(after, yield* feed.position) }
          // The last event may be progress that newer progress replaces meanwhile: the page then ends with a later event.
          const page = yield* Stream.runCollect(Stream.takeUntil(events(after), ({ position }) => position >= last))
          return { events: page, through: page.at(-1)?.position ?? last }
        }),
      standings: (batch, ids) =>
        Effect.map(
          Effect.forEach(Arr.chunksOf(ids, 500), (some) =>
            reading(
              sql`select document_id as "documentId", status, error, round, entities, facts, for_review as "forReview" from ${documents}
                where batch_id = ${batch} and ${sql.in("document_id", some)}`,
            ),
          ),
          (pages) => new Map(decodeRows(pages.flat()).map((one) => [one.documentId, one])),
        ),
      counts: (batch) =>
        Effect.map(
          reading(sql`select status, cast(count(*) as text) as documents from ${documents} where batch_id = ${batch} group by status`),
          (rows) => ({
            processing: 0,
            completed: 0,
            failed: 0,
            "set-aside": 0,
            ...Object.fromEntries(decodeCounts(rows).map(({ status, documents }) => [status, documents])),
          }),
        ),
      documents: (batch, { status, after = "", limit = 100 } = {}) =>
        Effect.map(
          reading(
            sql`select document_id as "documentId", status, error, round, entities, facts, for_review as "forReview" from ${documents}
            where batch_id = ${batch} and document_id > ${after} ${status === undefined ? sql`` : sql`and status = ${status}`}
            order by document_id limit ${Math.min(limit, 1000)}`,
          ),
          decodeRows,
        ),
    } satisfies BatchEventLogService
  })
