/** An event a machine sends itself is owed from the moment its sender is stored, whatever happens to the process. */
import { Event, Machine, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { makeKit } from "../../testing/engine/Rig.ts"

const S = State({ Idle: {}, Counting: { count: Schema.Int } })
const E = Event({ Go: {}, Add: {} })
const base = Machine.make({ name: "raising", state: S, event: E, initial: S.Idle() })
  .on(S.Counting, E.Add, S.Counting, ({ state }) => S.Counting({ count: state.count + 1 }))
  // A hook that is an Effect keeps what was sent from sharing the commit of its sender.
  .enter(S.Counting, () => Effect.void)

const plain = base.on(S.Idle, E.Go, S.Counting, ({ self }) => {
  self.send(E.Add())
  self.send(E.Add())
  return S.Counting({ count: 0 })
})

const effectful = base.on(S.Idle, E.Go, S.Counting, ({ self }) =>
  Effect.sync(() => {
    self.send(E.Add())
    self.send(E.Add())
    return S.Counting({ count: 0 })
  }),
)

const { test } = makeKit("raised events", MemoryStore.layer, {})

for (const [kind, machine] of [
  ["a decision", plain],
  ["an effectful decision", effectful],
] as const) {
  test(`27 what ${kind} sent is handled once, when the process dies before the first or the second of it`, ({ open, quiet }) =>
    Effect.gen(function* () {
      for (const lastCommit of [2, 3]) {
        const id = `after-${lastCommit}`
        const one = yield* open()
        const instance = yield* one.engine.start(machine, id)
        let commits = 0
        one.probe.onCommit = (_, commit) => (++commits >= lastCommit ? Effect.andThen(one.crash, Effect.never) : commit)
        yield* instance.send(E.Go())
        yield* quiet
        const two = yield* open()
        const again = yield* two.engine.ensure(machine, id)
        yield* quiet
        expect(yield* again.state).toEqual(S.Counting({ count: 2 }))
        expect(yield* again.lastSequence).toBe(3)
      }
    }))
}

test("46 what entering the first state sent is handled once, when the process dies before it", ({ open, quiet }) =>
  Effect.gen(function* () {
    const machine = Machine.make({ name: "eager", state: S, event: E, initial: S.Counting({ count: 0 }) })
      .enter(S.Counting, ({ self }) => self.send(E.Add()))
      .on(S.Counting, E.Add, S.Counting, ({ state }) => S.Counting({ count: state.count + 1 }))
    const one = yield* open()
    let commits = 0
    one.probe.onCommit = (_, commit) => (++commits >= 2 ? Effect.andThen(one.crash, Effect.never) : commit)
    yield* one.engine.start(machine, "x")
    yield* quiet
    const again = yield* (yield* open()).engine.ensure(machine, "x")
    yield* quiet
    expect(yield* again.state).toEqual(S.Counting({ count: 1 }))
  }))

test("27 what enter and exit sent, and the event of a group that is completed, are handled once, when the process dies before them", ({
  open,
  quiet,
}) =>
  Effect.gen(function* () {
    const G = State({ Idle: {}, Work: State.group({ Busy: { seen: Schema.Array(Schema.String) } }) })
    const V = Event({ Go: {}, Left: {}, Entered: {}, Done: {}, Decided: {} })
    const machine = Machine.make({ name: "hooked", state: G, event: V, initial: G.Idle() })
      .on(G.Idle, V.Go, G.Busy, ({ self }) => {
        self.send(V.Decided())
        return G.Busy({ seen: [] })
      })
      .exit(G.Idle, ({ self }) => self.send(V.Left()))
      .enter(G.Busy, ({ self }) => {
        self.send(V.Entered())
        // A hook that is an Effect keeps what was sent from sharing the commit of its sender.
        return Effect.void
      })
      .done(G.Work, G.Busy, V.Done())
      .on(G.Busy, [V.Left, V.Entered, V.Done, V.Decided], G.Busy, ({ state, event }) => G.Busy({ seen: [...state.seen, event._tag] }))
    for (const lastCommit of [2, 3]) {
      const id = `hooked-${lastCommit}`
      const one = yield* open()
      const instance = yield* one.engine.start(machine, id)
      let commits = 0
      one.probe.onCommit = (_, commit) => (++commits >= lastCommit ? Effect.andThen(one.crash, Effect.never) : commit)
      yield* instance.send(V.Go())
      yield* quiet
      const again = yield* (yield* open()).engine.ensure(machine, id)
      yield* quiet
      expect(yield* again.state).toEqual(G.Busy({ seen: ["Decided", "Left", "Entered", "Done"] }))
      expect(yield* again.lastSequence).toBe(5)
    }
  }))

test("ids that the engine uses itself are refused", ({ open }) =>
  Effect.gen(function* () {
    const { engine } = yield* open()
    const instance = yield* engine.start(plain, "x")
    expect((yield* Effect.flip(instance.send(E.Go(), { id: "@raised/1/0" }))).message).toMatch(/start with @ are reserved for the engine/)
  }))
