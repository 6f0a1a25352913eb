/** A new version is deployed node by node: for a while an old one and a new one share a store. */
import { Event, Machine, NewerVersion, RetryPolicy, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Kit } from "./Rig.ts"

const S = State({ Open: { n: Schema.Number }, Late: {} })
const E = Event({ Add: {} })
const version = (number: number) =>
  Machine.make({ name: "order", version: number, state: S, event: E, initial: S.Open({ n: 0 }) })
    .on(S.Open, E.Add, S.Open, ({ state }) => S.Open({ n: state.n + 1 }))
    .timeout(S.Open, "1 minute", S.Late)

const One = version(1)
/** Its instances wait for events only: nothing opens them when it is registered. */
const Quiet = Machine.make({ name: "order", state: S, event: E, initial: S.Open({ n: 0 }) }).on(S.Open, E.Add, S.Open, ({ state }) =>
  S.Open({ n: state.n + 1 }),
)
const Two = version(2)
const upcasters = { 1: {} }
const key = { machine: "order", id: "o" }

/** The same name and version, with an event that the stored ones do not fit. */
const StrictEvents = Event({ Add: { by: Schema.Number } })
const Strict = Machine.make({ name: "order", state: S, event: StrictEvents, initial: S.Open({ n: 0 }) }).on(
  S.Open,
  StrictEvents.Add,
  S.Open,
  ({ state, event }) => S.Open({ n: state.n + event.by }),
)
const message = "order o was written by version 2, this process has 1; deploy it here too"

export const deploying = ({ describe, test }: Kit) =>
  describe("a rolling deploy", () => {
    test("135 an older node fails to read what a newer one wrote, holds nothing, and the newer one continues", ({ open, record }) =>
      Effect.gen(function* () {
        const older = yield* open()
        const newer = yield* open()
        yield* newer.engine.register(Two, { upcasters })
        const there = yield* older.engine.start(One, "o")
        yield* there.send(E.Add())
        const here = yield* Effect.flatMap(newer.engine.get(Two, "o"), Effect.fromOption)
        yield* here.send(E.Add())
        for (const read of [there.state, there.snapshot, there.send(E.Add()), there.state]) {
          const error = yield* Effect.flip(read as Effect.Effect<unknown, Error>)
          expect(error).toBeInstanceOf(NewerVersion)
          expect(error).toMatchObject({ _tag: "EventReplayError", written: 2, known: 1, message })
        }
        expect(yield* record(key)).toMatchObject({ status: "running", version: 2, sequence: 2 })
        yield* older.engine.register(One)
        expect(yield* record(key)).toMatchObject({ status: "running" })
        expect(yield* here.state).toEqual(S.Open({ n: 2 }))
        yield* here.send(E.Add())
        expect(yield* record(key)).toMatchObject({ status: "running", sequence: 3 })
      }))

    test("135 a caller that waits on the older node gets the reason why it cannot wait any longer", (rig) =>
      Effect.gen(function* () {
        const older = yield* rig.open()
        const newer = yield* rig.open()
        const there = yield* older.engine.start(One, "o")
        const waiting = yield* Effect.forkChild(Effect.flip(there.awaitFinal))
        yield* rig.quiet
        yield* newer.engine.register(Two, { upcasters })
        yield* (yield* Effect.flatMap(newer.engine.get(Two, "o"), Effect.fromOption)).send(E.Add())
        expect(yield* rig.passFor(waiting)).toMatchObject({ _tag: "MachineStopped", reason: message })
        expect(yield* rig.record(key)).toMatchObject({ status: "running" })
      }))

    test("135 and 86 an older node leaves the deadlines of newer instances alone, and a newer one meets them", (rig) =>
      Effect.gen(function* () {
        const gone = yield* rig.open()
        yield* gone.engine.start(Two, "o")
        yield* gone.engine.start(Two, "p")
        yield* gone.crash
        const older = yield* rig.open({ sweeper: { interval: "1 second", retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 2 }) } })
        yield* older.engine.register(One)
        yield* older.engine.start(One, "q")
        for (let minute = 0; minute < 5; minute++) yield* rig.pass("1 minute")
        yield* rig.passUntil("1 second", rig.record({ machine: "order", id: "q" }), ({ tag }) => tag === "Late")
        expect(older.probe.claimed.flat()).toEqual([])
        expect(yield* rig.timers.dead(10)).toEqual([])
        for (const id of ["o", "p"]) {
          expect(yield* rig.record({ machine: "order", id })).toMatchObject({ tag: "Open", status: "running" })
          expect(yield* rig.deadlines({ machine: "order", id })).toHaveLength(1)
        }
        const newer = yield* rig.open()
        yield* newer.engine.register(Two)
        yield* rig.pass("1 millis")
        yield* rig.eventually(rig.record(key), ({ tag }) => tag === "Late")
      }))

    test("instances that do not fit are found soon after the registration, without a caller, and leave no instance in memory", (rig) =>
      Effect.gen(function* () {
        const before = yield* rig.open()
        const ids = Array.from({ length: 120 }, (_, index) => `o-${String(index).padStart(3, "0")}`)
        yield* before.engine.startAll(
          Quiet,
          ids.map((id) => ({ id, input: undefined })),
        )
        const touched = ids.filter((_, index) => index % 3 === 0)
        for (const id of touched) yield* Effect.flatMap(before.engine.ensure(Quiet, id), (one) => one.send(E.Add()))
        yield* before.close
        const bad = yield* rig.open()
        yield* bad.engine.register(Strict)
        expect(yield* bad.engine.held).toEqual([{ machine: "order", held: 0, checked: 0, isComplete: false }])
        const found = yield* rig.passUntil("1 second", bad.engine.held, ([report]) => report?.isComplete === true && report.held > 0)
        expect(found).toEqual([{ machine: "order", held: touched.length, checked: ids.length, isComplete: true }])
        const held = yield* rig.journal.page({ machine: "order", status: "held" }, 1000)
        expect(held.map(({ id }) => id)).toEqual(touched)
        for (const { reason } of held) expect(reason).toMatch(/by/)
        expect(yield* bad.engine.live).toBe(0)
        yield* bad.close
        // The version before comes back: it releases them when it is registered.
        const back = yield* rig.open()
        yield* back.engine.register(Quiet)
        expect(yield* rig.journal.page({ machine: "order", status: "held" }, 10)).toEqual([])
        const after = yield* rig.passUntil("1 second", back.engine.held, ([report]) => report?.isComplete === true)
        expect(after).toMatchObject([{ machine: "order", held: 0, isComplete: true }])
      }))

    test("135 what only a deadline of the newer version changed is newer, too", (rig) =>
      Effect.gen(function* () {
        const gone = yield* rig.open()
        yield* gone.engine.start(One, "o")
        yield* gone.crash
        const newer = yield* rig.open()
        yield* newer.engine.register(Two, { upcasters })
        yield* rig.pass("1 minute")
        yield* rig.passUntil("1 second", rig.record(key), ({ tag }) => tag === "Late")
        yield* newer.close
        const older = yield* rig.open()
        const order = yield* Effect.flatMap(older.engine.get(One, "o"), Effect.fromOption)
        expect((yield* Effect.flip(order.state)).message).toBe(message)
      }))
  })
