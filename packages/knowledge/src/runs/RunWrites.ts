/** What changes runs in the database: the changes of many runs as the statements of one transaction. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { ExtractionRun } from "./Run.ts"
import { type ArtifactRow, type CheckpointRow, rowOfRun } from "./RunRows.ts"
import { runTables } from "./RunTables.ts"

/** What one step of a run leaves behind, all or nothing. */
export interface RunStep {
  readonly artifacts: ReadonlyArray<ArtifactRow>
  readonly checkpoint: CheckpointRow
  readonly graph: { readonly path: string; readonly hash: string; readonly chunks: number }
  /** The chunks whose stored answers of a model the checkpoint covers, first and last. */
  readonly answered?: { readonly first: number; readonly last: number }
}

/** The new content of a run, written only if the run is still at the given version. */
export interface NewStatus {
  readonly run: ExtractionRun
  readonly expected: number
}

export type RunWrite =
  | { readonly _tag: "Create"; readonly run: ExtractionRun }
  | { readonly _tag: "Status"; readonly status: NewStatus }
  | { readonly _tag: "Step"; readonly step: RunStep }
  /** The last step of a run, and its end with it. */
  | { readonly _tag: "End"; readonly step: RunStep; readonly status: NewStatus }
  | { readonly _tag: "Artifact"; readonly artifact: ArtifactRow }

/** True for every write that was made; false for a run that was there and not queued, and a status that was changed meanwhile. */
export const runWrites = (sql: SqlClient) => {
  const tables = runTables(sql)
  const insertRuns = (runs: ReadonlyArray<ExtractionRun>) =>
    runs.length === 0
      ? Effect.succeed([])
      : sql<{
          readonly run_id: string
        }>`insert into ${tables.runs} as r ${sql.insert(runs.map(rowOfRun))} on conflict (run_id) do update
          set status = excluded.status, status_version = excluded.status_version, started_at = excluded.started_at
          where r.status = 'queued' returning run_id`

  const upsertArtifacts = (rows: ReadonlyArray<ArtifactRow>) =>
    rows.length === 0
      ? Effect.void
      : sql`insert into ${tables.artifacts} ${sql.insert(rows.map((row) => ({ ...row })))} on conflict (run_id, artifact_key) do update
          set content_path = excluded.content_path, content_hash = excluded.content_hash, content = excluded.content,
            packed = excluded.packed`

  /** The first checkpoint of a batch of chunks stays. Gives the steps that are first: only their artifacts are what theirs name. */
  const insertCheckpoints = (steps: ReadonlyMap<string, RunStep>) =>
    steps.size === 0
      ? Effect.succeed([])
      : Effect.map(
          sql<{ readonly run_id: string; readonly batch_index: number | bigint }>`insert into ${tables.checkpoints} ${sql.insert(
            [...steps.values()].map(({ checkpoint }) => ({ ...checkpoint })),
          )} on conflict (run_id, batch_index) do nothing returning run_id, batch_index`,
          (rows) => rows.flatMap((row) => steps.get(stepKey(row)) ?? []),
        )

  const insertGraphs = (steps: ReadonlyArray<RunStep>) =>
    steps.length === 0
      ? Effect.void
      : sql`insert into ${tables.graphs} ${sql.insert(
          steps.map(({ checkpoint, graph }) => ({
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
        input_hash = ${row.input_hash}, title = ${row.title}, language = ${row.language}, unread = ${row.unread}, started_at = ${row.started_at}, completed_at = ${row.completed_at}, error_message = ${row.error_message}
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

/** A statement takes each key once. What is brought twice at the same time is the later one, in all tables. */
const byKey = <A>(all: ReadonlyArray<A>, key: (one: A) => string): ReadonlyMap<string, A> => new Map(all.map((one) => [key(one), one]))

const stepKey = ({ run_id, batch_index }: { readonly run_id: string; readonly batch_index: number | bigint }) => `${run_id}\n${batch_index}`
