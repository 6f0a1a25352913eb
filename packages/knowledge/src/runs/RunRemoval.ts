/** How runs lose what they have stored: a damaged graph, so that it is extracted again, and what is older than its retention. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { type BatchId, RunId } from "../storage/Identity.ts"
import { runTables } from "./RunTables.ts"

/** As if the run had been taken up and had failed: the version counts both changes. Only who finds it succeeded drops anything. */
export const reopenRun = (sql: SqlClient, run: RunId, graph: string, why: string, now: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { runs, checkpoints, graphs } = runTables(sql)
    const reopened = yield* sql`update ${runs}
      set status = 'failed', status_version = status_version + 2, completed_at = ${now}, error_message = ${why}
      where run_id = ${run} and status = 'succeeded' returning run_id`
    if (reopened.length === 0) return
    const rows = sql`run_id = ${run} and 'batch_' || batch_index || '.nt' = ${graph}`
    yield* sql`delete from ${checkpoints} where ${rows}`
    yield* sql`delete from ${graphs} where ${rows}`
  }).pipe(sql.withTransaction)

/** Runs of one statement. */
const purgedAtOnce = 500

export interface PurgedRuns {
  readonly gone: ReadonlyArray<RunId>
  /** Files of runs that are kept, which no row names any more. */
  readonly paths: ReadonlyArray<string>
}

/** Removes runs. Those that are kept lose their graphs and entities: what is missing there is noticed when it is read. */
export const purgeRuns = (sql: SqlClient, batch: BatchId, kept: ReadonlySet<string>): Effect.Effect<PurgedRuns, SqlError> =>
  Effect.gen(function* () {
    const tables = runTables(sql)
    const found = yield* sql<{ readonly run_id: string }>`select run_id from ${tables.runs} where batch_id = ${batch} order by run_id`
    const [gone, shown] = Arr.partition(
      found.map(({ run_id }) => run_id),
      (id) => (kept.has(id) ? Result.succeed(id) : Result.fail(id)),
    )
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
