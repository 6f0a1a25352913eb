/** Worker processes killed with SIGKILL under load. `DETENT_CRASH_SEED` makes other choices. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { eventsPerLife, type Killed, killRepeatedly } from "./Killing.ts"

const seed = Number(process.env["DETENT_CRASH_SEED"] ?? 1)

const check = (killed: Killed) => {
  expect(killed.problems).toEqual([])
  // Not that a run in which nothing happened is taken for a proof.
  expect(killed.accepted).toBeGreaterThan(killed.kills * eventsPerLife)
  expect(killed.fired).toBeGreaterThan(killed.kills / 2)
  expect(killed.commands).toBeGreaterThan(0)
}

/** The tests, with the number of kills on each store. */
export const killedUnderLoad = ({ sqlite, postgres }: { readonly sqlite: number; readonly postgres: number }) =>
  describe("processes killed with -9 under load", () => {
    it.live(
      `${sqlite} times on SQLite: every accepted event is journaled once and in order, every timer fired once, memory equals replay`,
      () =>
        Effect.gen(function* () {
          const filename = yield* freshFile
          check(yield* Effect.promise(() => killRepeatedly({ _tag: "Sqlite", filename }, sqlite, seed)))
        }),
    )

    it.live(
      `${postgres} times on PostgreSQL: every accepted event is journaled once and in order, every timer fired once, memory equals replay`,
      () =>
        Effect.gen(function* () {
          const url = yield* freshDatabase
          check(yield* Effect.promise(() => killRepeatedly({ _tag: "Postgres", url }, postgres, seed)))
        }),
    )
  })
