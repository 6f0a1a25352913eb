/**
 * The store of runs, in the tables of the specification. All changes of one step of a run are one write, and the writes of
 * many runs share a transaction.
 */

import { defectsAsFailures } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { DocumentNode } from "../fact/FactGraph.ts"
import { BatchId, RunId } from "../storage/Identity.ts"
import {
  addMisfits,
  addNotRead,
  addRefused,
  addSkipped,
  changeStatus,
  type ExtractionRun,
  examplesKept,
  type Misfits,
  messageOf,
  type NotRead,
  type RefusedItems,
  type RunEnding,
  type RunStatus,
  RunStatusConflict,
  type RunStatusRefused,
  type SkippedChunks,
  type StatusChange,
} from "./Run.ts"
import {
  type AnswerRow,
  ArtifactMissing,
  type ArtifactRow,
  answerOf,
  artifactOf,
  type CheckpointRow,
  checkpointOf,
  countsOf,
  defaultPatience,
  endingText,
  graphKey,
  graphPlaceOf,
  lastBatchOf,
  migrateRuns,
  type RunStoreFailed,
  type RunTotals,
  type RunWork,
  reviewPlaceOf,
  rowOfRun,
  runOf,
  runStoreFailed,
  runTables,
  type StepResult,
  type StoredAnswer,
  type StoredArtifact,
  type StoredCheckpoint,
  storePatience,
  sumIn,
  totalsOf,
  workOf,
} from "./RunTables.ts"

/** A run and its progress. */
export interface RunStanding {
  readonly run: ExtractionRun
  /** The index of the last stored step. */
  readonly lastBatch: Option.Option<number>
}

/** The stored graphs of a run, and the version of the document that it read. */
export interface RunGraph extends DocumentNode {
  readonly graphs: ReadonlyArray<StoredArtifact>
}

/** A stored part of a run's review list, and the version of the document that the run read. */
export interface StoredReview extends Omit<DocumentNode, "extractedAt"> {
  readonly artifact: StoredArtifact
  readonly reviewBelow: number
}

/** The runs that totals are counted over. */
export type RunsOf = { readonly batchId: BatchId } | { readonly runId: RunId }

