/** Coming back: what was stored is what is found, once, however a process ended. */
import { Event, Machine, reply, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

const key = { machine: "job", id: "j" }
const Snapshots = Job.persist({ snapshot: { _tag: "EveryTransition" } })

export const recovering = ({ describe, test }: Kit) =>
  describe("recovery", () => {
    test("66, 68 and 69 sequences ascend without gaps; what is unknown is not there", ({ open, events, journal }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        for (let n = 1; n <= 20; n++) yield* job.send(E.Add({ by: n }))
        expect((yield* events(key)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
        expect((yield* journal.events(key, 18, 10)).map(({ sequence }) => sequence)).toEqual([19, 20])
        expect((yield* engine.get(Job, "nobody"))._tag).toBe("None")
        expect((yield* engine.restore("nobody", Job))._tag).toBe("None")
      }))

    test("70 and 74 after a snapshot and pruning, numbering and the instance continue, also after a restart", ({ open, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        for (const by of [1, 2, 3]) yield* job.send(E.Add({ by }))
        expect(yield* job.prune).toBe(0)
        expect(yield* job.saveSnapshot).toBe(true)
        yield* job.send(E.Add({ by: 4 }))
        expect(yield* job.prune).toBe(3)
        expect((yield* events(key)).map(({ sequence }) => sequence)).toEqual([4])
        expect(yield* Effect.flip(job.stateAt(2))).toMatchObject({ _tag: "EventReplayError" })
        expect(yield* job.stateAt(3)).toEqual(S.Busy({ n: 6 }))
        yield* first.close
        const { engine } = yield* open()
        const again = yield* engine.ensure(Job, "j")
        yield* again.send(E.Add({ by: 5 }))
        expect(yield* again.snapshot).toMatchObject({ sequence: 5, state: S.Busy({ n: 15 }) })
        expect((yield* Stream.runCollect(again.history)).map(({ sequence }) => sequence)).toEqual([4, 5])
      }))

    test("72 and 77 an undecodable event holds the instance, with a typed error and nothing skipped", ({ open, journal, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        for (const by of [1, 2, 3]) yield* job.send(E.Add({ by }))
        yield* first.close
        const [, second] = yield* events(key)
        yield* journal.rewrite(key, { ...(second as NonNullable<typeof second>), body: "{" })
        const { engine } = yield* open()
        const broken = yield* Effect.flatMap(engine.get(Job, "j"), Effect.fromOption)
        expect(yield* Effect.flip(broken.state)).toMatchObject({ _tag: "EventReplayError", state: "Busy", event: "Add", sequence: 2 })
        expect((yield* engine.list(Job, { status: "held" })).instances).toMatchObject([{ id: "j", tag: "Busy" }])
      }))

    test("75 a snapshot taken while sends run pairs a state with its own sequence", ({ open, journal, quiet }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const sends = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 60 }), () => job.send(E.Add({ by: 1 })), { concurrency: 7 }),
        )
        for (let round = 0; round < 20; round++) {
          if (round % 4 === 3) yield* quiet
          yield* job.saveSnapshot
          const { snapshot } = yield* Effect.flatMap(journal.open(key), Effect.fromOption)
          expect(JSON.parse(snapshot?.body ?? "null")).toMatchObject({ s: { n: snapshot?.sequence } })
        }
        yield* Fiber.join(sends)
        yield* job.saveSnapshot
        const { snapshot } = yield* Effect.flatMap(journal.open(key), Effect.fromOption)
        expect(snapshot?.sequence).toBe(60)
      }))

    test("78 startedAt, the last transition and the history survive", ({ open, pass }) =>
      Effect.gen(function* () {
        yield* pass("1 second")
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j")
        yield* pass("1 second")
        yield* job.send(E.Start())
        yield* job.send(E.Again())
        const before = yield* job.snapshot
        const told = yield* Stream.runCollect(job.history)
        yield* first.close
        yield* pass("1 hour")
        const { engine } = yield* open()
        const again = yield* engine.ensure(Job, "j")
        expect(yield* again.snapshot).toEqual(before)
        expect(before).toMatchObject({ startedAt: 1000, lastTransitionAt: 2000 })
        expect(yield* Stream.runCollect(again.history)).toEqual(told)
      }))

    test("79 the same id again is the first outcome and one entry: at once, later, in another state, after a restart", ({ open, events }) =>
      Effect.gen(function* () {
        for (const [index, machine] of [Job, Snapshots].entries()) {
          const id = `j-${index}`
          const first = yield* open()
          const job = yield* first.engine.start(machine, id, S.Busy({ n: 1 }))
          const outcome = yield* job.call(E.Add({ by: 2 }), { id: "webhook-1" })
          expect(outcome).toMatchObject({ _tag: "Stay", from: { n: 1 }, state: { n: 3 } })
          const seen = { _tag: outcome._tag, from: outcome.from, state: outcome.state, event: outcome.event }
          expect(yield* job.call(E.Add({ by: 2 }), { id: "webhook-1" })).toMatchObject(seen)
          expect(yield* job.call(E.Again(), { id: "again" })).toMatchObject({ _tag: "Goto" })
          expect(yield* job.call(E.Again(), { id: "again" })).toMatchObject({ _tag: "Goto" })
          expect(yield* job.ask(E.Count(), { id: "count" })).toBe(3)
          yield* job.send(E.Pause())
          expect(yield* job.call(E.Add({ by: 2 }), { id: "webhook-1" })).toMatchObject(seen)
          yield* first.close
          const second = yield* open()
          const again = yield* second.engine.ensure(machine, id)
          expect(yield* again.call(E.Add({ by: 2 }), { id: "webhook-1" })).toMatchObject(seen)
          expect(yield* again.ask(E.Count(), { id: "count" })).toBe(3)
          yield* again.send(E.Resume())
          yield* again.send(E.Add({ by: 10 }))
          expect(yield* again.ask(E.Count(), { id: "count" })).toBe(3)
          expect((yield* events({ machine: "job", id })).map(({ tag }) => tag)).toEqual(["Add", "Again", "Count", "Pause", "Resume", "Add"])
        }
      }))

    test("79 twenty of the same id at once are one entry, and all hear the same", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const send = () => job.call(E.Add({ by: 1 }), { id: "same" })
        const noise = () => job.call(E.Add({ by: 100 }))
        const outcomes = yield* Effect.all([...Array.from({ length: 20 }, send), noise(), ...Array.from({ length: 20 }, send)], {
          concurrency: "unbounded",
        })
        const same = outcomes.filter(({ event }) => event._tag === "Add" && event.by === 1)
        expect(new Set(same.map(({ state }) => state.n))).toEqual(new Set([1]))
        expect(yield* events(key)).toHaveLength(2)
        expect(yield* job.state).toEqual(S.Busy({ n: 101 }))
      }))

    test("79 the same id on two engines at once is one entry", ({ open, events }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
        const other = yield* two.engine.ensure(Job, "j")
        yield* other.state
        const outcomes = yield* Effect.forEach([job, other, job, other], (handle) => handle.call(E.Add({ by: 1 }), { id: "same" }), {
          concurrency: "unbounded",
        })
        for (const outcome of outcomes) expect(outcome).toMatchObject({ _tag: "Stay", state: { n: 1 } })
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("79 an id that ended the instance is answered with the end", ({ open, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Snapshots, "j", S.Busy({ n: 1 }))
        expect(yield* job.call(E.Quit(), { id: "bye" })).toMatchObject({ _tag: "Stop", reason: "quit" })
        expect(yield* job.call(E.Quit(), { id: "bye" })).toMatchObject({ _tag: "Stop", reason: "quit" })
        const done = yield* first.engine.start(Job, "k", S.Busy({ n: 1 }))
        yield* done.send(E.Finish(), { id: "end" })
        yield* first.close
        const { engine } = yield* open()
        const again = yield* engine.ensure(Snapshots, "j")
        expect(yield* again.call(E.Quit(), { id: "bye" })).toMatchObject({ _tag: "Stop", reason: "quit" })
        expect(yield* (yield* engine.ensure(Job, "k")).call(E.Finish(), { id: "end" })).toMatchObject({
          _tag: "Goto",
          state: { _tag: "Done" },
        })
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("79 an effectful decision does not run again for the same id; what it came to is found after a restart", ({ open, events }) =>
      Effect.gen(function* () {
        const At = State({ Here: { n: Schema.Number }, Gone: {} })
        const Go = Event({ Ask: Event.reply({}, Schema.Number), Leave: {} })
        let asked = 0
        const Oracle = Machine.make({ name: "job", state: At, event: Go, initial: At.Here({ n: 0 }) })
          .on(At.Here, Go.Ask, At.Here, ({ state }) =>
            Effect.sync(() => {
              asked++
              return reply(asked, At.Here({ n: state.n + asked }))
            }),
          )
          .on(At.Here, Go.Leave, At.Gone, () => Effect.succeed(At.Gone()))
          .final(At.Gone)
        const first = yield* open()
        const oracle = yield* first.engine.start(Oracle, "j")
        expect(yield* oracle.ask(Go.Ask(), { id: "q" })).toBe(1)
        expect(yield* oracle.ask(Go.Ask(), { id: "q" })).toBe(1)
        yield* first.close
        const { engine } = yield* open()
        const again = yield* engine.ensure(Oracle, "j")
        expect(yield* again.ask(Go.Ask(), { id: "q" })).toBe(1)
        expect(asked).toBe(1)
        expect(yield* again.state).toEqual(At.Here({ n: 1 }))
        yield* again.send(Go.Leave())
        expect(yield* again.snapshot).toMatchObject({ status: "final", previous: { _tag: "Here" } })
        expect(yield* events(key)).toHaveLength(2)
      }))

    test("80 a graceful stop stores everything accepted, carries it out, and takes nothing more", ({ open, events, pass, quiet }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const Slow = Job.enter(S.Paused, () =>
          Effect.delay(
            Effect.sync(() => void log.push("paused")),
            "1 second",
          ),
        )
        const { engine, probe, close } = yield* open()
        const job = yield* engine.start(Slow, "j", S.Busy({ n: 0 }))
        const gate = yield* Deferred.make<void>()
        probe.onCommit = (_, commit) => Effect.andThen(Deferred.await(gate), commit)
        const sends = yield* Effect.forEach([E.Add({ by: 1 }), E.Add({ by: 2 }), E.Pause()], (event) =>
          Effect.forkChild(job.send(event), { startImmediately: true }),
        )
        const starting = yield* Effect.forkChild(engine.start(Slow, "k"), { startImmediately: true })
        yield* quiet
        const closing = yield* Effect.forkChild(close, { startImmediately: true })
        yield* quiet
        expect(yield* Effect.flip(job.send(E.Add({ by: 3 })))).toMatchObject({ _tag: "MachineStopped", reason: "the engine was stopped" })
        expect(yield* Effect.flip(engine.start(Slow, "l"))).toMatchObject({ _tag: "MachineStopped" })
        yield* Deferred.succeed(gate, undefined)
        yield* quiet
        expect(closing.pollUnsafe()).toBeUndefined()
        yield* pass("1 second")
        yield* Fiber.joinAll(sends)
        yield* Fiber.join(starting)
        yield* Fiber.join(closing)
        expect(log).toEqual(["paused"])
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Add", "Add", "Pause"])
        expect(yield* engine.live).toBe(0)
      }))

    test("a crash loses only what was not stored: the events that were answered are there", ({ open, events, quiet }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* Effect.forEach([1, 2, 3], (by) => job.send(E.Add({ by })), { concurrency: "unbounded" })
        yield* first.crash
        const lost = yield* Effect.forkChild(job.send(E.Add({ by: 100 })), { startImmediately: true })
        yield* quiet
        const { engine } = yield* open()
        const again = yield* engine.ensure(Job, "j")
        expect(yield* again.state).toEqual(S.Busy({ n: 6 }))
        expect(yield* events(key)).toHaveLength(3)
        expect(lost.pollUnsafe()).toBeUndefined()
        yield* Fiber.interrupt(lost)
      }))
  })
