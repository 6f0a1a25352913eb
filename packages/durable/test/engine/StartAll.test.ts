/** Many instances started in one transaction with rows of the user's own. */
import { Event, Machine, State } from "@detent/machine"
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { postgresLayer } from "../../../store/test/support/Postgres.ts"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { Engine } from "../../src/Engine.ts"

const S = State({ Kept: {}, Working: {} })
const E = Event({ Work: {} })
const Note = Machine.make({ name: "note", state: S, event: E, initial: S.Kept() })
  .on(S.Kept, E.Work, S.Working)
  .spawn(S.Working, () => Effect.never)

const notes = (from: number, count: number) => Array.from({ length: count }, (_, index) => ({ id: `n-${from + index}`, input: S.Kept() }))

const stores = { SQLite: sqliteLayer, PostgreSQL: postgresLayer }

describe.each(Object.entries(stores))("%s: starting many inside a transaction", (_, store) => {
  layer(Engine.layer().pipe(Layer.provideMerge(store)))((it) => {
    const counted = Effect.gen(function* () {
      const sql = yield* SqlClient
      const [row] = yield* sql<{ readonly count: number | bigint }>`select count(*) as count from own_rows`
      return { rows: Number(row?.count), instances: (yield* (yield* Engine).count(Note)).get("Kept") ?? 0 }
    })

    it.effect("stores them with rows of your own, or neither", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const sql = yield* SqlClient
        yield* sql`create table own_rows (id text not null)`
        const both = (from: number, end: Effect.Effect<void, string>) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`insert into own_rows (id) values (${`n-${from}`})`
              const started = yield* engine.startAll(Note, notes(from, 3))
              expect(started.every(Result.isSuccess)).toBe(true)
              yield* end
            }),
          )
        yield* both(0, Effect.void)
        expect(yield* counted).toEqual({ rows: 1, instances: 3 })
        expect(yield* Effect.flip(both(10, Effect.fail("changed my mind")))).toBe("changed my mind")
        expect(yield* counted).toEqual({ rows: 1, instances: 3 })
        const again = yield* sql.withTransaction(engine.startAll(Note, notes(2, 2)))
        expect(again.map((one) => one._tag)).toEqual(["Failure", "Success"])
        expect(yield* counted).toEqual({ rows: 1, instances: 4 })
      }),
    )

    it.effect("refuses one that would have to begin its work before the transaction is over", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const sql = yield* SqlClient
        const [one] = yield* sql.withTransaction(engine.startAll(Note, [{ id: "w-1", input: S.Working() }]))
        expect(one).toMatchObject({ _tag: "Failure", failure: { _tag: "PersistenceFailed", id: "w-1" } })
        expect(Result.isFailure(one as never) && String((one as never as { failure: Error }).failure.message)).toContain(
          "inside a transaction",
        )
        const [outside] = yield* engine.startAll(Note, [{ id: "w-1", input: S.Working() }])
        expect(outside).toMatchObject({ _tag: "Success" })
        expect(yield* engine.live).toBe(1)
      }),
    )
  })
})