export interface RunStoreService {
  /** Stores queued runs. Runs that exist already are left unchanged. */
  readonly queue: (runs: ReadonlyArray<ExtractionRun>) => Effect.Effect<void, RunStoreFailed>
  /** Stores a run, or starts it if it was queued. Returns any other existing run unchanged. */
  readonly create: (run: ExtractionRun) => Effect.Effect<ExtractionRun, RunStoreFailed>
  readonly get: (id: RunId) => Effect.Effect<Option.Option<ExtractionRun>, RunStoreFailed>
  readonly standing: (id: RunId) => Effect.Effect<Option.Option<RunStanding>, RunStoreFailed>
  /** The runs of a batch, by document and attempt. */
  readonly ofBatch: (batch: BatchId) => Effect.Effect<ReadonlyArray<ExtractionRun>, RunStoreFailed>
  /** The runs of a batch for some of its documents. */
  readonly ofDocuments: (batch: BatchId, documents: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ExtractionRun>, RunStoreFailed>
  /** The running runs of a batch. */
  readonly runningOf: (batch: BatchId) => Effect.Effect<ReadonlyArray<RunId>, RunStoreFailed>
  /** Cancels the queued runs of a batch. */
  readonly cancelQueued: (batch: BatchId, ending: RunEnding) => Effect.Effect<void, RunStoreFailed>
  /** How many runs of a batch are in each status. */
  readonly counts: (batch: BatchId) => Effect.Effect<Readonly<Record<RunStatus, number>>, RunStoreFailed>
  /** The progress of each run of a batch, and the usage of models for it. With documents, only of their runs. */
  readonly workOf: (batch: BatchId, documents?: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<RunId, RunWork>, RunStoreFailed>
  /**
   * One page of the succeeded runs of a batch, or of the given runs, in the order of documents, with the graphs of their steps. Content
   * that is not small is left out: the caller loads it separately.
   */
  readonly graphsOf: (
    of: BatchId | ReadonlyArray<RunId>,
    after: string,
    limit: number,
  ) => Effect.Effect<ReadonlyArray<RunGraph>, RunStoreFailed | ArtifactMissing>
  /** Those of the given runs that have succeeded and still have their graphs. */
  readonly withGraphs: (runs: ReadonlyArray<RunId>) => Effect.Effect<ReadonlySet<string>, RunStoreFailed>
  /** One page of the review lists of the succeeded runs of a batch, in the order of documents. */
  readonly reviewsOf: (
    batch: BatchId,
    after: { readonly documentId: string; readonly key: string },
    limit: number,
  ) => Effect.Effect<ReadonlyArray<StoredReview>, RunStoreFailed>
  readonly changeStatus: (
    run: ExtractionRun,
    change: StatusChange,
  ) => Effect.Effect<ExtractionRun, RunStoreFailed | RunStatusConflict | RunStatusRefused>
  /** Stores a finished step. A step that has a checkpoint already is left unchanged, with its artifacts. */
  readonly saveStep: (step: RunStep) => Effect.Effect<void, RunStoreFailed>
  /** Stores the last step and the run's end in one transaction. On a status conflict, the step is stored anyway. */
  readonly saveEnd: (
    step: RunStep,
    run: ExtractionRun,
    change: StatusChange,
  ) => Effect.Effect<void, RunStoreFailed | RunStatusConflict | RunStatusRefused>
  /** Counts `work` as an active run: group commit waits a moment for the writes of other active runs. */
  readonly working: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Marks a succeeded run whose graph is damaged or lost as failed, and removes the checkpoint of that step: the resumed run extracts
   * the step again. A run in any other status is left alone.
   */
  readonly reopen: (run: RunId, graph: string, loss: RunEnding) => Effect.Effect<void, RunStoreFailed>
  /** One page of the batches whose last run ended before a time, and which still have data to remove. */
  readonly endedBatches: (before: number, after: string, limit: number) => Effect.Effect<ReadonlyArray<BatchId>, RunStoreFailed>
  /**
   * Removes the runs of a batch with all their rows. The `kept` runs lose only their graphs and entities, and keep their text and
   * review list. The caller removes the files.
   */
  readonly purge: (batch: BatchId, kept: ReadonlySet<string>) => Effect.Effect<PurgedRuns, RunStoreFailed>
  readonly saveArtifact: (artifact: ArtifactRow) => Effect.Effect<void, RunStoreFailed>
  readonly checkpoint: (run: RunId, batchIndex: number) => Effect.Effect<Option.Option<StoredCheckpoint>, RunStoreFailed>
  readonly lastCheckpoint: (run: RunId) => Effect.Effect<Option.Option<StoredCheckpoint>, RunStoreFailed>
  readonly artifact: (run: RunId, key: string) => Effect.Effect<Option.Option<StoredArtifact>, RunStoreFailed>
  /** Stores an answer of a model until the checkpoint of its chunk covers it. */
  readonly saveAnswer: (answer: AnswerRow) => Effect.Effect<void, RunStoreFailed>
  /** The stored answers for the chunks of a run from `first` to `last`. */
  readonly answers: (run: RunId, first: number, last: number) => Effect.Effect<ReadonlyArray<StoredAnswer>, RunStoreFailed>
  /** The stored totals of a batch or a run: the findings of its succeeded runs, and the model usage of all its runs. */
  readonly totals: (of: RunsOf) => Effect.Effect<RunTotals, RunStoreFailed>
  /** The values and rows that the succeeded runs of a batch did not read; undefined if there are none. */
  readonly misfits: (batch: BatchId) => Effect.Effect<Misfits | undefined, RunStoreFailed>
  /** Chunks that succeeded runs of the batch did without. */
  readonly skipped: (batch: BatchId) => Effect.Effect<SkippedChunks | undefined, RunStoreFailed>
  /** What models said to succeeded runs of the batch and was not taken. */
  readonly refused: (batch: BatchId) => Effect.Effect<RefusedItems | undefined, RunStoreFailed>
  /** Cells that gave no fact in succeeded runs of the batch. Columns are counted in the first 5,000 steps that have such cells. */
  readonly notRead: (batch: BatchId) => Effect.Effect<NotRead | undefined, RunStoreFailed>
}

/** The counts of a step that are summed for its batch. */
type CountedField = "misfits" | "skipped" | "refused" | "notRead"

/** The steps whose columns are counted. */
const columnsFrom = 5000

export class RunStore extends Context.Service<RunStore, RunStoreService>()("@detent/knowledge/RunStore") {
  /** In the database the client is connected to: SQLite or PostgreSQL. */
  static readonly layer: Layer.Layer<RunStore, MigrationError | SqlError, SqlClient> = Layer.effect(
    RunStore,
    Effect.suspend(() => make(defaultPatience)),
  )

  /** Like `layer`, but retries an unreachable database for the given time. */
  static readonly layerWith = ({
    patience,
  }: {
    readonly patience: Duration.Input
  }): Layer.Layer<RunStore, MigrationError | SqlError, SqlClient> => Layer.effect(RunStore, make(patience))
}

/** In characters, or in bytes of compressed content. A page holds hundreds of contents in memory. */
const smallContent = 16_384

/** Rows per insert, of 18 parameters each: a statement takes 32,766. */
const queuedAtOnce = 1000

/** Writes per transaction. More gain nothing and make other transactions wait. */
const writesAtOnce = 250

const make = (patience: Duration.Input) =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient).withoutTransforms()
    yield* migrateRuns
    const { runs, checkpoints, artifacts, graphs, answers } = runTables(sql)

