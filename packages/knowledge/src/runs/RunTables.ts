/**
 * The tables of runs, the form of their rows, and the failures of their database. On PostgreSQL they are in the schema `detent`, on
 * SQLite under the same names without it. Migrations run when the tables are first needed, forward only.
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import { StorageUri } from "@detent/blobs/Storage"
import { describe } from "@detent/machine/internal"
import { defectsAsFailures } from "@detent/store/internal"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { Usage } from "../extract/Extractor.ts"
import { UnreadProse } from "../extract/language/ProseLanguage.ts"
import { ArtifactKey, BatchId, DocumentId, RunId } from "../storage/Identity.ts"
import { ArtifactPath } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"
import { ExtractionRun, Misfits, NotRead, PipelineConfig, RefusedItems, RunEnding, RunStatus, SkippedChunks } from "./Run.ts"

const schema = "detent"

/** The name of a table in statements. */
export const tableIn = (sql: SqlClient, name: string): Fragment =>
  sql.onDialectOrElse({ pg: () => sql.literal(`${schema}.${name}`), orElse: () => sql.literal(name) })

export const runTables = (sql: SqlClient) => ({
  runs: tableIn(sql, "extraction_runs"),
  checkpoints: tableIn(sql, "run_checkpoints"),
  artifacts: tableIn(sql, "run_artifacts"),
  graphs: tableIn(sql, "batch_artifacts"),
  answers: tableIn(sql, "model_answers"),
})

/**
 * Small artifacts are stored in their row: a file for each would take a disk sync for each. Those of medium size are packed with
 * Zstandard: a graph shrinks to a tenth, in the write-ahead log and in the database file. Answers of models are stored until a checkpoint
 * covers their chunks.
 */
const initial = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`create table ${runTables(sql).runs} (
    run_id text primary key,
    status text not null,
    status_version integer not null,
    batch_id text,
    document_id text not null,
    attempt integer not null,
    ontology_hash text not null,
    schema_version text not null,
    input_uri text not null,
    input_hash text,
    config_json text not null,
    created_at bigint not null,
    started_at bigint,
    completed_at bigint,
    ending text,
    error_message text,
    title text,
    language text,
    unread text
  )`
  yield* sql`create index extraction_runs_batch on ${runTables(sql).runs} (batch_id, document_id)`
  yield* sql`create table ${runTables(sql).checkpoints} (
    run_id text not null,
    batch_index integer not null,
    result_json text not null,
    entity_snapshot_path text not null,
    entity_snapshot_hash text not null,
    created_at bigint not null,
    primary key (run_id, batch_index)
  )`
  yield* sql`create table ${runTables(sql).artifacts} (
    run_id text not null,
    artifact_key text not null,
    content_path text not null,
    content_hash text not null,
    content text,
    packed ${sql.onDialectOrElse({ pg: () => sql.literal("bytea"), orElse: () => sql.literal("blob") })},
    created_at bigint not null,
    primary key (run_id, artifact_key)
  )`
  yield* sql`create table ${runTables(sql).graphs} (
    run_id text not null,
    batch_index integer not null,
    turtle_path text not null,
    turtle_hash text not null,
    chunk_count integer not null,
    created_at bigint not null,
    primary key (run_id, batch_index)
  )`
  yield* sql`create table ${runTables(sql).answers} (
    run_id text not null,
    chunk_index integer not null,
    step text not null,
    input_hash text not null,
    content text not null,
    calls integer not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    cost double precision,
    created_at bigint not null,
    primary key (run_id, chunk_index, step)
  )`
})

const migrations = "knowledge_migrations"

/** The key of the advisory lock that all migrations of the database take: "detent" in ASCII. */
const lockKey = 0x646574656e74

/** On PostgreSQL, the schema of the tables. The lock keeps two processes that start together from creating it concurrently. */
export const createSchema = Effect.flatMap(SqlClient, (sql) =>
  sql.onDialectOrElse({
    pg: () =>
      Effect.gen(function* () {
        yield* sql`select pg_advisory_xact_lock(${lockKey}::bigint)::text`
        yield* sql.unsafe(`create schema if not exists ${schema}`)
      }).pipe(sql.withTransaction),
    orElse: () => Effect.void,
  }),
)

