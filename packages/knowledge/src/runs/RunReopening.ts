/** A run whose graph is damaged or gone becomes one that failed: so that part, and no other, is extracted again. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { RunId } from "../storage/Identity.ts"

/** As if the run had been taken up and had failed: the version counts both changes. Only who finds it succeeded drops anything. */
export const reopenRun = (sql: SqlClient, run: RunId, graph: string, why: string, now: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const reopened = yield* sql`update extraction_runs
      set status = 'failed', status_version = status_version + 2, completed_at = ${now}, error_message = ${why}
      where run_id = ${run} and status = 'succeeded' returning run_id`
    if (reopened.length === 0) return
    const rows = sql`run_id = ${run} and 'batch_' || batch_index || '.nt' = ${graph}`
    yield* sql`delete from run_checkpoints where ${rows}`
    yield* sql`delete from batch_artifacts where ${rows}`
  }).pipe(sql.withTransaction)
