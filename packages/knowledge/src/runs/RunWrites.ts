/** Writes to the tables of runs: the changes of many runs as the statements of one transaction. */

import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { type BatchId, RunId } from "../storage/Identity.ts"
import type { ExtractionRun } from "./Run.ts"
import { type ArtifactRow, type CheckpointRow, rowOfRun } from "./RunRows.ts"
import { runTables } from "./RunTables.ts"

/** The rows of one step of a run, which one transaction stores. */
export interface RunStep {
  readonly artifacts: ReadonlyArray<ArtifactRow>
  readonly checkpoint: CheckpointRow
  readonly graph: { readonly path: string; readonly hash: string; readonly chunks: number }
  /** The first and last chunk whose stored model answers the checkpoint covers. */
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
  /** The last step of a run together with its end. */
  | { readonly _tag: "End"; readonly step: RunStep; readonly status: NewStatus }
  | { readonly _tag: "Artifact"; readonly artifact: ArtifactRow }

/** Returns true for every write that took effect; false for an existing run that was not queued, and for a status conflict. */
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

  /** Keeps the first checkpoint of a step. Returns the steps whose checkpoint was inserted: only their artifacts are stored. */
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

/** A statement may have each key once. Of two rows with the same key, the later one wins, in all tables. */
const byKey = <A>(all: ReadonlyArray<A>, key: (one: A) => string): ReadonlyMap<string, A> => new Map(all.map((one) => [key(one), one]))

const stepKey = ({ run_id, batch_index }: { readonly run_id: string; readonly batch_index: number | bigint }) => `${run_id}\n${batch_index}`

// Removing rows of runs: a damaged graph, so that it is extracted again, and rows older than their retention.

/** As if the run had been resumed and had failed: the version counts both changes. Removes nothing unless the run is `succeeded`. */
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

/** Runs per statement. */
const purgedAtOnce = 500

export interface PurgedRuns {
  readonly gone: ReadonlyArray<RunId>
  /** Files of kept runs that no row names any more. */
  readonly paths: ReadonlyArray<string>
}

/** Removes the runs of a batch. The `kept` ones lose their graphs and entities: loading one fails with `ArtifactMissing`. */
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
export const gathered = <Item, A, E>(
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
