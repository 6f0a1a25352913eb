/** Two engines, one instance: no event is lost, and none is applied to a state that was left. */
import { Machine } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

const key = { machine: "job", id: "j" }

export const conflicting = ({ describe, test }: Kit) =>
  describe("optimistic locking", () => {
    test("81 the loser of a conflict reads what the other has stored, and its event is decided on that", ({ open, events }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(Job, "j")
        yield* late.state
        yield* job.send(E.Add({ by: 1 }))
        yield* job.send(E.Add({ by: 2 }))
        expect(yield* late.call(E.Add({ by: 10 }))).toMatchObject({ from: { n: 3 }, state: { n: 13 } })
        expect(yield* job.state).toEqual(S.Busy({ n: 13 }))
        expect(yield* events(key)).toHaveLength(3)
      }))

    test("82 and 83 two engines with fifty sends each lose none, and double none", ({ open, events }) =>
      Effect.gen(function* () {
        const engines = yield* Effect.forEach([1, 2], () => open())
        const [one] = engines
        yield* (one as (typeof engines)[number]).engine.start(Job, "j", S.Busy({ n: 0 }))
        const handles = yield* Effect.forEach(engines, ({ engine }) => engine.ensure(Job, "j"))
        yield* Effect.forEach(
          Array.from({ length: 100 }, (_, index) => index),
          (index) => (handles[index % 2] as (typeof handles)[number]).send(E.Add({ by: 1 })),
          { concurrency: "unbounded" },
        )
        expect((yield* events(key)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
        const third = yield* open()
        expect(yield* (yield* third.engine.ensure(Job, "j")).state).toEqual(S.Busy({ n: 100 }))
      }))

    test("82 of a hundred racers for one start one wins", ({ open }) =>
      Effect.gen(function* () {
        const engines = yield* Effect.forEach(Array.from({ length: 4 }), () => open())
        const results = yield* Effect.forEach(
          Array.from({ length: 100 }, (_, index) => index),
          (index) => Effect.result((engines[index % 4] as (typeof engines)[number]).engine.start(Job, "j")),
          { concurrency: "unbounded" },
        )
        expect(results.filter((result) => result._tag === "Success")).toHaveLength(1)
        expect(new Set(results.flatMap((result) => (result._tag === "Failure" ? [result.failure._tag] : [])))).toEqual(
          new Set(["ActorExists"]),
        )
      }))

    test("82 a hundred who ensure the same instance all get it", ({ open, record }) =>
      Effect.gen(function* () {
        const engines = yield* Effect.forEach(Array.from({ length: 4 }), () => open())
        const handles = yield* Effect.forEach(
          Array.from({ length: 100 }, (_, index) => index),
          (index) => (engines[index % 4] as (typeof engines)[number]).engine.ensure(Job, "j"),
          { concurrency: "unbounded" },
        )
        expect(new Set(yield* Effect.forEach(handles, (handle) => Effect.map(handle.state, ({ _tag }) => _tag)))).toEqual(new Set(["Idle"]))
        expect(yield* record(key)).toMatchObject({ sequence: 0 })
      }))

    test("83 an event that met a newer sequence is decided anew on the true state", ({ open }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(Job, "j")
        yield* late.state
        yield* job.send(E.Pause())
        const waiting = yield* Effect.forkChild(late.call(E.Add({ by: 1 })), { startImmediately: true })
        yield* late.send(E.Resume())
        expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "Stay", state: { n: 1 } })
      }))

    test("83 an event that finds the instance ended by another is refused with the reason, and no caller waits for ever", ({
      open,
      events,
    }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(Job, "j")
        yield* late.state
        yield* job.send(E.Quit())
        const results = yield* Effect.forEach([1, 2, 3], (by) => Effect.flip(late.send(E.Add({ by }))), { concurrency: "unbounded" })
        for (const result of results) expect(result).toMatchObject({ _tag: "MachineStopped", reason: "quit" })
        expect(yield* events(key)).toHaveLength(1)
        expect(yield* late.snapshot).toMatchObject({ status: "stopped", reason: "quit" })
        expect(yield* two.engine.live).toBe(0)
      }))

    test("83 a conflict in the middle of running ahead: all that was decided ahead is decided anew, in order", ({ open, events, quiet }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const other = yield* two.engine.ensure(Job, "j")
        const gate = yield* Deferred.make<void>()
        one.probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const sends = yield* Effect.forEach([1, 2, 3], (by) => Effect.forkChild(job.call(E.Add({ by })), { startImmediately: true }))
        yield* quiet
        const ahead = yield* Effect.forEach([4, 5], (by) => Effect.forkChild(job.call(E.Add({ by })), { startImmediately: true }))
        const twice = yield* Effect.forkChild(job.call(E.Twice()), { startImmediately: true })
        yield* quiet
        yield* other.send(E.Add({ by: 100 }))
        yield* Deferred.succeed(gate, undefined)
        const outcomes = yield* Effect.forEach([...sends, ...ahead], (fiber) => Fiber.join(fiber))
        expect(outcomes.map(({ state }) => state.n)).toEqual([101, 103, 106, 110, 115])
        expect(yield* Fiber.join(twice)).toMatchObject({ _tag: "Stay", state: { n: 115 } })
        yield* quiet
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual([...Array.from({ length: 6 }, () => "Add"), "Twice", "Add", "Pause"])
        expect(yield* job.state).toEqual(S.Paused({ n: 230 }))
      }))

    test("27 and 83 what a stored decision sent itself survives a conflict", ({ open, events, quiet, eventually }) =>
      Effect.gen(function* () {
        const Sending = Machine.make({ name: "job", state: S, event: E, initial: S.Idle({ n: 0 }) })
          .on(S.Idle, E.Start, S.Busy, ({ state, self }) => {
            self.send(E.Add({ by: 1 }))
            return S.Busy(state)
          })
          .on(S.Busy, E.Add, S.Busy, ({ state, event }) => S.Busy({ n: state.n + event.by }))
          .enter(S.Busy, () => Effect.void)
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Sending, "j")
        let commits = 0
        one.probe.onCommit = (_, commit) =>
          ++commits === 2
            ? Effect.gen(function* () {
                const other = yield* Effect.orDie(two.engine.ensure(Sending, "j"))
                yield* Effect.orDie(other.send(E.Add({ by: 10 })))
                return yield* commit
              })
            : commit
        yield* job.send(E.Start())
        yield* eventually(events(key), (stored) => stored.length === 3)
        yield* quiet
        expect(yield* job.state).toEqual(S.Busy({ n: 11 }))
      }))

    test("85 in one flush a conflict harms only its own instance", ({ open, events }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const jobs = yield* Effect.forEach(["j", "k", "l"], (id) => one.engine.start(Job, id, S.Busy({ n: 0 })))
        const other = yield* two.engine.ensure(Job, "k")
        yield* other.send(E.Add({ by: 100 }))
        const flushes = one.probe.batches.length
        yield* Effect.forEach(jobs, (job) => job.send(E.Add({ by: 1 })), { concurrency: "unbounded" })
        expect(one.probe.batches.slice(flushes).map((commits) => commits.map(({ id }) => id))).toEqual([["j", "k", "l"], ["k"]])
        expect(yield* other.state).toEqual(S.Busy({ n: 101 }))
        for (const id of ["j", "l"]) expect(yield* events({ machine: "job", id })).toHaveLength(1)
      }))

    test("19, 20, 137 and 140 data that another node changed leaves work alone; a state that it entered anew moves the work to it", ({
      open,
      quiet,
      passUntil,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const note = (text: string) => Effect.sync(() => void log.push(text))
        const Working = (node: string) =>
          Job.spawn(S.Busy, () =>
            Effect.andThen(
              note(`${node} works`),
              Effect.onInterrupt(Effect.never, () => note(`${node} ends`)),
            ),
          )
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Working("one"), "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(Working("two"), "j")
        yield* job.send(E.Add({ by: 1 }))
        yield* late.send(E.Add({ by: 10 }))
        expect(yield* late.state).toEqual(S.Busy({ n: 11 }))
        // Also where a snapshot hides what happened.
        yield* job.send(E.Add({ by: 100 }))
        yield* job.saveSnapshot
        yield* job.prune
        yield* late.send(E.Add({ by: 1000 }))
        yield* quiet
        expect(log).toEqual(["one works"])
        yield* job.send(E.Again())
        yield* job.saveSnapshot
        yield* late.send(E.Add({ by: 10_000 }))
        yield* quiet
        expect(log).toEqual(["one works", "one ends", "one works"])
        yield* late.send(E.Again())
        yield* passUntil(
          "100 millis",
          Effect.sync(() => log),
          (lines) => lines.length === 5,
        )
        expect([...log.slice(3)].sort()).toEqual(["one ends", "two works"])
        expect(yield* late.state).toEqual(S.Busy({ n: 11_111 }))
      }))

    test("140 a commit of another node that leaves the state stops the owner's work", ({ open, passUntil }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const note = (text: string) => Effect.sync(() => void log.push(text))
        const Working = (node: string) =>
          Job.spawn(S.Busy, () =>
            Effect.andThen(
              note(`${node} works`),
              Effect.onInterrupt(Effect.never, () => note(`${node} ends`)),
            ),
          )
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Working("one"), "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(Working("two"), "j")
        yield* late.send(E.Pause())
        yield* passUntil(
          "100 millis",
          Effect.sync(() => log),
          (lines) => lines.length === 2,
        )
        expect(log).toEqual(["one works", "one ends"])
        expect(yield* job.state).toMatchObject({ _tag: "Paused" })
      }))
  })
