/**
 * Where runs stand, in the tables of the specification. All that one step of a run changes is one write, and the writes of
 * many runs share a transaction.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import { describe } from "../domain/Describe.ts"
import { type BatchId, DocumentId, RunId } from "../domain/Identity.ts"
import { changeStatus, type ExtractionRun, RunStatusConflict, type RunStatusRefused, type StatusChange } from "../domain/Run.ts"
import { gathered } from "./Gathered.ts"
import { type ArtifactRow, artifactOf, checkpointOf, lastBatchOf, runOf, type StoredArtifact, type StoredCheckpoint } from "./RunRows.ts"
import { migrateRuns } from "./RunTables.ts"
import { type RunStep, type RunWrite, runWrites } from "./RunWrites.ts"

export type { RunStep } from "./RunWrites.ts"

/** The database did not take or give a run's data. Nothing was half written. */
export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `cannot ${this.operation} the run: ${describe(this.cause)}; see to the database, then resume`
  }
}

/** Where a run stands. */
export interface RunStanding {
  readonly run: ExtractionRun
  /** The last batch of chunks that is stored, by its index. */
  readonly lastBatch: Option.Option<number>
}

/** One run's graphs as they are kept. */
export interface RunGraph {
  readonly runId: RunId
  readonly documentId: DocumentId
  readonly graphs: ReadonlyArray<StoredArtifact>
}

export interface RunStoreService {
  /** A run that is there already is given back as it is. */
  readonly create: (run: ExtractionRun) => Effect.Effect<ExtractionRun, RunStoreFailed>
  readonly get: (id: RunId) => Effect.Effect<Option.Option<ExtractionRun>, RunStoreFailed>
  readonly standing: (id: RunId) => Effect.Effect<Option.Option<RunStanding>, RunStoreFailed>
  /** The runs of a batch, by document and attempt. */
  readonly ofBatch: (batch: BatchId) => Effect.Effect<ReadonlyArray<ExtractionRun>, RunStoreFailed>
  /** Those of a batch that are under way. */
  readonly runningOf: (batch: BatchId) => Effect.Effect<ReadonlyArray<RunId>, RunStoreFailed>
  /**
   * The runs of a batch that succeeded, by document, with the graphs of their batches of chunks: a page after a document. A
   * content that is not small is left out, and loaded by itself.
   */
  readonly graphsOf: (batch: BatchId, after: string, limit: number) => Effect.Effect<ReadonlyArray<RunGraph>, RunStoreFailed>
  readonly changeStatus: (
    run: ExtractionRun,
    change: StatusChange,
  ) => Effect.Effect<ExtractionRun, RunStoreFailed | RunStatusConflict | RunStatusRefused>
  /** Stores a finished batch of chunks. The same again changes nothing. */
  readonly saveStep: (step: RunStep) => Effect.Effect<void, RunStoreFailed>
  /** The same with the last batch of chunks, and the run's end with it: unless somebody has changed the run meanwhile. */
  readonly saveEnd: (
    step: RunStep,
    run: ExtractionRun,
    change: StatusChange,
  ) => Effect.Effect<void, RunStoreFailed | RunStatusConflict | RunStatusRefused>
  /** Counts who is at work: their writes wait a moment for each other. */
  readonly working: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly saveArtifact: (artifact: ArtifactRow) => Effect.Effect<void, RunStoreFailed>
  readonly checkpoint: (run: RunId, batchIndex: number) => Effect.Effect<Option.Option<StoredCheckpoint>, RunStoreFailed>
  readonly lastCheckpoint: (run: RunId) => Effect.Effect<Option.Option<StoredCheckpoint>, RunStoreFailed>
  readonly artifact: (run: RunId, key: string) => Effect.Effect<Option.Option<StoredArtifact>, RunStoreFailed>
}

export class RunStore extends Context.Service<RunStore, RunStoreService>()("@detent/knowledge/RunStore") {
  /** In the database the client is connected to: SQLite or PostgreSQL. */
  static readonly layer: Layer.Layer<RunStore, MigrationError | SqlError, SqlClient> = Layer.effect(
    RunStore,
    Effect.suspend(() => make),
  )
}

/** In characters, or in bytes of what is packed. A page holds hundreds of these, and is in memory as a whole. */
const smallContent = 16_384

