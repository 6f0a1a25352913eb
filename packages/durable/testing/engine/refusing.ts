/** What an engine does not take, and how it says so. */
import { randomBytes } from "node:crypto"
import { Event, Machine, Slot, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Instance } from "../../src/Instance.ts"
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

const Measured = State({
  A: {
    n: Schema.Int,
    text: Schema.String.check(Schema.isMaxLength(5)),
    total: Schema.Finite,
    note: Schema.optionalKey(Schema.NonEmptyString),
  },
})
const Measure = Event({ Half: {}, Say: { more: Schema.String }, Grow: {}, Note: { note: Schema.String } })
const Meter = Machine.make({ name: "meter", state: Measured, event: Measure, initial: Measured.A({ n: 1, text: "", total: 1e300 }) })
  .on(Measured.A, Measure.Half, Measured.A, ({ state }) => Measured.A.derive(state, { n: state.n / 2 }))
  .on(Measured.A, Measure.Say, Measured.A, ({ state, event }) => Measured.A.derive(state, { text: state.text + event.more }))
  .on(Measured.A, Measure.Grow, Measured.A, ({ state }) => Measured.A.derive(state, { total: state.total * 1e200 }))
  .on(Measured.A, Measure.Note, Measured.A, ({ state, event }) => Measured.A.derive(state, { note: event.note }))

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

    test("45 an event is refused if the new state would not fit its schema, and nothing is stored", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const meter = yield* engine.start(Meter, "m")
        for (const [event, field] of [
          [Measure.Half(), "n"],
          [Measure.Say({ more: "too long" }), "text"],
          [Measure.Grow(), "total"],
          [Measure.Note({ note: "" }), "note"],
        ] as const) {
          const error = yield* Effect.flip(meter.send(event))
          expect(error).toMatchObject({ _tag: "ActionFailed", phase: "decide", committed: false })
          expect(error.message).toMatch(/nothing changed: .*the new state A does not fit its schema: /)
          expect(error.message).toContain(field)
        }
        yield* meter.send(Measure.Say({ more: "short" }))
        yield* meter.send(Measure.Note({ note: "fits" }))
        expect(yield* meter.state).toEqual({ _tag: "A", n: 1, text: "short", total: 1e300, note: "fits" })
        expect([...(yield* Stream.runCollect(meter.history))].map(({ sequence }) => sequence)).toEqual([1, 2])
      }))

    test("45 an instance without an id is refused, however it is started", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const problem = "its id is empty; give it one"
        yield* engine.start(Job, "j")
        for (const start of [engine.start(Job, ""), engine.ensure(Job, ""), engine.fork(Job, "j", 0, "")]) {
          const error = yield* Effect.flip(start as Effect.Effect<unknown, Error>)
          expect(error).toMatchObject({ _tag: "InvalidState", machine: "job", problem })
        }
        const [bulk] = yield* engine.startAll(Job, [{ id: "", input: S.Idle({ n: 0 }) }])
        expect(bulk).toMatchObject({ failure: { _tag: "InvalidState", problem } })
        expect([...(yield* engine.count(Job))]).toEqual([["Idle", 1]])
      }))

    test("45 an id that no database can keep is refused before anything is stored, however it is started", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.start(Job, "j")
        for (const [id, problem] of [
          ["a\u0000b", /null character/],
          ["a\ud800b", /surrogate pair/],
          ["é".repeat(501), /^its id "é+"… takes 1002 bytes, the limit is 1000: use a shorter one/],
        ] as const) {
          for (const start of [engine.start(Job, id), engine.ensure(Job, id), engine.fork(Job, "j", 0, id)]) {
            const error = yield* Effect.flip(start as Effect.Effect<unknown, Error>)
            expect(error).toMatchObject({ _tag: "InvalidState", machine: "job", problem: expect.stringMatching(problem) })
          }
          const [bulk] = yield* engine.startAll(Job, [{ id, input: S.Idle({ n: 0 }) }])
          expect(bulk).toMatchObject({ failure: { _tag: "InvalidState" } })
        }
        expect([...(yield* engine.count(Job))]).toEqual([["Idle", 1]])
      }))

    test("45 an id that no database can keep is not an instance's, whatever is read or sent", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.start(Job, "a\ufffdb")
        for (const id of ["a\u0000b", "a\ud800b"]) {
          expect(Option.isNone(yield* engine.get(Job, id))).toBe(true)
          expect(Option.isNone(yield* engine.restore(id, Job))).toBe(true)
          const job = Option.getOrThrow(engine.find({ machine: "job", id })) as unknown as Instance<typeof S.Type, typeof E.Type>
          const uses: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
            job.send(E.Add({ by: 1 })),
            job.ask(E.Count()),
            job.state,
            job.stateAt(0),
            job.historyPage(),
            job.waitFor(() => true),
          ]
          for (const use of uses) expect(yield* Effect.flip(use)).toMatchObject({ _tag: "InstanceNotFound", machine: "job", id })
        }
      }))

    test("45 the longest id works with the longest dedupe id, and a longer one is refused by itself", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        // At random: a database may compress what repeats.
        const long = (length: number) => randomBytes(length).toString("base64url").slice(0, length)
        const job = yield* engine.start(Job, long(1000), S.Busy({ n: 0 }))
        yield* job.send(E.Add({ by: 2 }), { id: long(1400) })
        const error = yield* Effect.flip(job.send(E.Add({ by: 4 }), { id: long(1401) }))
        expect(error).toMatchObject({ _tag: "InvalidEvent", problem: expect.stringMatching(/takes 1401 bytes, the limit is 1400/) })
        yield* job.send(E.Add({ by: 1 }))
        expect(yield* job.state).toMatchObject({ n: 3 })
      }))

    test("45 an id that is not a string is refused, and is not an instance's", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.start(Job, "7", S.Busy({ n: 0 }))
        const id = 7 as unknown as string
        const problem = "its id is of type number; give it a string"
        const started = yield* engine.startAll(Job, [{ id, input: S.Idle({ n: 0 }) }])
        expect(started).toMatchObject([{ failure: { _tag: "InvalidState", machine: "job", problem } }])
        for (const start of [engine.start(Job, id), engine.ensure(Job, id), engine.fork(Job, "7", 0, id)]) {
          expect(yield* Effect.flip(start as Effect.Effect<unknown, Error>)).toMatchObject({
            _tag: "InvalidState",
            machine: "job",
            problem,
          })
        }
        expect(Option.isNone(yield* engine.get(Job, id))).toBe(true)
        expect(Option.isNone(yield* engine.restore(id, Job))).toBe(true)
        const job = Option.getOrThrow(engine.find({ machine: "job", id })) as unknown as Instance<typeof S.Type, typeof E.Type>
        const uses: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          job.send(E.Add({ by: 1 })),
          job.ask(E.Count()),
          job.state,
          job.snapshot,
          job.stateAt(0),
          job.historyPage(),
          job.waitFor(() => true),
          job.saveSnapshot,
          engine.fork(Job, id, 0, "8"),
          engine.repair(Job, id, 1, E.Add({ by: 1 })),
        ]
        for (const use of uses) expect(yield* Effect.flip(use)).toMatchObject({ _tag: "InstanceNotFound", machine: "job", id: "7" })
        yield* engine.release(Job, [id])
        const known = Option.getOrThrow(yield* engine.get(Job, "7"))
        expect(yield* Effect.flip(known.send(E.Add({ by: 1 }), { id }))).toMatchObject({ _tag: "InvalidEvent", problem })
        expect(yield* known.snapshot).toMatchObject({ state: S.Busy({ n: 0 }), sequence: 0 })
      }))

    test("83 a refusal that the journal cannot confirm is a failure of the store, with an id and without", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j")
        probe.onOpen = () => Effect.fail(outage("open"))
        for (const options of [{}, { id: "e-1" }])
          expect(yield* Effect.flip(job.send(E.Pause(), options))).toMatchObject({ _tag: "PersistenceFailed" })
        probe.onOpen = (read) => read
        for (const options of [{}, { id: "e-1" }])
          expect(yield* Effect.flip(job.send(E.Pause(), options))).toMatchObject({ _tag: "InvalidTransition", state: "Idle" })
        expect(yield* events({ machine: "job", id: "j" })).toEqual([])
      }))

    test("143 an event that cannot be read, or that holds itself, is refused as it is sent; the instance continues", ({ open, events }) =>
      Effect.gen(function* () {
        const Any = State({ Open: { held: Schema.Any } })
        const Put = Event({ Put: { held: Schema.Any }, Say: { text: Schema.String } })
        const Box = Machine.make({ name: "box", state: Any, event: Put, initial: Any.Open({ held: null }) })
          .on(Any.Open, Put.Put, Any.Open)
          .on(Any.Open, Put.Say, stay)
        const { engine } = yield* open()
        const box = yield* engine.start(Box, "b")
        const cyclic: { self?: unknown } = {}
        cyclic.self = [cyclic]
        const unreadable = Object.defineProperty({ _tag: "Say" }, "text", {
          enumerable: true,
          get: () => {
            throw new Error("the getter threw")
          },
        }) as unknown as typeof Put.Type
        const untagged = Object.defineProperty({}, "_tag", {
          get: () => {
            throw new Error("the getter threw")
          },
        }) as unknown as typeof Put.Type
        for (const [event, problem] of [
          [Put.Put({ held: cyclic }), "it contains itself, or is nested too deeply; send plain data"],
          [unreadable, "it cannot be read: the getter threw"],
          [untagged, "it cannot be read: the getter threw"],
        ] as const) {
          for (const send of [box.send(event), box.send(event, { id: "e-1" }), box.call(event)]) {
            expect(yield* Effect.flip(send)).toMatchObject({ _tag: "InvalidEvent", machine: "box", id: "b", problem })
          }
        }
        expect(yield* Effect.flip(box.ask(untagged as never))).toMatchObject({ _tag: "InvalidEvent", event: "a value without _tag" })
        expect(yield* Effect.flip(engine.start(Box, "c", Any.Open({ held: cyclic })))).toMatchObject({
          _tag: "InvalidState",
          problem:
            "its field held holds a value that contains itself, which JSON would lose; keep plain data in it, or give it a schema that encodes it",
        })
        yield* box.send(Put.Put({ held: { twice: [1, [1]] } }))
        expect(yield* events({ machine: "box", id: "b" })).toHaveLength(1)
      }))

    test("45 a state with what JSON would lose is refused at the start, with machine, state and field", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const lost = [
          [new Point(), "an instance of Point"],
          [() => 1, "a function"],
          [{ deep: [new Map()] }, "an instance of Map"],
          [Number.NaN, "NaN"],
          [{ deep: [Number.POSITIVE_INFINITY] }, "Infinity"],
          [[1, undefined], "a list with undefined"],
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
          { id: "i", input: Holding.Open({ where: { deep: [1, "two", null], missing: undefined } }) },
        ])
        expect(bulk).toMatchObject({ failure: { _tag: "InvalidState", state: "Open" } })
        expect(fine !== undefined && Result.isSuccess(fine)).toBe(true)
        yield* engine.start(Holder, "h", Holding.Strict({ where: { a: [1] } }))
      }))

    test("options with which no engine could work are refused when it is made", ({ open }) =>
      Effect.gen(function* () {
        const nonsense = [
          [{ lease: 0 }, "lease"],
          [{ lease: Number.NaN }, "lease"],
          [{ limits: { mailbox: Number.NaN } }, "limits.mailbox is NaN"],
          [{ limits: { eventSize: -1 } }, "limits.eventSize is -1"],
          [{ sweeper: { batchSize: 0 } }, "sweeper.batchSize is 0"],
          [{ nodeId: "a\u0000b" }, 'its nodeId "a\\u0000b" holds a null character'],
          [{ nodeId: "a\ud800" }, "half of a surrogate pair"],
          [{ nodeId: "x".repeat(1401) }, "takes 1401 bytes, the limit is 1400"],
        ] as const
        for (const [options, problem] of nonsense) {
          const exit = yield* Effect.exit(open(options))
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          expect(error).toMatchObject({ _tag: "DefinitionError", problem: expect.stringContaining(problem) })
        }
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
