/** The table of items whose reading exceeded the limit: how often, which limit, and why. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { LimitNotes } from "../reading/ItemReader.ts"
import { AttemptsRow, LimitRow } from "./Rows.ts"
import type { UploadStore } from "./UploadStore.ts"

/** The records of items in a range, both ends included. */
export const limitNotes = (
  store: UploadStore,
  batch: number,
  from: number,
  to: number,
): Effect.Effect<LimitNotes<PersistenceFailed>, PersistenceFailed> => {
  const { sql, limits } = store.dialect
  const found = sql`
    select item_index, attempts, task_limit, problem from ${limits}
    where batch = ${batch} and item_index >= ${from} and item_index <= ${to}`
  return Effect.map(store.rows("findLimits", LimitRow, found), (rows) => {
    const known = new Map(rows.map((row) => [row.item_index, row]))
    return {
      find: (index, limit) => {
        const row = known.get(index)
        return row?.task_limit === limit ? { attempts: row.attempts, problem: row.problem } : undefined
      },
      add: (index, limit, problem) => {
        // With another limit, counting starts again at 1.
        const added = sql`
          insert into ${limits} as l (batch, item_index, attempts, task_limit, problem)
          values (${batch}, ${index}, 1, ${limit}, ${problem})
          on conflict (batch, item_index) do update set
            attempts = case when l.task_limit = excluded.task_limit then l.attempts + 1 else 1 end,
            task_limit = excluded.task_limit, problem = excluded.problem
          returning attempts`
        return Effect.map(store.rows("addLimit", AttemptsRow, added), ([row]) => row?.attempts ?? 1)
      },
    }
  })
}