    const failing =
      (operation: string) =>
      <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, RunStoreFailed, R> =>
        effect.pipe(defectsAsFailures(isSqlError), Effect.mapError(runStoreFailed(operation)))

    const patiently = storePatience(patience)
    const reading = <A, R>(effect: Effect.Effect<A, SqlError, R>) => patiently(failing("read")(effect))

    let activeRuns = 0

    const writes = runWrites(sql)
    const gather = yield* gathered<RunWrite, boolean, RunStoreFailed>(
      writesAtOnce,
      () => activeRuns,
      (all) => failing("write")(writes(all)),
      ({ retryable }) => retryable,
    )
    const write = (one: RunWrite) => patiently(gather(one))

    const get = (id: RunId) =>
      sql`select * from ${runs} where run_id = ${id}`.pipe(
        reading,
        Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), runOf)),
      )

    /** Returns the run, or fails when another writer was first. A retry may find its own first attempt stored, whose response was lost. */
    const writeStatus = (one: Extract<RunWrite, { readonly status: NewStatus }>) =>
      Effect.gen(function* () {
        const { run, expected } = one.status
        let tries = 0
        const isMade = yield* patiently(
          Effect.suspend(() => {
            tries++
            return gather(one)
          }),
        )
        if (isMade) return run
        const stored = yield* get(run.runId)
        if (tries > 1 && Option.exists(stored, (found) => isSameRun(found, run))) return run
        const actualVersion = Option.match(stored, { onNone: () => 0, onSome: ({ statusVersion }) => statusVersion })
        return yield* new RunStatusConflict({ runId: run.runId, expectedVersion: expected, actualVersion })
      })

    const firstCheckpoint = (rows: ReadonlyArray<object>) => Option.map(Option.fromUndefinedOr(rows[0]), checkpointOf)

    /** A field of the result of a checkpoint `c`. */
    const field = (name: string) =>
      sql.onDialectOrElse({
        pg: () => sql.literal(`(c.result_json::json->>'${name}')::double precision`),
        orElse: () => sql.literal(`json_extract(c.result_json, '$.${name}')`),
      })

    /** How many misfits, skipped chunks, refused items or cells the result of a checkpoint `c` has; null for none. */
    const countIn = (field: CountedField) =>
      sql.onDialectOrElse({
        pg: () => sql.literal(`(c.result_json::json#>>'{${field},count}')::double precision`),
        orElse: () => sql.literal(`json_extract(c.result_json, '$.${field}.count')`),
      })

    /** The sum of what the steps of a batch's succeeded runs count, with the first examples. */
    const summed = <Of extends { readonly count: number }>(
      batch: BatchId,
      field: CountedField,
      read: (step: StepResult) => Of | undefined,
      add: (one: Of | undefined, other: Of | undefined) => Of | undefined,
      mostRows = examplesKept,
    ) =>
      Effect.gen(function* () {
        const own = sql`${checkpoints} c where c.run_id in
          (select run_id from ${runs} where batch_id = ${batch} and status = 'succeeded') and ${countIn(field)} > 0`
        const rows = yield* reading(sql`select c.* from ${own} order by c.run_id, c.batch_index limit ${mostRows}`)
        const shown = rows.map((row) => read(checkpointOf(row).result_json)).reduce(add, undefined)
        if (shown === undefined) return undefined
        const [sum] = yield* reading(sql`select cast(sum(${countIn(field)}) as double precision) as sum from ${own}`)
        return { ...shown, count: sumIn(sum ?? {}) }
      })

    /** The usage of models of a checkpoint `c`. */
    const paid = sql`${field("calls")} as calls, ${field("inputTokens")} as input_tokens, ${field("outputTokens")} as output_tokens,
      ${field("cost")} as cost`

    const sum = (name: string) => sql.literal(`cast(coalesce(sum(${name}), 0) as double precision) as ${name}`)

    /** The sums of the usage, and how many rows have calls without a known price. */
    const spent = sql`${sum("calls")}, ${sum("input_tokens")}, ${sum("output_tokens")}, ${sum("cost")},
      cast(coalesce(sum(case when cost is null and calls > 0 then 1 else 0 end), 0) as double precision) as unpriced`

    return {
      get,
      standing: (id) =>
        sql`select r.*, (select max(c.batch_index) from ${checkpoints} c where c.run_id = r.run_id) as last_batch
          from ${runs} r where r.run_id = ${id}`.pipe(
          reading,
          Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), (one) => ({ run: runOf(one), lastBatch: lastBatchOf(one) }))),
        ),
      queue: (queued) =>
        Effect.forEach(
          Arr.chunksOf(queued, queuedAtOnce),
          (some) =>
            patiently(failing("write")(sql`insert into ${runs} ${sql.insert(Arr.map(some, rowOfRun))} on conflict (run_id) do nothing`)),
          { discard: true },
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
        sql`select * from ${runs} where batch_id = ${batch} order by document_id, attempt`.pipe(
          reading,
          Effect.map((rows) => rows.map(runOf)),
        ),
      ofDocuments: (batch, documents) =>
        documents.length === 0
          ? Effect.succeed([])
          : sql`select * from ${runs} where batch_id = ${batch} and ${sql.in("document_id", documents)} order by document_id, attempt`.pipe(
              reading,
              Effect.map((rows) => rows.map(runOf)),
            ),
      runningOf: (batch) =>
        sql`select run_id from ${runs} where batch_id = ${batch} and status = 'running' order by run_id`.pipe(
          reading,
          Effect.map((rows) => rows.map((row) => RunId.make(String(row["run_id"])))),
        ),
      cancelQueued: (batch, ending) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.asVoid(
            patiently(
              failing("write")(sql`update ${runs} set status = 'cancelled', status_version = status_version + 1, completed_at = ${now},
                ending = ${endingText(ending)}, error_message = ${messageOf(ending)} where batch_id = ${batch} and status = 'queued'`),
            ),
          ),
        ),
      counts: (batch) =>
        sql`select status, cast(count(*) as text) as runs from ${runs} where batch_id = ${batch} group by status`.pipe(
          reading,
          Effect.map(countsOf),
        ),
      workOf: (batch, documents) => {
        if (documents?.length === 0) return Effect.succeed(new Map())
        const chosen = documents === undefined ? sql`` : sql` and ${sql.in("document_id", documents)}`
        const own = sql`(select run_id from ${runs} where batch_id = ${batch}${chosen})`
        return sql`select run_id, ${sum("chunks")}, ${spent}
          from (
            select c.run_id, ${field("chunks")} as chunks, ${paid} from ${checkpoints} c where c.run_id in ${own}
            union all
            select a.run_id, 0, a.calls, a.input_tokens, a.output_tokens, a.cost from ${answers} a where a.run_id in ${own}
          ) stored group by run_id`.pipe(
          reading,
          Effect.map((rows) => new Map(rows.map(workOf))),
        )
      },
      withGraphs: (ids) =>
        Effect.map(
          Effect.forEach(Arr.chunksOf(ids, 500), (some) =>
            reading(
              sql`select r.run_id from ${runs} r where ${sql.in("r.run_id", some)} and r.status = 'succeeded' and exists (
                select 1 from ${artifacts} a where a.run_id = r.run_id and a.artifact_key = 'batch_0.nt'
              )`,
            ),
          ),
          (pages) => new Set(pages.flat().map((row) => String(row["run_id"]))),
        ),
      graphsOf: (of, after, limit) =>
        sql`select r.document_id, r.run_id, r.input_uri, r.input_hash, r.title, r.language, r.completed_at, b.batch_index, a.artifact_key, a.content_path, a.content_hash, a.created_at,
            case when length(a.content) <= ${smallContent} then a.content end as content,
            case when length(a.packed) <= ${smallContent} then a.packed end as packed from (
            select run_id, document_id, input_uri, input_hash, title, language, completed_at from ${runs}
            where ${typeof of === "string" ? sql`batch_id = ${of}` : sql.in("run_id", of)} and status = 'succeeded' and document_id > ${after}
            order by document_id limit ${limit}
          ) r left join ${graphs} b on b.run_id = r.run_id
          left join ${artifacts} a on a.run_id = b.run_id and a.artifact_key = 'batch_' || b.batch_index || '.nt'
          order by r.document_id, b.batch_index`.pipe(reading, Effect.flatMap(graphsOfRows)),
      reviewsOf: (batch, { documentId, key }, limit) =>
        sql`select r.document_id, r.run_id, r.input_uri, r.input_hash, r.title, r.language, r.config_json, a.artifact_key, a.content_path, a.content_hash,
            a.created_at, a.content, a.packed from ${runs} r join ${artifacts} a on a.run_id = r.run_id
          where r.batch_id = ${batch} and r.status = 'succeeded' and r.document_id >= ${documentId}
            and (r.document_id > ${documentId} or a.artifact_key > ${key}) and a.artifact_key like 'review%'
          order by r.document_id, a.artifact_key limit ${limit}`.pipe(
          reading,
          Effect.map((rows) => rows.map(reviewOf)),
        ),
      changeStatus: (run, change) =>
        Effect.flatMap(Effect.fromResult(changeStatus(run, change)), (changed) =>
          writeStatus({ _tag: "Status", status: { run: changed, expected: change.expectedVersion } }),
        ),
      saveStep: (step) => Effect.asVoid(write({ _tag: "Step", step })),
      saveEnd: (step, run, change) =>
        Effect.flatMap(Effect.fromResult(changeStatus(run, change)), (changed) =>
          Effect.asVoid(writeStatus({ _tag: "End", step, status: { run: changed, expected: change.expectedVersion } })),
        ),
      working: (work) =>
        Effect.suspend(() => {
          activeRuns++
          return Effect.ensuring(
            work,
            Effect.sync(() => {
              activeRuns--
            }),
          )
        }),
      reopen: (run, graph, loss) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => patiently(failing("write")(reopenRun(sql, run, graph, loss, now)))),
      endedBatches: (before, after, limit) =>
        sql`select r.batch_id from ${runs} r where r.batch_id > ${after}
          group by r.batch_id having max(coalesce(r.completed_at, ${before})) < ${before}
            and max(case when r.status <> 'succeeded' or exists (
              select 1 from ${artifacts} a where a.run_id = r.run_id and a.artifact_key = 'batch_0.nt'
            ) then 1 else 0 end) = 1
          order by r.batch_id limit ${limit}`.pipe(
          reading,
          Effect.map((rows) => rows.map((row) => BatchId.make(String(row["batch_id"])))),
        ),
      purge: (batch, kept) => patiently(failing("write")(purgeRuns(sql, batch, kept))),
      saveArtifact: (artifact) => Effect.asVoid(write({ _tag: "Artifact", artifact })),
      checkpoint: (run, batchIndex) =>
        sql`select * from ${checkpoints} where run_id = ${run} and batch_index = ${batchIndex}`.pipe(reading, Effect.map(firstCheckpoint)),
      lastCheckpoint: (run) =>
        sql`select * from ${checkpoints} where run_id = ${run} order by batch_index desc limit 1`.pipe(
          reading,
          Effect.map(firstCheckpoint),
        ),
      artifact: (run, key) =>
        sql`select * from ${artifacts} where run_id = ${run} and artifact_key = ${key}`.pipe(
          reading,
          Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), artifactOf)),
        ),
      saveAnswer: (answer) =>
        patiently(
          failing("write")(
            Effect.asVoid(sql`insert into ${answers} ${sql.insert({ ...answer })} on conflict (run_id, chunk_index, step) do update
              set input_hash = excluded.input_hash, content = excluded.content, calls = excluded.calls,
                input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cost = excluded.cost`),
          ),
        ),
      answers: (run, first, last) =>
        sql`select * from ${answers} where run_id = ${run} and chunk_index between ${first} and ${last}`.pipe(
          reading,
          Effect.map((rows) => rows.map(answerOf)),
        ),
      totals: (of) => {
        const own = "batchId" in of ? sql`batch_id = ${of.batchId}` : sql`run_id = ${of.runId}`
        const ofSucceeded = (name: string) => sql`case when r.status = 'succeeded' then ${field(name)} else 0 end`
        return sql`select ${sum("entities")}, ${sum("facts")}, ${sum("for_review")}, ${spent}
          from (
            select ${ofSucceeded("entities")} as entities, ${ofSucceeded("facts")} as facts, ${ofSucceeded("forReview")} as for_review, ${paid}
              from ${checkpoints} c join (select run_id, status from ${runs} where ${own}) r on r.run_id = c.run_id
            union all
            select 0, 0, 0, a.calls, a.input_tokens, a.output_tokens, a.cost from ${answers} a
              where a.run_id in (select run_id from ${runs} where ${own})
          ) stored`.pipe(
          reading,
          Effect.map(([row]) => totalsOf(row ?? {})),
        )
      },
      misfits: (batch) => summed(batch, "misfits", ({ misfits }) => misfits, addMisfits),
      skipped: (batch) => summed(batch, "skipped", ({ skipped }) => skipped, addSkipped),
      refused: (batch) => summed(batch, "refused", ({ refused }) => refused, addRefused),
      notRead: (batch) => summed(batch, "notRead", ({ notRead }) => notRead, addNotRead, columnsFrom),
    } satisfies RunStoreService
  })