/** Migrates the tables. Two processes may start at the same time: the migrator locks its table, which has to exist first. */
export const migrateRuns: Effect.Effect<void, Migrator.MigrationError | SqlError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* createSchema
  const table = tableIn(sql, migrations)
  yield* sql`create table if not exists ${table} (
    migration_id integer primary key not null,
    created_at timestamp not null default current_timestamp,
    name varchar(255) not null
  )`.pipe(
    // `if not exists` does not keep two processes from creating the table concurrently; the retry of the loser finds it.
    Effect.retry({ times: 5 }),
  )
  const lock = sql.onDialectOrElse({
    pg: () => sql`lock table ${table} in access exclusive mode`,
    orElse: () => sql`delete from ${table} where migration_id < 0`,
  })
  yield* sql.withTransaction(
    Effect.andThen(
      lock,
      Migrator.make({})({
        loader: Migrator.fromRecord({ "0001_runs": initial }),
        table: sql.onDialectOrElse({ pg: () => `${schema}.${migrations}`, orElse: () => migrations }),
      }),
    ),
  )
}).pipe(defectsAsFailures((defect) => isSqlError(defect) || defect instanceof Migrator.MigrationError))

// Encoding and decoding rows. An unreadable row is a defect that names its run: no other program writes these tables.

/** A row cannot be decoded: another program wrote it, or the file is damaged. It is thrown, since no caller can act on it. */
class RunRowUnreadable extends Schema.TaggedError<RunRowUnreadable>()("RunRowUnreadable", {
  table: Schema.String,
  run: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `a row of ${this.table} for run ${this.run} cannot be read: ${this.problem}; restore it from a backup, or extract the document in a new batch`
  }
}

/** A checkpoint names an artifact that does not exist. */
export class ArtifactMissing extends Schema.TaggedError<ArtifactMissing>()("ArtifactMissing", { run: Schema.String, key: Schema.String }) {
  override get message() {
    return `run ${this.run} has no artifact ${this.key}; restore it from a backup, or retry the batch, which makes it again`
  }
}

/** Reads rows of a table by a schema. */
export const rowReader = <A, I>(table: string, schema: Schema.Codec<A, I>): ((row: object) => A) => {
  const decode = Schema.decodeUnknownSync(schema)
  return (row) => {
    try {
      return decode(withNumbers(row))
    } catch (cause) {
      const run = Predicate.hasProperty(row, "run_id") ? describe(row.run_id) : "unknown"
      throw new RunRowUnreadable({ table, run, problem: describe(cause) })
    }
  }
}

/** For a bigint column, PostgreSQL's client returns a JavaScript bigint, SQLite's a number. */
const withNumbers = (row: object): object =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]))

const EndingJson = Schema.fromJsonString(RunEnding)

/** The text of an ending in its column. */
export const endingText = (ending: RunEnding): string => JSON.stringify(ending)

const RunRow = Schema.Struct({
  run_id: RunId,
  status: RunStatus,
  status_version: Count,
  batch_id: Schema.NullOr(BatchId),
  document_id: DocumentId,
  attempt: Count,
  ontology_hash: ContentHash,
  schema_version: Schema.String,
  input_uri: StorageUri,
  input_hash: Schema.NullOr(ContentHash),
  config_json: Schema.fromJsonString(PipelineConfig),
  created_at: Schema.Int,
  started_at: Schema.NullOr(Schema.Int),
  completed_at: Schema.NullOr(Schema.Int),
  ending: Schema.NullOr(EndingJson),
  error_message: Schema.NullOr(Schema.String),
  title: Schema.NullOr(Schema.String),
  language: Schema.NullOr(Schema.String),
  unread: Schema.NullOr(UnreadProse),
})

export const rowOfRun = (run: ExtractionRun) => ({
  run_id: run.runId,
  status: run.status,
  status_version: run.statusVersion,
  batch_id: Option.getOrNull(run.batchId),
  document_id: run.documentId,
  attempt: run.attempt,
  ontology_hash: run.ontologyHash,
  schema_version: run.schemaVersion,
  input_uri: run.inputUri,
  input_hash: Option.getOrNull(run.inputHash),
  config_json: JSON.stringify(run.config),
  created_at: run.createdAt.epochMilliseconds,
  started_at: millis(run.startedAt),
  completed_at: millis(run.completedAt),
  ending: Option.getOrNull(Option.map(run.ending, endingText)),
  error_message: Option.getOrNull(run.errorMessage),
  title: run.title ?? null,
  language: run.language ?? null,
  unread: run.unread ?? null,
})

