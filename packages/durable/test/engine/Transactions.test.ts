/** What an instance does is not part of a transaction of the caller's, and says so at once. Reading is. */
import { Event, Machine, State } from "@detent/machine"
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import { postgresLayer } from "../../../store/test/support/Postgres.ts"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { Engine } from "../../src/Engine.ts"

const S = State({ Open: { n: Schema.Number }, Closed: {} })
const E = Event({ Add: {}, Close: {}, Count: Event.reply({}, Schema.Number) })
const Note = Machine.make({ name: "note", state: S, event: E, initial: S.Open({ n: 0 }) })
  .on(S.Open, E.Add, S.Open, ({ state }) => S.Open({ n: state.n + 1 }))
  .on(S.Open, E.Close, S.Closed)

const stores = { SQLite: sqliteLayer, PostgreSQL: postgresLayer }

describe.each(Object.entries(stores))("%s: inside a transaction", (_, store) => {
  layer(Engine.layer().pipe(Layer.provideMerge(store)))((it) => {
    it.effect("what would not be a part of it fails at once, with the next step, and nothing is stored", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const sql = yield* SqlClient
        const note = yield* engine.start(Note, "n-1")
        const calls = {
          start: engine.start(Note, "n-2"),
          ensure: engine.ensure(Note, "n-2"),
          restore: engine.restore("n-1", Note),
          restoreAll: engine.restoreAll(Note),
          fork: engine.fork(Note, "n-1", 0, "n-2"),
          repair: engine.repair(Note, "n-1", 1, E.Add()),
          send: note.send(E.Add()),
          call: note.call(E.Add()),
          ask: note.ask(E.Count()),
          waitFor: note.waitFor(() => true),
          awaitFinal: note.awaitFinal,
          changes: Stream.runCollect(note.changes),
          saveSnapshot: note.saveSnapshot,
        }
        for (const [name, call] of Object.entries(calls)) {
          const error = yield* Effect.flip(
            sql.withTransaction(call as Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>),
          )
          expect([name, error._tag]).toEqual([name, "PersistenceFailed"])
          expect(error.message).toMatch(/not part of your transaction; call it after the commit, or use startAll/)
        }
        expect([...(yield* engine.count(Note))]).toEqual([["Open", 1]])
        expect(yield* note.lastSequence).toBe(0)
        yield* note.send(E.Add())
        expect(yield* note.state).toEqual(S.Open({ n: 1 }))
      }),
    )

    it.effect("reading works, and sees what the transaction has written", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const sql = yield* SqlClient
        const live = yield* engine.start(Note, "r-1")
        yield* live.send(E.Add())
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* engine.startAll(Note, [{ id: "r-2", input: S.Open({ n: 5 }) }])
            const fresh = yield* Effect.flatMap(engine.get(Note, "r-2"), Effect.fromOption)
            expect(yield* fresh.state).toEqual(S.Open({ n: 5 }))
            expect(yield* live.state).toEqual(S.Open({ n: 1 }))
            expect(yield* live.stored).toMatchObject({ sequence: 1, status: "running" })
            expect(yield* Stream.runCollect(live.history)).toHaveLength(1)
          }),
        )
      }),
    )

    it.effect("a machine that was first used inside one continues without it", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const sql = yield* SqlClient
        const First = Machine.make({ name: "first", state: S, event: E, initial: S.Open({ n: 0 }) })
          .on(S.Open, E.Add, S.Open, ({ state }) =>
            Effect.gen(function* () {
              const inside = yield* Effect.serviceOption(sql.transactionService)
              return S.Open({ n: state.n + (inside._tag === "None" ? 1 : 1000) })
            }),
          )
          .on(S.Open, E.Close, S.Closed)
        yield* sql.withTransaction(engine.startAll(First, [{ id: "f", input: S.Open({ n: 0 }) }]))
        const first = yield* Effect.flatMap(engine.get(First, "f"), Effect.fromOption)
        yield* first.send(E.Add())
        expect(yield* first.state).toEqual(S.Open({ n: 1 }))
      }),
    )
  })
})