const reviewOf = (row: object): StoredReview => ({ ...reviewPlaceOf(row), artifact: artifactOf(row) })

/** Ignores `created_at`: a run that was queued keeps its own. */
const isSameRun = (one: ExtractionRun, other: ExtractionRun): boolean =>
  JSON.stringify({ ...rowOfRun(one), created_at: 0 }) === JSON.stringify({ ...rowOfRun(other), created_at: 0 })

/** Groups rows by run. Fails for a missing graph, which must not be read as an empty one. */
const graphsOfRows = (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<RunGraph>, ArtifactMissing> =>
  Effect.suspend(() => {
    const graphs = new Map<RunId, DocumentNode & { readonly graphs: Array<StoredArtifact> }>()
    for (const row of rows) {
      const { batchIndex, isThere, ...document } = graphPlaceOf(row)
      const { runId } = document
      const one = graphs.get(runId) ?? { ...document, graphs: [] }
      graphs.set(runId, one)
      if (batchIndex === null) continue
      if (!isThere) return Effect.fail(new ArtifactMissing({ run: runId, key: graphKey(batchIndex) }))
      one.graphs.push(artifactOf(row))
    }
    return Effect.succeed([...graphs.values()])
  })

// Writes: the changes of many runs as the statements of one transaction.

/** The rows of one step of a run, which one transaction stores. */
export interface RunStep {
  readonly artifacts: ReadonlyArray<ArtifactRow>
  readonly checkpoint: CheckpointRow
  readonly graph: { readonly path: string; readonly hash: string; readonly chunks: number }
  /** The first and last chunk whose stored model answers the checkpoint covers. */
  readonly answered?: { readonly first: number; readonly last: number }
}

/** The new content of a run, written only if the run is still at the given version. */
interface NewStatus {
  readonly run: ExtractionRun
  readonly expected: number
}

type RunWrite =
  | { readonly _tag: "Create"; readonly run: ExtractionRun }
  | { readonly _tag: "Status"; readonly status: NewStatus }
  | { readonly _tag: "Step"; readonly step: RunStep }
  /** The last step of a run together with its end. */
  | { readonly _tag: "End"; readonly step: RunStep; readonly status: NewStatus }
  | { readonly _tag: "Artifact"; readonly artifact: ArtifactRow }

/** Returns true for every write that took effect; false for an existing run that was not queued, and for a status conflict. */
const runWrites = (sql: SqlClient) => {
  const tables = runTables(sql)
  const insertRuns = (runs: ReadonlyArray<ExtractionRun>) =>
    !Arr.isReadonlyArrayNonEmpty(runs)
      ? Effect.succeed([])
      : sql<{
          readonly run_id: string
        }>`insert into ${tables.runs} as r ${sql.insert(Arr.map(runs, rowOfRun))} on conflict (run_id) do update
          set status = excluded.status, status_version = excluded.status_version, started_at = excluded.started_at
          where r.status = 'queued' returning run_id`

  const upsertArtifacts = (rows: ReadonlyArray<ArtifactRow>) =>
    !Arr.isReadonlyArrayNonEmpty(rows)
      ? Effect.void
      : sql`insert into ${tables.artifacts} ${sql.insert(Arr.map(rows, (row) => ({ ...row })))} on conflict (run_id, artifact_key) do update
          set content_path = excluded.content_path, content_hash = excluded.content_hash, content = excluded.content,
            packed = excluded.packed`

  /** Keeps the first checkpoint of a step. Returns the steps whose checkpoint was inserted: only their artifacts are stored. */
  const insertCheckpoints = (steps: ReadonlyMap<string, RunStep>) => {
    const checkpoints = [...steps.values()].map(({ checkpoint }) => ({ ...checkpoint }))
    if (!Arr.isArrayNonEmpty(checkpoints)) return Effect.succeed([])
    return Effect.map(
      sql<{ readonly run_id: string; readonly batch_index: number | bigint }>`insert into ${tables.checkpoints} ${sql.insert(checkpoints)}
        on conflict (run_id, batch_index) do nothing returning run_id, batch_index`,
      (rows) => rows.flatMap((row) => steps.get(stepKey(row)) ?? []),
    )
  }

  const insertGraphs = (steps: ReadonlyArray<RunStep>) =>
    !Arr.isReadonlyArrayNonEmpty(steps)
      ? Effect.void
      : sql`insert into ${tables.graphs} ${sql.insert(
          Arr.map(steps, ({ checkpoint, graph }) => ({
            run_id: checkpoint.run_id,
            batch_index: checkpoint.batch_index,
            turtle_path: graph.path,
            turtle_hash: graph.hash,
            chunk_count: graph.chunks,
            created_at: checkpoint.created_at,
          })),
        )} on conflict (run_id, batch_index) do nothing`

  const removeAnswers = (steps: ReadonlyArray<RunStep>) =>
    Effect.forEach(
      steps.flatMap(({ checkpoint, answered }) => (answered === undefined ? [] : [{ run: checkpoint.run_id, ...answered }])),
      ({ run, first, last }) => sql`delete from ${tables.answers} where run_id = ${run} and chunk_index between ${first} and ${last}`,
      { discard: true },
    )

  const updateStatus = ({ run, expected }: NewStatus) => {
    const row = rowOfRun(run)
    return Effect.map(
      sql<{ readonly run_id: string }>`update ${tables.runs} set status = ${row.status}, status_version = ${row.status_version},
        input_hash = ${row.input_hash}, title = ${row.title}, language = ${row.language}, unread = ${row.unread}, started_at = ${row.started_at}, completed_at = ${row.completed_at},
        ending = ${row.ending}, error_message = ${row.error_message}
        where run_id = ${row.run_id} and status_version = ${expected} returning run_id`,
      (rows) => rows.length === 1,
    )
  }

  return (writes: ReadonlyArray<RunWrite>): Effect.Effect<ReadonlyArray<Exit.Exit<boolean>>, SqlError> =>
    Effect.gen(function* () {
      const runs = byKey(
        writes.flatMap((one) => (one._tag === "Create" ? [one.run] : [])),
        ({ runId }) => runId,
      )
      const steps = byKey(
        writes.flatMap((one) => (one._tag === "Step" || one._tag === "End" ? [one.step] : [])),
        ({ checkpoint }) => stepKey(checkpoint),
      )
      const created = new Set((yield* insertRuns([...runs.values()])).map((row) => runs.get(row.run_id)))
      const stored = yield* insertCheckpoints(steps)
      const artifacts = [
        ...writes.flatMap((one) => (one._tag === "Artifact" ? [one.artifact] : [])),
        ...stored.flatMap((step) => step.artifacts),
      ]
      yield* upsertArtifacts([...byKey(artifacts, (row) => `${row.run_id}\n${row.artifact_key}`).values()])
      yield* insertGraphs(stored)
      yield* removeAnswers(stored)
      return yield* Effect.forEach(writes, (one) => {
        if (one._tag === "Status" || one._tag === "End") return Effect.map(updateStatus(one.status), Exit.succeed)
        return Effect.succeed(Exit.succeed(one._tag !== "Create" || created.has(one.run)))
      })
    }).pipe(sql.withTransaction)
}

/** A statement may have each key once. Of two rows with the same key, the later one wins, in all tables. */
const byKey = <A>(all: ReadonlyArray<A>, key: (one: A) => string): ReadonlyMap<string, A> => new Map(all.map((one) => [key(one), one]))

const stepKey = ({ run_id, batch_index }: { readonly run_id: string; readonly batch_index: number | bigint }) => `${run_id}\n${batch_index}`

// Removing rows of runs: a damaged graph, so that it is extracted again, and rows older than their retention.

/** As if the run had been resumed and had failed: the version counts both changes. Removes nothing unless the run is `succeeded`. */
const reopenRun = (sql: SqlClient, run: RunId, graph: string, loss: RunEnding, now: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { runs, checkpoints, graphs } = runTables(sql)
    const reopened = yield* sql`update ${runs}
      set status = 'failed', status_version = status_version + 2, completed_at = ${now},
        ending = ${endingText(loss)}, error_message = ${messageOf(loss)}
      where run_id = ${run} and status = 'succeeded' returning run_id`
    if (reopened.length === 0) return
    const rows = sql`run_id = ${run} and 'batch_' || batch_index || '.nt' = ${graph}`
    yield* sql`delete from ${checkpoints} where ${rows}`
    yield* sql`delete from ${graphs} where ${rows}`
  }).pipe(sql.withTransaction)