const readRun = rowReader("extraction_runs", RunRow)

export const runOf = (row: object): ExtractionRun => {
  const found = readRun(row)
  const fields = {
    runId: found.run_id,
    status: found.status,
    statusVersion: found.status_version,
    batchId: Option.fromNullOr(found.batch_id),
    documentId: found.document_id,
    attempt: found.attempt,
    ontologyHash: found.ontology_hash,
    schemaVersion: found.schema_version,
    inputUri: found.input_uri,
    inputHash: Option.fromNullOr(found.input_hash),
    config: found.config_json,
    createdAt: DateTime.makeUnsafe(found.created_at),
    startedAt: time(found.started_at),
    completedAt: time(found.completed_at),
    ending: Option.fromNullOr(found.ending),
    errorMessage: Option.fromNullOr(found.error_message),
    ...(found.title === null ? {} : { title: found.title }),
    ...(found.language === null ? {} : { language: found.language }),
    ...(found.unread === null ? {} : { unread: found.unread }),
  }
  // The schema of the row has just checked the fields.
  return new ExtractionRun(fields, { disableChecks: true })
}

const LastBatchRow = Schema.Struct({ last_batch: Schema.NullOr(Count) })

const readLastBatch = rowReader("run_checkpoints", LastBatchRow)

export const lastBatchOf = (row: object): Option.Option<number> => Option.fromNullOr(readLastBatch(row).last_batch)

/** The counts of findings. */
export const foundCounts = {
  chunks: Count,
  /** An entity counts once in a document, in the step that finds it first. */
  entities: Count,
  facts: Count,
  /** Facts too uncertain for the graph, which are on the review list. */
  forReview: Count,
  misfits: Schema.optionalKey(Misfits),
  skipped: Schema.optionalKey(SkippedChunks),
  refused: Schema.optionalKey(RefusedItems),
  notRead: Schema.optionalKey(NotRead),
  calls: Count,
  inputTokens: Count,
  outputTokens: Count,
  /** Absent when the price is not known. */
  cost: Schema.optionalKey(Schema.Finite),
}

/** The counts of a finished step, and the hash of its text, which shows whether the document has changed since. */
export const StepResult = Schema.Struct({ ...foundCounts, textHash: Schema.String })
export type StepResult = typeof StepResult.Type

const CheckpointRow = Schema.Struct({
  run_id: RunId,
  batch_index: Count,
  result_json: Schema.fromJsonString(StepResult),
  entity_snapshot_path: ArtifactPath,
  entity_snapshot_hash: ContentHash,
  created_at: Schema.Int,
})
export type CheckpointRow = typeof CheckpointRow.Encoded
export type StoredCheckpoint = typeof CheckpointRow.Type

export const checkpointOf: (row: object) => StoredCheckpoint = rowReader("run_checkpoints", CheckpointRow)

export const graphKey = (batchIndex: number) => `batch_${batchIndex}.nt`
export const entitiesKey = (batchIndex: number) => `entity_snapshot_${batchIndex}.json`
/** The text of a step. The texts of all steps of a document, joined, are the text that spans refer to. */
export const contentKey = (batchIndex: number) => `content_${batchIndex}.txt`
export const reviewKey = (batchIndex: number) => `review_${batchIndex}.json`

const ArtifactRow = Schema.Struct({
  run_id: RunId,
  artifact_key: ArtifactKey,
  content_path: ArtifactPath,
  content_hash: ContentHash,
  /** Null when the content is compressed or in a file. */
  content: Schema.NullOr(Schema.String),
  /** The compressed content. Null when it is uncompressed or in a file. */
  packed: Schema.NullOr(Schema.Uint8Array),
  created_at: Schema.Int,
})
export type ArtifactRow = typeof ArtifactRow.Encoded
export type StoredArtifact = typeof ArtifactRow.Type

