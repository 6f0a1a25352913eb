/** Who caused what: given by callers, or known from the event. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { Journal, MemoryStore } from "@detent/store"
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { postgresLayer } from "../../../store/test/support/Postgres.ts"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { Engine } from "../../src/Engine.ts"
import { starterOf } from "../../src/internal.ts"
import { actorOfText, CurrentActor } from "../../src/machine/Actor.ts"

const S = State({ Open: { notes: Schema.Int }, Called: {}, Late: {} })
const E = Event({ Note: {}, Call: {}, Answered: {} })
const effects = Slot.Effects({ call: {} })
const Desk = Machine.make({ name: "desk", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Note, S.Open, ({ state }) => S.Open({ notes: state.notes + 1 }))
  .on(S.Open, E.Call, S.Called, ({ effects }) => {
    effects.call({})
    return S.Called()
  })
  .on(S.Called, E.Answered, S.Late)
  .timeout(S.Late, "10 millis", S.Open, () => S.Open({ notes: 0 }))
  .commands({ call: { onSuccess: () => E.Answered() } })
  .build({ call: () => Effect.void })

const stores = { memory: MemoryStore.layer, SQLite: sqliteLayer, PostgreSQL: postgresLayer }

describe.each(Object.entries(stores))("%s: who caused an event", (_, store) => {
  layer(Engine.layer().pipe(Layer.provideMerge(store)), { excludeTestServices: true })((it) => {
    it.effect("is what the caller said, also for what starts the instance, and else known from the event", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const journal = yield* Journal
        const ada = { kind: "user", name: "ada" } as const
        const desk = yield* Effect.provideService(engine.start(Desk, "d-1", { notes: 0 }), CurrentActor, ada)
        yield* desk.send(E.Note())
        yield* Effect.provideService(desk.send(E.Note(), { id: "n-1" }), CurrentActor, ada)
        yield* desk.send(E.Note(), { by: { kind: "token", name: "ci" } })
        yield* desk.send(E.Note(), { by: { kind: "user", name: `eve\n${"x".repeat(500)}` } })
        yield* desk.send(E.Call())
        yield* desk.waitFor(({ _tag }) => _tag === "Late")
        yield* desk.waitFor(({ _tag }) => _tag === "Open")
        const actors = (yield* Stream.runCollect(desk.history)).map(({ actor }) => actor)
        expect(actors.slice(0, 3)).toEqual([{ kind: "code", name: "" }, ada, { kind: "token", name: "ci" }])
        expect(actors[3]?.name).toHaveLength(200)
        expect(actors[3]?.name.startsWith("eve xxx")).toBe(true)
        expect(actors.slice(4).map(({ kind }) => kind)).toEqual(["code", "command", "timer"])
        const origin = Option.getOrThrow(yield* journal.open({ machine: "desk", id: "d-1" })).origin
        expect(actorOfText(starterOf(origin) ?? "")).toEqual(ada)
        // Recovery reads the same states.
        yield* engine.release(Desk, ["d-1"])
        expect((yield* desk.stored).state).toEqual(S.Open({ notes: 0 }))
      }),
    )

    it.effect("is not stored where the caller says nothing", () =>
      Effect.gen(function* () {
        const engine = yield* Engine
        const journal = yield* Journal
        const desk = yield* engine.start(Desk, "d-2", { notes: 0 })
        yield* desk.send(E.Note())
        const [event] = yield* journal.events({ machine: "desk", id: "d-2" }, 0, 1)
        expect(JSON.parse(event?.body ?? "")).toEqual({ v: 1, e: { _tag: "Note" } })
        const { origin } = Option.getOrThrow(yield* journal.open({ machine: "desk", id: "d-2" }))
        expect(starterOf(origin)).toBeUndefined()
      }),
    )
  })
})
