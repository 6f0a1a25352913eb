/** Two engines over one store, without locks: what one remembers may be what the other has left behind. */
import { Event, Machine, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Engine } from "../../src/Engine.ts"
import { makeKit } from "../../testing/engine/Rig.ts"

const S = State({ Idle: {}, Busy: { count: Schema.Int } })
const E = Event({ Start: {}, Add: {}, Never: {} })
const machine = Machine.make({ name: "shared", state: S, event: E, initial: S.Idle() })
  .on(S.Idle, E.Start, S.Busy, () => S.Busy({ count: 0 }))
  .on(S.Busy, E.Add, S.Busy, ({ state }) => S.Busy({ count: state.count + 1 }))

makeKit("outdated memory", MemoryStore.layer, {}).test("83 an event is not refused for a state that another node has left", ({ open }) =>
  Effect.gen(function* () {
    const one = yield* open()
    const two = yield* open()
    const here = yield* one.engine.start(machine, "x")
    const there = yield* two.engine.ensure(machine, "x")
    expect((yield* there.state)._tag).toBe("Idle")
    yield* here.send(E.Start())
    yield* there.send(E.Add())
    expect(yield* there.state).toEqual(S.Busy({ count: 1 }))
    expect(yield* Effect.flip(there.send(E.Never()))).toMatchObject({ _tag: "InvalidTransition", state: "Busy" })
  }),
)

it.effect("84 a store in memory reports at once what another engine wrote", () =>
  Effect.gen(function* () {
    const store = Layer.succeedContext(yield* MemoryStore.make)
    const open = Effect.map(Layer.build(Layer.fresh(Engine.layer()).pipe(Layer.provide(store))), (context) => Context.get(context, Engine))
    const here = yield* (yield* open).start(machine, "x")
    const there = yield* (yield* open).ensure(machine, "x")
    const counted = yield* Effect.forkChild(there.waitFor((state) => state._tag === "Busy" && state.count === 2))
    const seen: Array<string> = []
    const noted = Stream.tap(there.changes, ({ _tag }) => Effect.sync(() => seen.push(_tag)))
    const changes = yield* Effect.forkChild(Stream.runCollect(Stream.take(noted, 4)))
    const own = yield* Effect.forkChild(here.waitFor((state) => state._tag === "Busy"))
    while (seen.length === 0) yield* Effect.yieldNow
    yield* here.send(E.Start())
    expect(yield* there.state).toEqual(S.Busy({ count: 0 }))
    yield* here.send(E.Add())
    yield* here.send(E.Add())
    expect(yield* Fiber.join(counted)).toEqual(S.Busy({ count: 2 }))
    expect(yield* Fiber.join(own)).toEqual(S.Busy({ count: 0 }))
    expect(yield* Fiber.join(changes)).toEqual([S.Idle(), S.Busy({ count: 0 }), S.Busy({ count: 1 }), S.Busy({ count: 2 })])
  }),
)
