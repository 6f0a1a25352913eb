/** Two engines have an instance in memory, and one of them changes it: the other sees that. */
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { EngineService } from "../../src/Engine.ts"
import type { Instance } from "../../src/Instance.ts"
import { fastLock } from "../../src/nodes/HeldLease.ts"
import { E, Job, S } from "./Machines.ts"
import type { Kit, Opened, Rig } from "./Rig.ts"
import { outage } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

/** An instance in the memory of both. */
const shared = ({ open }: Rig, machine: typeof Job = Job) =>
  Effect.gen(function* () {
    const here = yield* open()
    const there = yield* open()
    const writer = yield* there.engine.start(machine, "j", S.Busy({ n: 0 }))
    const reader = yield* here.engine.ensure(machine, "j")
    yield* reader.state
    return { here, there, writer, reader }
  })

/** What was asked of the store to find out how far instances are. */
const questions = ({ probe }: Opened) => probe.standings.map((keys) => keys.map(({ id }) => id))

type JobInstance = Instance<typeof S.Type, typeof E.Type>

const missing = (use: Effect.Effect<unknown, unknown>) =>
  Effect.map(Effect.flip(use), (error) => expect(error).toMatchObject({ _tag: "InstanceNotFound", id: "j" }))

export const following = ({ describe, test }: Kit) =>
  describe("what other engines write", () => {
    test("84 the state, the snapshot and the last sequence are those of the store, no matter which node wrote them", (rig) =>
      Effect.gen(function* () {
        const { reader, writer, here } = yield* shared(rig)
        yield* writer.send(E.Add({ by: 1 }))
        expect(yield* reader.state).toEqual(S.Busy({ n: 1 }))
        yield* writer.send(E.Pause())
        expect(yield* reader.snapshot).toMatchObject({
          state: S.Paused({ n: 1 }),
          previous: S.Busy({ n: 1 }),
          sequence: 2,
          status: "running",
        })
        yield* writer.send(E.Resume())
        expect(yield* reader.lastSequence).toBe(3)
        expect(yield* here.engine.live).toBe(1)
        // What was read is what the next event is decided on.
        yield* reader.send(E.Add({ by: 10 }))
        expect(yield* writer.state).toEqual(S.Busy({ n: 11 }))
      }))

    test("84 an instance that another engine ended has ended", (rig) =>
      Effect.gen(function* () {
        const { reader, writer, here } = yield* shared(rig)
        yield* writer.send(E.Finish())
        expect(yield* reader.snapshot).toMatchObject({ state: S.Done({ n: 0 }), status: "final" })
        expect(yield* here.engine.live).toBe(0)
        expect(yield* reader.awaitFinal).toEqual(S.Done({ n: 0 }))
        const stopped = yield* here.engine.start(Job, "k", S.Busy({ n: 0 }))
        yield* (yield* (yield* rig.open()).engine.ensure(Job, "k")).send(E.Quit())
        expect(yield* stopped.snapshot).toMatchObject({ status: "stopped", reason: "quit" })
      }))

    test("84 a snapshot saved by hand is of where the store is", (rig) =>
      Effect.gen(function* () {
        const { reader, writer } = yield* shared(rig)
        yield* writer.send(E.Add({ by: 1 }))
        expect(yield* reader.saveSnapshot).toBe(true)
        const { snapshot } = yield* Effect.flatMap(rig.journal.open(key), Effect.fromOption)
        expect(snapshot?.sequence).toBe(1)
      }))

    test("84 callers that read at the same moment share one question, and one reading", (rig) =>
      Effect.gen(function* () {
        const { reader, writer, here, there } = yield* shared(rig)
        const others = yield* Effect.forEach(["k", "l"], (id) => here.engine.start(Job, id))
        yield* writer.send(E.Add({ by: 1 }))
        const before = questions(here).length
        let opened = 0
        here.probe.onOpen = (open) => {
          opened++
          return open
        }
        const states = yield* Effect.forEach([reader, ...others, reader, ...others], (one) => one.state, { concurrency: "unbounded" })
        expect(states.map(({ n }) => n)).toEqual([1, 0, 0, 1, 0, 0])
        expect(questions(here).slice(before)).toEqual([["j", "k", "l"]])
        // The question, the record and its events.
        expect(opened).toBe(3)
        expect(questions(there)).toEqual([])
      }))

    for (const when of ["before the event is sent", "while the event is postponed"]) {
      test(`84 a sender whose event is postponed is answered when another engine changes the state ${when}`, (rig) =>
        Effect.gen(function* () {
          const { reader, writer } = yield* shared(rig)
          yield* reader.send(E.Pause())
          const resumed = Effect.andThen(rig.quiet, writer.send(E.Resume()))
          if (when === "before the event is sent") yield* resumed
          const sent = yield* Effect.forkChild(reader.send(E.Add({ by: 1 }), { id: "add" }), { startImmediately: true })
          if (when === "while the event is postponed") yield* resumed
          yield* rig.passFor(sent)
          expect((yield* rig.events(key)).map(({ tag }) => tag)).toEqual(["Pause", "Resume", "Add"])
          expect(yield* writer.state).toEqual(S.Busy({ n: 1 }))
        }))
    }

    test("84 an event that is postponed by an old state fails where the store cannot be asked", (rig) =>
      Effect.gen(function* () {
        const { reader, here } = yield* shared(rig)
        yield* reader.send(E.Pause())
        here.probe.onOpen = () => Effect.fail(outage("read"))
        expect(yield* Effect.flip(reader.send(E.Add({ by: 1 })))).toMatchObject({ _tag: "PersistenceFailed" })
        here.probe.onOpen = (open) => open
      }))

    test("84 an instance is followed only while an event is postponed", (rig) =>
      Effect.gen(function* () {
        const { reader, here } = yield* shared(rig)
        yield* reader.send(E.Pause())
        const unfollowed = questions(here).length
        yield* rig.pass("1 minute")
        expect(questions(here).length).toBe(unfollowed)
        const sent = yield* Effect.forkChild(reader.send(E.Add({ by: 1 })), { startImmediately: true })
        yield* rig.passUntil(
          "1 second",
          Effect.sync(() => questions(here).slice(unfollowed).flat()),
          (asked) => asked.includes("j"),
        )
        yield* reader.send(E.Resume())
        yield* rig.passFor(sent)
        const before = questions(here).length
        yield* rig.pass("1 minute")
        expect(questions(here).length).toBe(before)
      }))

    test("84 senders do not ask the store", (rig) =>
      Effect.gen(function* () {
        const { writer, there } = yield* shared(rig)
        for (const by of [1, 2, 3]) yield* writer.send(E.Add({ by }))
        expect(yield* writer.ask(E.Count())).toBe(6)
        expect(questions(there)).toEqual([])
      }))

    test("84 a read fails where the store cannot be asked, and never returns what may be old", (rig) =>
      Effect.gen(function* () {
        const { reader, here } = yield* shared(rig)
        here.probe.onOpen = () => Effect.fail(outage("read"))
        expect(yield* Effect.flip(reader.state)).toMatchObject({ _tag: "PersistenceFailed" })
        here.probe.onOpen = (open) => open
        expect(yield* reader.state).toEqual(S.Busy({ n: 0 }))
      }))

    test("84 a caller that waits for a state gets it, though another engine entered it and left it again", (rig) =>
      Effect.gen(function* () {
        const { reader, writer, here } = yield* shared(rig, Job.persist({ snapshot: { _tag: "EveryTransition" } }))
        const paused = yield* Effect.forkChild(reader.waitFor((state) => state._tag === "Paused"))
        const final = yield* Effect.forkChild(reader.awaitFinal)
        const changes = yield* Effect.forkChild(Stream.runCollect(reader.changes))
        yield* rig.quiet
        for (const event of [E.Add({ by: 1 }), E.Pause(), E.Resume(), E.Count()]) yield* writer.send(event)
        expect(yield* rig.passFor(paused)).toEqual(S.Paused({ n: 1 }))
        yield* writer.send(E.Finish())
        expect(yield* rig.passFor(final)).toEqual(S.Done({ n: 1 }))
        expect(yield* rig.passFor(changes)).toEqual([
          S.Busy({ n: 0 }),
          S.Busy({ n: 1 }),
          S.Paused({ n: 1 }),
          S.Busy({ n: 1 }),
          S.Done({ n: 1 }),
        ])
        expect(yield* here.engine.live).toBe(0)
      }))

    test("84 where the events between were pruned, listeners get the last state", (rig) =>
      Effect.gen(function* () {
        const { reader, writer } = yield* shared(rig)
        const changes = yield* Effect.forkChild(Stream.runCollect(Stream.take(reader.changes, 2)))
        yield* rig.quiet
        for (const event of [E.Add({ by: 1 }), E.Pause(), E.Resume()]) yield* writer.send(event)
        yield* writer.saveSnapshot
        yield* writer.prune
        expect(yield* rig.passFor(changes)).toEqual([S.Busy({ n: 0 }), S.Busy({ n: 1 })])
      }))

    test("84 one question an interval serves all callers that wait; without callers there is none", (rig) =>
      Effect.gen(function* () {
        const here = yield* rig.open({ followInterval: "10 seconds" })
        const jobs = yield* Effect.forEach(["j", "k"], (id) => here.engine.start(Job, id))
        yield* Effect.forEach(jobs, (job) => job.state)
        const idle = questions(here).length
        yield* rig.pass("1 minute")
        expect(questions(here)).toHaveLength(idle)
        const waiting = yield* Effect.forEach([...jobs, ...jobs], (job) => Effect.forkChild(job.awaitFinal))
        yield* rig.quiet
        const before = questions(here).length
        yield* rig.pass("9 seconds")
        expect(questions(here)).toHaveLength(before)
        yield* rig.pass("1 second")
        yield* rig.eventually(
          Effect.sync(() => questions(here).slice(before)),
          (asked) => asked.length > 0,
        )
        expect(questions(here).slice(before)).toEqual([["j", "k"]])
        yield* Fiber.interruptAll(waiting)
        yield* rig.pass("1 minute")
        expect(questions(here)).toHaveLength(before + 1)
      }))

    test("84 and 80 callers that wait survive a store that is away for a while", (rig) =>
      Effect.gen(function* () {
        const { reader, writer, here } = yield* shared(rig)
        const final = yield* Effect.forkChild(reader.awaitFinal)
        yield* rig.quiet
        here.probe.onOpen = () => Effect.fail(outage("read"))
        yield* writer.send(E.Finish())
        for (let second = 0; second < 30; second++) yield* rig.pass("1 second")
        expect(final.pollUnsafe()).toBeUndefined()
        here.probe.onOpen = (open) => open
        expect(yield* rig.passFor(final)).toEqual(S.Done({ n: 0 }))
      }))

    test("84 an engine that only observes shows what other engines do, and starts nothing", (rig) =>
      Effect.gen(function* () {
        const works: Array<string> = []
        const working = (node: string) =>
          Job.spawn(S.Busy, () =>
            Effect.andThen(
              Effect.sync(() => void works.push(node)),
              Effect.never,
            ),
          )
        const there = yield* rig.open()
        const observer = yield* rig.open({ observe: true })
        const writer = yield* there.engine.start(working("writer"), "j", S.Busy({ n: 0 }))
        const seen = yield* Effect.flatMap(observer.engine.get(working("observer"), "j"), Effect.fromOption)
        const changes = yield* Effect.forkChild(Stream.runCollect(seen.changes))
        const paused = yield* Effect.forkChild(seen.waitFor((state) => state._tag === "Paused"))
        yield* rig.quiet
        yield* writer.send(E.Pause())
        expect(yield* rig.passFor(paused)).toEqual(S.Paused({ n: 0 }))
        yield* writer.send(E.Resume())
        yield* writer.send(E.Finish())
        expect((yield* rig.passFor(changes)).map(({ _tag }) => _tag)).toEqual(["Busy", "Paused", "Busy", "Done"])
        expect(works).toEqual(["writer", "writer"])
        expect(observer.probe.batches).toEqual([])
      }))

    const usesOfRemoved: Readonly<Record<string, (engine: EngineService, job: JobInstance) => Effect.Effect<unknown, unknown>>> = {
      "a send finds that there is none": (_, job) => missing(job.send(E.Add({ by: 1 }))),
      "an event that its last state refuses finds that there is none": (_, job) => missing(job.send(E.Start())),
      "a question finds that there is none": (_, job) => missing(job.ask(E.Count())),
      "it is ensured, and is stored": (engine, job) =>
        Effect.gen(function* () {
          yield* engine.ensure(Job, "j", S.Busy({ n: 7 }))
          yield* job.send(E.Add({ by: 1 }))
          expect(yield* job.state).toEqual(S.Busy({ n: 8 }))
        }),
      "it is ensured after a send that failed": (engine, job) =>
        Effect.gen(function* () {
          yield* missing(job.send(E.Add({ by: 1 })))
          yield* engine.ensure(Job, "j", S.Busy({ n: 7 }))
          expect(yield* job.state).toEqual(S.Busy({ n: 7 }))
        }),
      "it is started again": (engine, job) =>
        Effect.gen(function* () {
          yield* engine.start(Job, "j", S.Busy({ n: 7 }))
          expect(yield* job.state).toEqual(S.Busy({ n: 7 }))
        }),
    }
    for (const [what, use] of Object.entries(usesOfRemoved)) {
      test(`84 where another engine has removed an instance that is in memory here, ${what}`, (rig) =>
        Effect.gen(function* () {
          const there = yield* rig.open()
          const job = yield* there.engine.start(Job, "j", S.Busy({ n: 0 }))
          const here = yield* rig.open()
          const seen = yield* here.engine.ensure(Job, "j")
          yield* job.send(E.Finish())
          yield* rig.eventually(there.engine.purge(Job, { endedBefore: 0 }), (count) => count === 1)
          expect(yield* here.engine.live).toBe(1)
          yield* use(here.engine, seen)
        }))
    }

    const second = S.Busy({ n: 101 })
    const usesOfSecondLife: Readonly<Record<string, (engine: EngineService, job: JobInstance) => Effect.Effect<unknown, unknown>>> = {
      "its state": (_, job) => Effect.map(job.state, (state) => expect(state).toEqual(second)),
      "its snapshot": (_, job) => Effect.map(job.snapshot, (snapshot) => expect(snapshot).toMatchObject({ state: second, sequence: 1 })),
      "what is stored": (_, job) => Effect.map(job.stored, (stored) => expect(stored).toMatchObject({ state: second, sequence: 1 })),
      "what it waits for": (_, job) =>
        Effect.map(
          job.waitFor(({ n }) => n > 100),
          (state) => expect(state).toEqual(second),
        ),
      "what is ensured": (engine) =>
        Effect.map(
          Effect.flatMap(engine.ensure(Job, "j"), (job) => job.call(E.Add({ by: 1 }))),
          ({ state }) => expect(state).toEqual(S.Busy({ n: 102 })),
        ),
      "what an event is decided on after a reading": (_, job) =>
        Effect.map(Effect.andThen(job.state, job.call(E.Add({ by: 1 }))), ({ state }) => expect(state).toEqual(S.Busy({ n: 102 }))),
    }
    for (const [what, use] of Object.entries(usesOfSecondLife)) {
      test(`84 where another engine has removed an instance and started it again, ${what} is of the new one`, (rig) =>
        Effect.gen(function* () {
          const there = yield* rig.open()
          const job = yield* there.engine.start(Job, "j", S.Busy({ n: 0 }))
          const here = yield* rig.open()
          const seen = yield* here.engine.ensure(Job, "j")
          yield* seen.send(E.Add({ by: 1 }))
          yield* job.send(E.Finish())
          yield* rig.eventually(there.engine.purge(Job, { endedBefore: 0 }), (count) => count === 1)
          yield* rig.pass("1 second")
          yield* there.engine.start(Job, "j", S.Busy({ n: 100 }))
          yield* job.send(E.Add({ by: 1 }))
          expect(yield* here.engine.live).toBe(1)
          yield* use(here.engine, seen)
        }))
    }

    test("84 an engine that only observes, or has stopped, writes nothing", (rig) =>
      Effect.gen(function* () {
        const working = yield* rig.open()
        const ended = yield* working.engine.start(Job, "ended", S.Done({ n: 0 }))
        const job = yield* working.engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* job.send(E.Pause())
        yield* job.saveSnapshot
        yield* rig.pass("1 second")
        const observer = yield* rig.open({ observe: true })
        const stopped = yield* rig.open()
        yield* stopped.engine.register(Job)
        yield* stopped.close
        for (const [{ engine }, reason] of [
          [observer, "this process only observes"],
          [stopped, "the engine was stopped"],
        ] as const) {
          const seen = yield* Effect.flatMap(engine.get(Job, "j"), Effect.fromOption)
          const refused = yield* Effect.flip(engine.fork(Job, "j", 1, "k"))
          expect(refused).toMatchObject({ _tag: "MachineStopped", id: "k" })
          expect(refused.message).toContain(reason)
          const writes = { purge: engine.purge(Job, { endedBefore: 0 }), prune: seen.prune, repair: engine.repair(Job, "j", 1, E.Pause()) }
          for (const [name, write] of Object.entries(writes)) {
            expect((yield* Effect.flip<unknown, Error, never>(write)).message, name).toContain(reason)
          }
        }
        expect(yield* rig.record(ended)).toMatchObject({ status: "final" })
        expect(yield* rig.events(job)).toHaveLength(1)
        expect((yield* working.engine.list(Job)).instances.map(({ id }) => id).sort()).toEqual(["ended", "j"])
      }))

    test("84 where only its holder writes, its holder need not ask", (rig) =>
      Effect.gen(function* () {
        const here = yield* rig.open({ lock: { ...fastLock, nodeId: "here" } })
        const Slow = Job.on(S.Busy, E.Start, S.Busy, ({ state }) => Effect.delay(Effect.succeed(S.Busy(state)), "1 second"))
        const job = yield* here.engine.start(Slow, "j", S.Busy({ n: 0 }))
        const sending = yield* Effect.forkChild(job.send(E.Start()), { startImmediately: true })
        yield* rig.eventually(rig.leases.get("instance/job/j"), (lease) => lease._tag === "Some")
        yield* rig.quiet
        const before = questions(here).length
        expect(yield* job.state).toEqual(S.Busy({ n: 0 }))
        expect(questions(here)).toHaveLength(before)
        yield* rig.passFor(sending)
      }))
  })