/** More than this in one transaction gains nothing and keeps others waiting. */
const writesAtOnce = 250

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  yield* migrateRuns

  const failing =
    (operation: string) =>
    <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, RunStoreFailed, R> =>
      effect.pipe(
        // A COMMIT that fails is reported as a defect.
        Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
        Effect.mapError((cause) => new RunStoreFailed({ operation, cause })),
      )

  let underWay = 0

  const writes = runWrites(sql)
  const write = yield* gathered<RunWrite, boolean, RunStoreFailed>(
    writesAtOnce,
    () => underWay,
    (all) => failing("write")(writes(all)),
  )

  const get = (id: RunId) =>
    sql`select * from extraction_runs where run_id = ${id}`.pipe(
      failing("read"),
      Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), runOf)),
    )

  const checkpoints = (rows: ReadonlyArray<object>) => Option.map(Option.fromUndefinedOr(rows[0]), checkpointOf)

  return {
    get,
    standing: (id) =>
      sql`select r.*, (select max(c.batch_index) from run_checkpoints c where c.run_id = r.run_id) as last_batch
        from extraction_runs r where r.run_id = ${id}`.pipe(
        failing("read"),
        Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), (one) => ({ run: runOf(one), lastBatch: lastBatchOf(one) }))),
      ),
    create: (run) =>
      Effect.flatMap(write({ _tag: "Create", run }), (isNew) =>
        isNew
          ? Effect.succeed(run)
          : Effect.map(
              get(run.runId),
              Option.getOrElse(() => run),
            ),
      ),
    ofBatch: (batch) =>
      sql`select * from extraction_runs where batch_id = ${batch} order by document_id, attempt`.pipe(
        failing("list"),
        Effect.map((rows) => rows.map(runOf)),
      ),
    runningOf: (batch) =>
      sql`select run_id from extraction_runs where batch_id = ${batch} and status = 'running' order by run_id`.pipe(
        failing("list"),
        Effect.map((rows) => rows.map((row) => RunId.make(String(row["run_id"])))),
      ),
    graphsOf: (batch, after, limit) =>
      sql`select r.document_id, a.run_id, a.artifact_key, a.content_path, a.content_hash, a.created_at,
          case when length(a.content) <= ${smallContent} then a.content end as content,
          case when length(a.packed) <= ${smallContent} then a.packed end as packed from (
          select run_id, document_id from extraction_runs
          where batch_id = ${batch} and status = 'succeeded' and document_id > ${after} order by document_id limit ${limit}
        ) r join run_artifacts a on a.run_id = r.run_id and a.artifact_key like 'batch\\_%' escape '\\'
        order by r.document_id, a.artifact_key`.pipe(failing("read"), Effect.map(graphsOfRows)),
    changeStatus: (run, change) =>
      Effect.gen(function* () {
        const changed = yield* Effect.fromResult(changeStatus(run, change))
        if (yield* write({ _tag: "Status", status: { run: changed, expected: change.expectedVersion } })) return changed
        const actualVersion = Option.match(yield* get(run.runId), { onNone: () => 0, onSome: ({ statusVersion }) => statusVersion })
        return yield* new RunStatusConflict({ runId: run.runId, expectedVersion: change.expectedVersion, actualVersion })
      }),
    saveStep: (step) => Effect.asVoid(write({ _tag: "Step", step })),
    saveEnd: (step, run, change) =>
      Effect.flatMap(Effect.fromResult(changeStatus(run, change)), (changed) =>
        Effect.asVoid(write({ _tag: "End", step, status: { run: changed, expected: change.expectedVersion } })),
      ),
    working: (work) =>
      Effect.suspend(() => {
        underWay++
        return Effect.ensuring(
          work,
          Effect.sync(() => {
            underWay--
          }),
        )
      }),
    saveArtifact: (artifact) => Effect.asVoid(write({ _tag: "Artifact", artifact })),
    checkpoint: (run, batchIndex) =>
      sql`select * from run_checkpoints where run_id = ${run} and batch_index = ${batchIndex}`.pipe(
        failing("read"),
        Effect.map(checkpoints),
      ),
    lastCheckpoint: (run) =>
      sql`select * from run_checkpoints where run_id = ${run} order by batch_index desc limit 1`.pipe(
        failing("read"),
        Effect.map(checkpoints),
      ),
    artifact: (run, key) =>
      sql`select * from run_artifacts where run_id = ${run} and artifact_key = ${key}`.pipe(
        failing("read"),
        Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), artifactOf)),
      ),
  } satisfies RunStoreService
})

/** Rows of one run stand together. */
const graphsOfRows = (rows: ReadonlyArray<object>): ReadonlyArray<RunGraph> => {
  const byDocument = Map.groupBy(rows, (row) => DocumentId.make(String("document_id" in row ? row.document_id : "")))
  return [...byDocument].flatMap(([documentId, own]) => {
    const graphs = own.map(artifactOf)
    const [first] = graphs
    return first === undefined ? [] : [{ documentId, runId: first.run_id, graphs }]
  })
}