export const artifactOf: (row: object) => StoredArtifact = rowReader("run_artifacts", ArtifactRow)

/** An answer of a model, with its cost. */
const AnswerRow = Schema.Struct({
  run_id: RunId,
  chunk_index: Count,
  step: Schema.Literals(["entities", "facts"]),
  /** The hash of the prompt: an answer to another prompt is not used. */
  input_hash: Schema.String,
  content: Schema.String,
  calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  /** Null where the price is not known. */
  cost: Schema.NullOr(Schema.Finite),
  created_at: Schema.Int,
})
export type AnswerRow = typeof AnswerRow.Encoded
export type StoredAnswer = typeof AnswerRow.Type

export const answerOf: (row: object) => StoredAnswer = rowReader("model_answers", AnswerRow)

const TotalsRow = Schema.Struct({
  entities: Count,
  facts: Count,
  for_review: Count,
  calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  cost: Schema.Finite,
  unpriced: Count,
})

/** The stored counts of a batch's runs. */
export interface RunTotals {
  readonly entities: number
  readonly facts: number
  readonly forReview: number
  readonly usage: Usage
}

const readTotals = rowReader("run_checkpoints", TotalsRow)

export const totalsOf = (row: object): RunTotals => {
  const {
    entities,
    facts,
    for_review: forReview,
    calls,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost,
    unpriced,
  } = readTotals(row)
  return { entities, facts, forReview, usage: { calls, inputTokens, outputTokens, cost: unpriced > 0 ? undefined : cost } }
}

const readSum = rowReader("run_checkpoints", Schema.Struct({ sum: Count }))

export const sumIn = (row: object): number => readSum(row).sum

const CountRow = Schema.Struct({ status: RunStatus, runs: Schema.NumberFromString })

const readCount = rowReader("extraction_runs", CountRow)

export const countsOf = (rows: ReadonlyArray<object>): Readonly<Record<RunStatus, number>> => ({
  queued: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  ...Object.fromEntries(rows.map(readCount).map(({ status, runs }) => [status, runs])),
})

const WorkRow = Schema.Struct({
  run_id: RunId,
  chunks: Count,
  calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  cost: Schema.Finite,
  unpriced: Count,
})

/** The progress of a run, and the usage of models for it. */
export interface RunWork {
  /** Chunks of its document that are done. */
  readonly chunks: number
  readonly usage: Usage
}

const readWork = rowReader("run_checkpoints", WorkRow)

export const workOf = (row: object) => {
  const { run_id, chunks, calls, input_tokens: inputTokens, output_tokens: outputTokens, cost, unpriced } = readWork(row)
  const work: RunWork = { chunks, usage: { calls, inputTokens, outputTokens, cost: unpriced > 0 ? undefined : cost } }
  return [run_id, work] as const
}

const GraphPlaceRow = Schema.Struct({
  document_id: DocumentId,
  run_id: RunId,
  input_uri: StorageUri,
  input_hash: Schema.NullOr(ContentHash),
  title: Schema.NullOr(Schema.String),
  language: Schema.NullOr(Schema.String),
  completed_at: Schema.NullOr(Schema.Int),
  /** Null for a run without any step. */
  batch_index: Schema.NullOr(Count),
  /** Null for a graph that is missing. */
  artifact_key: Schema.NullOr(Schema.String),
})

const readGraphPlace = rowReader("batch_artifacts", GraphPlaceRow)

/** The document of a run. */
const documentOf = (place: typeof GraphPlaceRow.Type | typeof ReviewPlaceRow.Type) => ({
  documentId: place.document_id,
  runId: place.run_id,
  source: place.input_uri,
  ...(place.title === null ? {} : { title: place.title }),
  ...(place.language === null ? {} : { language: place.language }),
  ...(place.input_hash === null ? {} : { contentHash: place.input_hash }),
})

/** The document and step of a graph, and whether the graph is stored. */
export const graphPlaceOf = (row: object) => {
  const place = readGraphPlace(row)
  return {
    ...documentOf(place),
    ...(place.completed_at === null ? {} : { extractedAt: place.completed_at }),
    batchIndex: place.batch_index,
    isThere: place.artifact_key !== null,
  }
}

