/** Events that a machine sends itself: owed from the moment their sender is stored, whatever happens to the process. */
import { Event, Machine, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Kit, Opened, Rig } from "./Rig.ts"

const S = State({ Idle: {}, Counting: { count: Schema.Int }, Locked: { count: Schema.Int }, Done: {} })
const E = Event({ Go: {}, Add: {}, Lock: {}, Unlock: {}, Refused: {}, Look: {}, Looked: {} })

const Raising = Machine.make({ name: "raising", state: S, event: E, initial: S.Idle() })
  .on(S.Idle, E.Go, S.Counting, ({ self }) => {
    self.send(E.Add())
    self.send(E.Add())
    return S.Counting({ count: 0 })
  })
  .reenter(S.Counting, E.Add, ({ state }) => S.Counting({ count: state.count + 1 }))
  .on(S.Idle, E.Refused, S.Counting, ({ self }) => {
    self.send(E.Unlock())
    return S.Counting({ count: 0 })
  })
  .on(S.Idle, E.Lock, S.Locked, ({ self }) => {
    self.send(E.Add())
    return S.Locked({ count: 0 })
  })
  .postpone(S.Locked, E.Add)
  .on(S.Locked, E.Unlock, S.Counting)
  .on(S.Counting, E.Look, stay, ({ self }) => {
    self.send(E.Looked())
    return stay
  })
  .on(S.Counting, E.Looked, stay)
  // A hook that is an Effect keeps what was sent from sharing the commit of its sender.
  .enter([S.Counting, S.Locked], () => Effect.void)

const Eager = Machine.make({ name: "eager", state: S, event: E, initial: S.Counting({ count: 0 }) })
  .enter(S.Counting, ({ self }) => self.send(E.Add()))
  .on(S.Counting, E.Add, S.Counting, ({ state }) => S.Counting({ count: state.count + 1 }))

const key = { machine: "raising", id: "r" }

/** The engine is killed instead of storing its commit of this number, counted from now. */
const crashAt = ({ probe, crash }: Opened, number: number) => {
  let commits = 0
  probe.onCommit = (_, commit) => (++commits >= number ? Effect.andThen(crash, Effect.never) : commit)
}

const tags = (rig: Rig) => Effect.map(rig.events(key), (events) => events.map(({ tag }) => tag))

