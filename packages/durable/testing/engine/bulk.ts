/** Many instances started at once. */
import { PersistenceFailed } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { E, Job, S, T, TimedCall } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { outage } from "./StoreProbe.ts"

const entries = (count: number, n = 0) =>
  Array.from({ length: count }, (_, index) => ({ id: `j-${index}`, input: S.Busy({ n: n + index }) }))

export const bulk = ({ describe, test }: Kit) =>
  describe("starting many", () => {
    test("1,500 are stored in few commits, none stays in memory, and each can be used like any other", ({ open, journal }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const started = yield* engine.startAll(Job, entries(1500))
        expect(started.map(Result.getOrThrow)).toEqual(entries(1500).map(({ input }) => input))
        expect(probe.batches.length).toBeLessThanOrEqual(2)
        expect(yield* engine.live).toBe(0)
        expect(yield* journal.count("job")).toEqual(new Map([["Busy", 1500]]))
        const job = yield* engine.ensure(Job, "j-700", S.Busy({ n: 0 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 700 }))
        expect(yield* job.snapshot).toMatchObject({ sequence: 0, status: "running" })
      }))

    test("an entry whose id exists, or comes twice, fails; the others are stored", ({ open, journal }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.start(Job, "j-1", S.Busy({ n: 99 }))
        const started = yield* engine.startAll(Job, [...entries(3), { id: "j-2", input: S.Busy({ n: 5 }) }])
        expect(
          started.map((one) => (Result.isSuccess(one) ? one.success._tag : [one.failure._tag, one.failure.message.includes("j-")])),
        ).toEqual(["Busy", ["ActorExists", true], "Busy", ["ActorExists", true]])
        expect(yield* journal.count("job")).toEqual(new Map([["Busy", 3]]))
        expect(yield* (yield* engine.ensure(Job, "j-2", S.Idle({ n: 0 }))).state).toEqual(S.Busy({ n: 2 }))
      }))

    test("what does not fit the schema is refused alone", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const [good, bad] = yield* engine.startAll(Job, [...entries(1), { id: "odd", input: { _tag: "Busy", n: "x" } as never }])
        expect(good).toMatchObject({ _tag: "Success" })
        expect(bad).toMatchObject({ _tag: "Failure", failure: { _tag: "InvalidState" } })
      }))

    test("one that has a deadline is in memory to keep it", ({ open, pass, record }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.startAll(TimedCall, [
          { id: "c-1", input: T.Waiting({ minutes: 1 }) },
          { id: "c-2", input: T.Quiet() },
        ])
        expect(yield* engine.live).toBe(1)
        yield* pass("1 minute")
        expect(yield* record({ machine: "call", id: "c-1" })).toMatchObject({ tag: "Late" })
      }))

    test("a store that did not confirm is asked: entries that this call stored do not fail as existing", ({ open, journal, passFor }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        let failures = 1
        probe.onCommit = (_, commit) => (failures-- > 0 ? Effect.andThen(commit, Effect.fail(outage())) : commit)
        const fiber = yield* Effect.forkChild(engine.startAll(Job, entries(10)), { startImmediately: true })
        const started = yield* passFor(fiber)
        expect(started.every(Result.isSuccess)).toBe(true)
        expect(yield* journal.count("job")).toEqual(new Map([["Busy", 10]]))
      }))

    test("a store that stays away fails it as a whole", ({ open, passFor }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        probe.onCommit = () => Effect.fail(outage())
        const fiber = yield* Effect.forkChild(Effect.flip(engine.startAll(Job, entries(2))), { startImmediately: true })
        expect(yield* passFor(fiber)).toBeInstanceOf(PersistenceFailed)
      }))

    test("many that were asked something can be let go at once; they are asked again like any other", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* engine.startAll(Job, entries(50))
        const add = (id: string) => Effect.flatMap(engine.ensure(Job, id, S.Idle({ n: 0 })), (job) => job.send(E.Add({ by: 1 })))
        const ids = entries(50).map(({ id }) => id)
        yield* Effect.forEach(ids, add, { concurrency: 50 })
        expect(yield* engine.live).toBe(50)
        yield* engine.release(Job, [...ids.slice(10), "nobody"])
        expect(yield* engine.live).toBe(10)
        yield* Effect.forEach(ids, add, { concurrency: 50 })
        expect(yield* (yield* engine.ensure(Job, "j-30", S.Idle({ n: 0 }))).state).toEqual(S.Busy({ n: 32 }))
      }))

    test("one that is at work is not let go", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const Working = Job.spawn(S.Busy, () => Effect.never)
        yield* engine.start(Working, "j", S.Busy({ n: 1 }))
        yield* engine.release(Working, ["j"])
        expect(yield* engine.live).toBe(1)
      }))

    test("an engine that has stopped starts nothing", ({ open, journal }) =>
      Effect.gen(function* () {
        const { engine, close } = yield* open()
        yield* close
        const [one] = yield* engine.startAll(Job, entries(1))
        expect(one).toMatchObject({ _tag: "Failure", failure: { _tag: "MachineStopped" } })
        expect(yield* journal.count("job")).toEqual(new Map())
      }))
  })
