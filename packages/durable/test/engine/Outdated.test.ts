/** Two engines over one store, without locks: what one remembers may be what the other has left behind. */
import { Event, Machine, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as MemoryStore from "../../src/MemoryStore.ts"
import { makeKit } from "../../src/testing/engine/Rig.ts"

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
