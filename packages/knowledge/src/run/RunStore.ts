/**
 * Where runs stand, in the tables of the specification. All that one step of a run changes is one write, and the writes of
 * many runs share a transaction.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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
import {
  type ArtifactRow,
  artifactOf,
  type CheckpointRow,
  checkpointOf,
  rowOfRun,
  runOf,
  type StoredArtifact,
  type StoredCheckpoint,
} from "./RunRows.ts"
import { migrateRuns } from "./RunTables.ts"

/** The database did not take or give a run's data. Nothing was half written. */
export class RunStoreFailed extends Schema.TaggedError<RunStoreFailed>()("RunStoreFailed", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `cannot ${this.operation} the run: ${describe(this.cause)}; see to the database, then resume`
  }
}

/** What one step of a run leaves behind, all or nothing. */
export interface RunStep {
  readonly artifacts: ReadonlyArray<ArtifactRow>
  readonly checkpoint: CheckpointRow
  readonly graph: { readonly path: string; readonly hash: string; readonly chunks: number }
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

type Write =
  | { readonly _tag: "Create"; readonly run: ExtractionRun }
  | { readonly _tag: "Status"; readonly run: ExtractionRun; readonly expected: number }
  | { readonly _tag: "Step"; readonly step: RunStep }
  | { readonly _tag: "Artifact"; readonly artifact: ArtifactRow }

/** In characters. A page holds hundreds of these, and is in memory as a whole. */
const smallContent = 32_768

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

  const insertRuns = (runs: ReadonlyArray<ExtractionRun>) =>
    runs.length === 0 ? Effect.void : sql`insert into extraction_runs ${sql.insert(runs.map(rowOfRun))} on conflict (run_id) do nothing`

  const upsertArtifacts = (rows: ReadonlyArray<ArtifactRow>) =>
    rows.length === 0
      ? Effect.void
      : sql`insert into run_artifacts ${sql.insert(rows.map((row) => ({ ...row })))} on conflict (run_id, artifact_key) do update
          set content_path = excluded.content_path, content_hash = excluded.content_hash, content = excluded.content`

  /** The first checkpoint of a batch of chunks stays: what it names is what later batches built on. */
  const insertSteps = (steps: ReadonlyArray<RunStep>) =>
    steps.length === 0
      ? Effect.void
      : Effect.andThen(
          sql`insert into run_checkpoints ${sql.insert(steps.map(({ checkpoint }) => ({ ...checkpoint })))} on conflict (run_id, batch_index) do nothing`,
          sql`insert into batch_artifacts ${sql.insert(
            steps.map(({ checkpoint, graph }) => ({
              run_id: checkpoint.run_id,
              batch_index: checkpoint.batch_index,
              turtle_path: graph.path,
              turtle_hash: graph.hash,
              chunk_count: graph.chunks,
              created_at: checkpoint.created_at,
            })),
          )} on conflict (run_id, batch_index) do nothing`,
        )

  const updateStatus = ({ run, expected }: Extract<Write, { readonly _tag: "Status" }>) => {
    const row = rowOfRun(run)
    return Effect.map(
      sql<{ readonly run_id: string }>`update extraction_runs set status = ${row.status}, status_version = ${row.status_version},
        input_hash = ${row.input_hash}, started_at = ${row.started_at}, completed_at = ${row.completed_at}, error_message = ${row.error_message}
        where run_id = ${row.run_id} and status_version = ${expected} returning run_id`,
      (rows) => rows.length === 1,
    )
  }

  let underWay = 0

  /** True for every write that was made; false for a status that somebody else had changed. */
  const write = yield* gathered<Write, boolean, RunStoreFailed>(
    writesAtOnce,
    () => underWay,
    (writes) =>
      Effect.gen(function* () {
        const latest = new Map(writes.flatMap((one) => artifactsOf(one)).map((row) => [`${row.run_id}\n${row.artifact_key}`, row]))
        const steps = new Map(
          writes.flatMap((one) =>
            one._tag === "Step" ? [[`${one.step.checkpoint.run_id}\n${one.step.checkpoint.batch_index}`, one.step] as const] : [],
          ),
        )
        yield* insertRuns([
          ...new Map(writes.flatMap((one) => (one._tag === "Create" ? [[one.run.runId, one.run] as const] : []))).values(),
        ])
        yield* upsertArtifacts([...latest.values()])
        yield* insertSteps([...steps.values()])
        return yield* Effect.forEach(writes, (one) =>
          Effect.map(one._tag === "Status" ? updateStatus(one) : Effect.succeed(true), Exit.succeed),
        )
      }).pipe(sql.withTransaction, failing("write")),
  )

  const get = (id: RunId) =>
    sql`select * from extraction_runs where run_id = ${id}`.pipe(
      failing("read"),
      Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), runOf)),
    )

  const checkpoints = (rows: ReadonlyArray<object>) => Option.map(Option.fromUndefinedOr(rows[0]), checkpointOf)

  return {
    get,
    create: (run) =>
      Effect.flatMap(write({ _tag: "Create", run }), () =>
        Effect.map(
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
          case when length(a.content) <= ${smallContent} then a.content end as content from (
          select run_id, document_id from extraction_runs
          where batch_id = ${batch} and status = 'succeeded' and document_id > ${after} order by document_id limit ${limit}
        ) r join run_artifacts a on a.run_id = r.run_id and a.artifact_key like 'batch\\_%' escape '\\'
        order by r.document_id, a.artifact_key`.pipe(failing("read"), Effect.map(graphsOfRows)),
    changeStatus: (run, change) =>
      Effect.gen(function* () {
        const changed = yield* Effect.fromResult(changeStatus(run, change))
        if (yield* write({ _tag: "Status", run: changed, expected: change.expectedVersion })) return changed
        const actualVersion = Option.match(yield* get(run.runId), { onNone: () => 0, onSome: ({ statusVersion }) => statusVersion })
        return yield* new RunStatusConflict({ runId: run.runId, expectedVersion: change.expectedVersion, actualVersion })
      }),
    saveStep: (step) => Effect.asVoid(write({ _tag: "Step", step })),
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

const artifactsOf = (write: Write): ReadonlyArray<ArtifactRow> => {
  if (write._tag === "Artifact") return [write.artifact]
  return write._tag === "Step" ? write.step.artifacts : []
}

/** Rows of one run stand together. */
const graphsOfRows = (rows: ReadonlyArray<object>): ReadonlyArray<RunGraph> => {
  const byDocument = Map.groupBy(rows, (row) => DocumentId.make(String("document_id" in row ? row.document_id : "")))
  return [...byDocument].flatMap(([documentId, own]) => {
    const graphs = own.map(artifactOf)
    const [first] = graphs
    return first === undefined ? [] : [{ documentId, runId: first.run_id, graphs }]
  })
}
