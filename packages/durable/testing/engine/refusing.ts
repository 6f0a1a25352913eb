/** What an engine does not take, and how it says so. */
import { Event, Machine, Slot, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

class Point {
  readonly x = 1
}

const Holding = State({ Open: { where: Schema.Any }, Strict: { where: Schema.Unknown }, Typed: { where: Schema.instanceOf(Point) } })
const Nothing = Event({ Go: {} })
const Holder = Machine.make({
  name: "holder",
  state: Holding,
  event: Nothing,
  initial: (where: unknown) => Holding.Open({ where }),
}).on(Holding.Open, Nothing.Go, Holding.Strict)

/** The types would not let it through. */
const bypassed = (machine: unknown) => machine as typeof Job

/** What an Effect died of. */
const defectOf = <A, Err>(effect: Effect.Effect<A, Err>) =>
  Effect.map(Effect.exit(effect), (exit) => (Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined))

export const refusing = ({ describe, test }: Kit) =>
  describe("what is refused", () => {
    test("45 the error of a used id has the state of its instance, in memory or not", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "o-1", S.Busy({ n: 0 }))
        expect((yield* Effect.flip(engine.start(Job, "o-1"))).message).toBe("job o-1 exists (Busy, running); use ensure or get")
        yield* job.send(E.Finish())
        const error = yield* Effect.flip(engine.start(Job, "o-1"))
        expect(error).toMatchObject({ _tag: "ActorExists", machine: "job", id: "o-1", state: "Done", status: "final" })
        expect(error.message).toBe("job o-1 exists (Done, final); use ensure or get")
        const [bulk] = yield* engine.startAll(Job, [{ id: "o-1", input: S.Idle({ n: 0 }) }])
        expect(bulk).toMatchObject({ failure: { _tag: "ActorExists", message: "job o-1 exists; use ensure or get" } })
        yield* engine.start(Job, "o-2", S.Busy({ n: 0 }))
        expect((yield* Effect.flip(engine.fork(Job, "o-2", 0, "o-1"))).message).toMatch(/^job o-1 exists \(Done, final\)/)
      }))

    test("45 an instance without an id is refused, however it is started", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const problem = "its id is empty; give it one"
        yield* engine.start(Job, "j")
        for (const start of [engine.start(Job, ""), engine.spawn("", Job), engine.ensure(Job, ""), engine.fork(Job, "j", 0, "")]) {
          const error = yield* Effect.flip(start as Effect.Effect<unknown, Error>)
          expect(error).toMatchObject({ _tag: "InvalidState", machine: "job", problem })
        }
        const [bulk] = yield* engine.startAll(Job, [{ id: "", input: S.Idle({ n: 0 }) }])
        expect(bulk).toMatchObject({ failure: { _tag: "InvalidState", problem } })
        expect([...(yield* engine.count(Job))]).toEqual([["Idle", 1]])
      }))

    test("45 a state with what JSON would lose is refused at the start, with machine, state and field", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const lost = [
          [new Point(), "an instance of Point"],
          [() => 1, "a function"],
          [{ deep: [new Map()] }, "an instance of Map"],
        ] as const
        for (const [where, what] of lost) {
          for (const state of [Holding.Open({ where }), Holding.Strict({ where })]) {
            const error = yield* Effect.flip(engine.start(Holder, "h", state))
            expect(error).toMatchObject({ _tag: "InvalidState", machine: "holder", id: "h", state: state._tag })
            expect(error.message).toMatch(
              `holder h: it cannot begin in state ${state._tag}: its field where holds ${what}, which JSON would lose`,
            )
          }
        }
        const typed = yield* Effect.flip(engine.start(Holder, "h", Holding.Typed({ where: new Point() })))
        expect(typed.message).toMatch(/its field where holds an instance of Point/)
        const [bulk, fine] = yield* engine.startAll(Holder, [
          { id: "h", input: Holding.Open({ where: new Point() }) },
          { id: "i", input: Holding.Open({ where: { deep: [1, "two", null, undefined] } }) },
        ])
        expect(bulk).toMatchObject({ failure: { _tag: "InvalidState", state: "Open" } })
        expect(fine !== undefined && Result.isSuccess(fine)).toBe(true)
        yield* engine.start(Holder, "h", Holding.Strict({ where: { a: [1] } }))
      }))

    test("a machine whose effects are not built is not taken: the same error as for a guard", ({ open }) =>
      Effect.gen(function* () {
        const effects = Slot.Effects({ note: {} })
        const guards = Slot.Guards({ allowed: {} })
        const withEffect = Machine.make({ name: "unbuilt", state: S, event: E, effects, initial: S.Idle({ n: 0 }) })
        const withGuard = Machine.make({ name: "unguarded", state: S, event: E, guards, initial: S.Idle({ n: 0 }) })
        const { engine } = yield* open()
        for (const [machine, slot] of [
          [withEffect, "note"],
          [withGuard, "allowed"],
        ] as const) {
          for (const use of [engine.register(bypassed(machine)), engine.start(bypassed(machine), "u")]) {
            expect(yield* defectOf(use)).toMatchObject({ _tag: "DefinitionError", problem: `the slot ${slot} has no implementation` })
          }
        }
      }))

    test("one name is one machine; the same one built again is the same, and a newer version may take its place", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const build = (version: number) =>
          Machine.make({ name: "dup", version, state: S, event: E, initial: S.Idle({ n: 0 }) }).on(S.Idle, E.Start, S.Busy)
        const another = (version: number) =>
          Machine.make({ name: "dup", version, state: S, event: E, initial: S.Idle({ n: 0 }) }).on(S.Idle, E.Start, S.Paused)
        const problem = "machine dup is registered with another definition"
        const dup = yield* engine.start(build(1), "d")
        expect(yield* defectOf(engine.start(another(1), "e"))).toMatchObject({ _tag: "DefinitionError", problem })
        expect(yield* defectOf(engine.register(another(2)))).toMatchObject({ _tag: "DefinitionError", problem })
        yield* engine.register(build(1))
        yield* dup.send(E.Start())
        expect((yield* dup.state)._tag).toBe("Busy")
        yield* engine.release(build(1), ["d"])
        expect(yield* defectOf(engine.register(another(1)))).toMatchObject({ problem })
        yield* engine.register(another(2), { upcasters: { 1: {} } })
        expect(yield* Effect.map(engine.start(another(2), "f"), ({ id }) => id)).toBe("f")
      }))

    test("90 a sweep that does not reach the store says that once, in one sentence", (rig) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push([message].flat().join(" ")))
        const probe = new StoreProbe()
        probe.onClaim = () => Effect.fail(outage("claim"))
        const { engine } = yield* rig.open({ probe })
        yield* Effect.provide(engine.sweep, Logger.layer([logger]))
        expect(lines).toEqual(["a sweep could not reach the store; the next one tries again: claim failed: the store is away"])
      }))
  })
