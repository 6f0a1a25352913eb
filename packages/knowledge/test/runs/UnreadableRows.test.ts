import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { Extractions } from "../../src/runs/Extractions.ts"
import { opened, passing } from "./Sea.ts"

interface Damage {
  readonly table: string
  readonly damage: Effect.Effect<unknown, unknown>
  readonly read: Effect.Effect<unknown, unknown>
}

describe("a row of a run that makes no sense", () => {
  it.live("is reported with its table, its run, and the next step", () =>
    Effect.gen(function* () {
      const { layer, request } = yield* opened(passing([]), { "log.txt": "Ship1 passed Ship2." })
      yield* Effect.gen(function* () {
        const extractions = yield* Extractions
        const sql = yield* SqlClient
        const { runId } = yield* extractions.run(request("log.txt"))
        const [get, lines, registry] = [extractions.get(runId), Stream.runCollect(extractions.lines(runId)), extractions.registry(runId)]
        const damages: ReadonlyArray<Damage> = [
          { table: "extraction_runs", damage: sql`update extraction_runs set status = 'nonsense'`, read: get },
          { table: "extraction_runs", damage: sql`update extraction_runs set status = 'failed', config_json = '{'`, read: get },
          { table: "run_artifacts", damage: sql`update run_artifacts set content_hash = 'zz'`, read: lines },
          { table: "run_checkpoints", damage: sql`update run_checkpoints set result_json = '{nope'`, read: registry },
        ]
        for (const { table, damage, read } of damages) {
          yield* damage
          const exit = yield* Effect.exit(read)
          const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          expect(defect).toMatchObject({ _tag: "RunRowUnreadable", table, run: runId })
          expect(String(defect)).toContain("restore it from a backup, or extract the document in a new batch")
        }
      }).pipe(Effect.provide(layer))
    }),
  )
})