/** Runs per statement. */
const purgedAtOnce = 500

interface PurgedRuns {
  readonly gone: ReadonlyArray<RunId>
  /** Files of kept runs that no row names any more. */
  readonly paths: ReadonlyArray<string>
}

/** Removes the runs of a batch. The `kept` ones lose their graphs and entities: loading one fails with `ArtifactMissing`. */
const purgeRuns = (sql: SqlClient, batch: BatchId, kept: ReadonlySet<string>): Effect.Effect<PurgedRuns, SqlError> =>
  Effect.gen(function* () {
    const tables = runTables(sql)
    const found = yield* sql<{ readonly run_id: string }>`select run_id from ${tables.runs} where batch_id = ${batch} order by run_id`
    const ids = found.map(({ run_id }) => run_id)
    const [shown, gone] = [ids.filter((id) => kept.has(id)), ids.filter((id) => !kept.has(id))]
    yield* Effect.forEach(
      Arr.chunksOf(gone, purgedAtOnce),
      (some) =>
        Effect.forEach(
          [tables.answers, tables.graphs, tables.artifacts, tables.checkpoints, tables.runs],
          (table) => sql`delete from ${table} where ${sql.in("run_id", some)}`,
          { discard: true },
        ).pipe(sql.withTransaction),
      { discard: true },
    )
    const deleted = yield* Effect.forEach(
      Arr.chunksOf(shown, purgedAtOnce),
      (some) => sql<{ readonly content_path: string; readonly filed: number | boolean }>`delete from ${tables.artifacts}
        where ${sql.in("run_id", some)} and (artifact_key like 'batch%' or artifact_key like 'entity%')
        returning content_path, content is null and packed is null as filed`,
    )
    const paths = deleted.flat().flatMap(({ content_path, filed }) => (filed ? [content_path] : []))
    return { gone: gone.map((id) => RunId.make(id)), paths }
  })