export const raising = ({ describe, test }: Kit) =>
  describe("self-sent events", () => {
    for (const died of [1, 2]) {
      test(`27 a process that only registers the machine handles what a killed one owes, after ${died} of 3 commits`, (rig) =>
        Effect.gen(function* () {
          const one = yield* rig.open()
          const instance = yield* one.engine.start(Raising, "r")
          crashAt(one, died + 1)
          yield* Effect.forkChild(instance.send(E.Go()))
          yield* rig.eventually(tags(rig), (found) => found.length === died)
          const two = yield* rig.open()
          yield* two.engine.register(Raising)
          yield* rig.passUntil("1 second", tags(rig), (found) => found.length === 3)
          expect(yield* tags(rig)).toEqual(["Go", "Add", "Add"])
          yield* rig.eventually(rig.deadlines(key), (rows) => rows.length === 0)
        }))
    }

    test("27 a process that has the instance in memory handles what another one owes", (rig) =>
      Effect.gen(function* () {
        const remaining = yield* rig.open()
        yield* remaining.engine.start(Raising, "r")
        const killed = yield* rig.open()
        const instance = yield* killed.engine.ensure(Raising, "r")
        yield* instance.state
        crashAt(killed, 2)
        yield* Effect.forkChild(instance.send(E.Go()))
        yield* rig.eventually(tags(rig), (found) => found.length === 1)
        yield* rig.passUntil("1 second", tags(rig), (found) => found.length === 3)
        expect(yield* tags(rig)).toEqual(["Go", "Add", "Add"])
        yield* rig.eventually(rig.deadlines(key), (rows) => rows.length === 0)
      }))

    test("46 what entering the first state sent is handled without a caller", (rig) =>
      Effect.gen(function* () {
        const eager = { machine: "eager", id: "e" }
        const one = yield* rig.open()
        crashAt(one, 2)
        yield* one.engine.start(Eager, "e")
        const two = yield* rig.open()
        yield* two.engine.register(Eager)
        yield* rig.passUntil("1 second", rig.events(eager), (events) => events.length === 1)
        yield* rig.eventually(rig.deadlines(eager), (rows) => rows.length === 0)
      }))

    test("27 a fork handles what was owed at its sequence without a caller", (rig) =>
      Effect.gen(function* () {
        const forked = { machine: "raising", id: "fork" }
        const one = yield* rig.open()
        yield* (yield* one.engine.start(Raising, "r")).send(E.Go())
        yield* rig.eventually(tags(rig), (found) => found.length === 3)
        let forks = 0
        one.probe.onFork = (fork) => {
          forks++
          return Effect.tap(fork, () => one.crash)
        }
        yield* Effect.forkChild(one.engine.fork(Raising, "r", 1, "fork"))
        yield* rig.eventually(
          Effect.sync(() => forks),
          (count) => count === 1,
        )
        const two = yield* rig.open()
        yield* two.engine.register(Raising)
        yield* rig.passUntil("1 second", rig.events(forked), (events) => events.length === 3)
      }))

    test("27 a slow hook is not overtaken by another process, and the event is handled once", (rig) =>
      Effect.gen(function* () {
        const entered: Array<string> = []
        const hooked = Raising.enter(S.Counting, ({ state }) => {
          entered.push(`entered ${state.count}`)
          return Effect.andThen(
            Effect.sleep("3 seconds"),
            Effect.sync(() => entered.push(`after ${state.count}`)),
          )
        })
        const one = yield* rig.open()
        const two = yield* rig.open()
        yield* two.engine.register(hooked)
        const instance = yield* one.engine.start(hooked, "r")
        yield* Effect.forkChild(instance.send(E.Go()))
        yield* rig.passUntil("1 second", tags(rig), (found) => found.length === 3)
        expect(entered.slice(0, 3)).toEqual(["entered 0", "after 0", "entered 1"])
        expect(yield* two.engine.live).toBe(0)
      }))

    test("27 an event that is handled in the commit of its sender costs no timer row", (rig) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* rig.open()
        const instance = yield* engine.start(Raising, "r")
        yield* instance.send(E.Go())
        yield* rig.eventually(tags(rig), (found) => found.length === 3)
        yield* rig.quiet
        const before = probe.batches.length
        yield* instance.send(E.Look())
        expect(yield* tags(rig)).toEqual(["Go", "Add", "Add", "Look", "Looked"])
        expect(probe.batches.slice(before).flat()).toMatchObject([{ clearTimers: [], setTimers: [] }])
        expect(yield* rig.deadlines(key)).toEqual([])
      }))

    test("27 a refused one leaves no timer row", (rig) =>
      Effect.gen(function* () {
        const { engine } = yield* rig.open()
        yield* (yield* engine.start(Raising, "r")).send(E.Refused())
        yield* rig.eventually(rig.deadlines(key), (rows) => rows.length === 0)
        expect(yield* tags(rig)).toEqual(["Refused"])
      }))

    test("27 a postponed one is handled by the process that changes the state, also after a kill", (rig) =>
      Effect.gen(function* () {
        const one = yield* rig.open()
        yield* (yield* one.engine.start(Raising, "r")).send(E.Lock())
        yield* rig.eventually(rig.deadlines(key), (rows) => rows.length === 0)
        yield* one.crash
        const two = yield* rig.open()
        const again = yield* two.engine.ensure(Raising, "r")
        yield* again.state
        crashAt(two, 2)
        yield* Effect.forkChild(again.send(E.Unlock()))
        yield* rig.eventually(tags(rig), (found) => found.length === 2)
        const three = yield* rig.open()
        yield* three.engine.register(Raising)
        yield* rig.passUntil("1 second", tags(rig), (found) => found.length === 3)
        expect(yield* tags(rig)).toEqual(["Lock", "Unlock", "Add"])
      }))
  })
