/** The listing is brought up to date in steps of bounded size: none keeps commits, or the thread on SQLite, waiting for long. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Journal } from "../src/contract/Journal.ts"
import { foldMoves as foldOnPostgres, manyInstances } from "../src/postgres/foldMoves.ts"
import { foldInstances } from "../src/sql/Listing.ts"
import { foldMoves as foldOnSqlite } from "../src/sqlite/foldMoves.ts"
import { makeTransact } from "../src/sqlite/transaction.ts"
import { commit, freshKey } from "../testing/samples.ts"
import { postgresLayer } from "./support/Postgres.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

const perFlush = 500

/** Each instance is listed, and has changed since. */
const moved = Effect.fnUntraced(function* (total: number) {
  const [journal, { machine }] = [yield* Journal, yield* freshKey]
  const keys = Array.from({ length: total }, (_, number) => ({ machine, id: `i-${number}` }))
  const commitAll = (expected: number) =>
    Effect.forEach(Array.from({ length: total / perFlush }), (_, flush) =>
      journal.commit(keys.slice(flush * perFlush, (flush + 1) * perFlush).map((key) => commit(key, expected))),
    )
  yield* commitAll(-1)
  assert.strictEqual((yield* journal.count(machine)).get("Moving"), total)
  yield* commitAll(0)
  return machine
})

const foldsInSteps = (step: (sql: SqlClient) => Effect.Effect<boolean, unknown>, limit: number, moves: string, listing: string) =>
  Effect.gen(function* () {
    const total = 2 * limit
    const [sql, journal, machine] = [yield* SqlClient, yield* Journal, yield* moved(total)]
    const upToDate = Effect.map(
      sql.unsafe<{ readonly number: number | string }>(`select count(*) as number from ${listing} where updated_at = 1000`, []),
      ([row]) => Number(row?.number),
    )
    let before = yield* upToDate
    for (let steps = 1; ; steps++) {
      const mayBeMore = yield* step(sql)
      const after = yield* upToDate
      assert.isAtMost(after - before, limit + perFlush)
      before = after
      if (mayBeMore) continue
      assert.isAtLeast(steps, 3)
      break
    }
    assert.strictEqual(before, total)
    assert.deepStrictEqual(yield* sql.unsafe(`select * from ${moves}`, []), [])
    assert.strictEqual((yield* journal.count(machine)).get("Moving"), total)
  })

// The test clock stands still: the loop by which the store itself brings the listing up to date takes no step.
describe("the listing", () => {
  it.effect("on SQLite is brought up to date in steps of bounded size", () =>
    Effect.provide(
      foldsInSteps((sql) => foldOnSqlite(sql, makeTransact(sql)), foldInstances, "detent_moves", "detent_listing"),
      sqliteLayer,
    ),
  )

  it.effect("on PostgreSQL is brought up to date in steps of bounded size", () =>
    Effect.provide(
      foldsInSteps((sql) => foldOnPostgres(sql, "detent"), 2 * manyInstances, "detent.moves", "detent.listing"),
      postgresLayer,
    ),
  )
})