// Group commit: the writes that many fibers submit at the same time are one transaction. While one is in flight, the others collect for
// the next. A fiber that is alone does not wait.

/** In milliseconds. A write that arrives within a pause extends the wait by another pause: 0.3 commits per document instead of 6.4. */
const longest = 500
const pause = 20

/** Waits for this share of the active fibers. 2000 documents, 64 concurrently: 77 to 81 commits; with a share of 0.5, 108 to 113. */
const enough = 0.75

interface Waiting<Item, A, E> {
  readonly item: Item
  readonly done: Deferred.Deferred<A, E>
}

/** `write` returns the results in order. When it fails for several items, each is written alone, so that one cannot fail the others. */
const gathered = <Item, A, E>(
  limit: number,
  /** How many fibers are active and may submit soon: the first waits until most of them have, or none does within a pause. */
  expected: () => number,
  write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, E>,
  /** Whether the error does not depend on the items, so that each alone would fail the same way. */
  isOfAll: (error: E) => boolean,
): Effect.Effect<(item: Item) => Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Waiting<Item, A, E>>()

    const flush = (waiting: ReadonlyArray<Waiting<Item, A, E>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(write(waiting.map(({ item }) => item))), (exit) => {
        if (Exit.isFailure(exit) && waiting.length > 1 && !exit.cause.reasons.some((one) => Cause.isFailReason(one) && isOfAll(one.error)))
          return Effect.forEach(waiting, (one) => flush([one]), { discard: true })
        return Effect.sync(() => {
          for (const [index, { done }] of waiting.entries()) {
            const own: Exit.Exit<A, E> | undefined = Exit.isSuccess(exit) ? exit.value[index] : Exit.failCause(exit.cause)
            Deferred.doneUnsafe(done, own ?? Exit.die(new Error("a write returned no result")))
          }
        })
      })

    const writeWith = (first: Waiting<Item, A, E>) =>
      Effect.gen(function* () {
        // Yields once, so that all writes that are ready in this turn join the batch.
        yield* Effect.yieldNow
        for (let waited = 0; waited < longest && 1 + Queue.sizeUnsafe(queue) < Math.min(limit, expected() * enough); waited += pause) {
          const before = Queue.sizeUnsafe(queue)
          yield* Effect.sleep(pause)
          if (Queue.sizeUnsafe(queue) === before) break
        }
        const others = Queue.sizeUnsafe(queue) === 0 ? [] : yield* Queue.takeBetween(queue, 1, limit - 1)
        yield* Effect.uninterruptible(flush([first, ...others]))
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => Deferred.doneUnsafe(first.done, Exit.interrupt()))))

    const next = Effect.flatMap(Queue.take(queue), writeWith)
    // A fiber that submits after the shutdown must not wait forever.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        for (const { done } of yield* Queue.clear(queue)) Deferred.doneUnsafe(done, Exit.interrupt())
        yield* Queue.shutdown(queue)
      }),
    )
    yield* Effect.forkScoped(Effect.forever(next))

    return (item) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<A, E>()
        return Queue.offerUnsafe(queue, { item, done }) ? Deferred.await(done) : Effect.interrupt
      })
  })