const ReviewPlaceRow = Schema.Struct({
  document_id: DocumentId,
  run_id: RunId,
  input_uri: StorageUri,
  input_hash: Schema.NullOr(ContentHash),
  title: Schema.NullOr(Schema.String),
  language: Schema.NullOr(Schema.String),
  config_json: Schema.fromJsonString(PipelineConfig),
})

const readReviewPlace = rowReader("run_artifacts", ReviewPlaceRow)

/** The document of a review list, and the confidence below which its facts were listed. */
export const reviewPlaceOf = (row: object) => {
  const place = readReviewPlace(row)
  return {
    ...documentOf(place),
    reviewBelow: place.config_json.reviewBelow,
  }
}

const millis = (at: Option.Option<DateTime.Utc>): number | null =>
  Option.match(at, { onNone: () => null, onSome: ({ epochMilliseconds }) => epochMilliseconds })

const time = (at: number | null): Option.Option<DateTime.Utc> => Option.map(Option.fromNullOr(at), (millis) => DateTime.makeUnsafe(millis))

// Failures of the database of runs, and how long they are retried.

/** The database could not read or write a run's data. Nothing was written in part. */
export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  /** Whether the database is unavailable, full or in use, and the run's data valid: the same request may succeed later. */
  retryable: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}; check the database, then resume`
  }

  get problem() {
    return `cannot ${this.operation} the run: ${wordsOf(this.cause)}`
  }
}

export const runStoreFailed =
  (operation: string) =>
  (cause: SqlError): RunStoreFailed =>
    new RunStoreFailed({ operation, retryable: isAway(cause), cause })

const transientTags: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError",
])

/** SQLite result codes: no memory, read-only, a disk error, a full disk. */
const transientCodes: ReadonlySet<number> = new Set([7, 8, 10, 13])

/** Whether the database may accept the same statement later. The drivers classify only some of these errors. */
const isAway = ({ reason: { _tag, cause } }: SqlError): boolean => {
  if (transientTags.has(_tag)) return true
  if (_tag !== "UnknownError") return false
  // PostgreSQL: connection errors, a read-only standby, no disk space or memory, a server that stops or starts, I/O errors.
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(08|25006|53|57P|58)/.test(cause.code)) return true
  return Predicate.hasProperty(cause, "errno") && typeof cause.errno === "number" && transientCodes.has(cause.errno & 0xff)
}

/** The database's own message, which the driver hides behind "failed to execute statement". */
const wordsOf = (error: unknown): string => {
  const cause = isSqlError(error) ? error.reason.cause : undefined
  return cause instanceof Error && cause.message !== "" ? cause.message : describe(error)
}

// An operation on a database that is briefly unavailable, because it restarts or a connection broke, is retried, so that no findings of a
// run are lost. After `limit` it fails, and the work can be resumed.

/** Longer than a database takes to start, or its standby to take over. */
export const defaultPatience: Duration.Input = "30 seconds"

/** Retries with exponential backoff from 50 ms to two seconds, until the limit has passed. */
export const patienceOf = (limit: Duration.Input) =>
  Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")]).pipe(Schedule.upTo({ duration: limit }))

/** However many callers wait, an outage is logged once at its start and once at its end. */
export const storePatience = (limit: Duration.Input) => {
  const schedule = patienceOf(limit)
  const retried = `the operation is retried for up to ${Duration.format(Duration.fromInputUnsafe(limit))}`
  let isAway = false

  const away = ({ problem, retryable }: RunStoreFailed) =>
    Effect.suspend(() => {
      if (isAway || !retryable) return Effect.void
      isAway = true
      return Effect.logWarning(`${problem}; ${retried}`)
    })

  const back = Effect.suspend(() => {
    if (!isAway) return Effect.void
    isAway = false
    return Effect.logInfo("the run database is available again")
  })

  return <A, R>(effect: Effect.Effect<A, RunStoreFailed, R>): Effect.Effect<A, RunStoreFailed, R> =>
    effect.pipe(
      Effect.tapError(away),
      Effect.retry({ schedule, while: ({ retryable }) => retryable }),
      Effect.tap(() => back),
    )
}
