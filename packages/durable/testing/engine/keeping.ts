/** Many instances: finding them, copying them, and having only those in memory that are needed. */
import { Machine, Slot } from "@detent/machine"
import type { InstanceCursor } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Call, E, Job, S, T, TimedCall, V } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { StoreProbe } from "./StoreProbe.ts"

const key = (id: string) => ({ machine: "job", id })

export const keeping = ({ describe, test }: Kit) => {
  describe("instances", () => {
    test("are listed by state, status and time, oldest change first, in pages", ({ open, pass }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        for (let index = 0; index < 25; index++) {
          const job = yield* engine.start(Job, `j-${String(index).padStart(2, "0")}`)
          if (index % 5 === 0) yield* job.send(E.Start())
          if (index === 24) yield* job.send(E.Quit())
          yield* pass("1 second")
        }
        const seen: Array<string> = []
        let after: InstanceCursor | undefined
        let pages = 0
        do {
          const page = yield* engine.list(Job, { limit: 10, ...(after === undefined ? {} : { after }) })
          for (const { id } of page.instances) seen.push(id)
          after = page.next
          pages++
        } while (after !== undefined)
        expect(pages).toBe(3)
        expect(seen).toEqual(Array.from({ length: 25 }, (_, index) => `j-${String(index).padStart(2, "0")}`))
        for (const limit of [0, -1, 1.5, Number.NaN])
          expect((yield* engine.list(Job, { limit })).instances).toHaveLength(limit > 0 ? 1 : Number.isNaN(limit) ? 25 : 0)
        expect((yield* engine.list(Job, { state: "Busy" })).instances).toHaveLength(5)
        expect((yield* engine.list(Job, { status: "stopped" })).instances.map(({ id }) => id)).toEqual(["j-24"])
        expect((yield* engine.list(Job, { updatedAfter: 19_999, updatedBefore: 22_000 })).instances.map(({ id }) => id)).toEqual([
          "j-20",
          "j-21",
        ])
        expect(yield* engine.count(Job)).toEqual(
          new Map([
            ["Busy", 5],
            ["Idle", 20],
          ]),
        )
      }))

    test("restoreAll brings back all that run, and only those", ({ open }) =>
      Effect.gen(function* () {
        const first = yield* open()
        for (const id of ["a", "b", "c"]) yield* first.engine.start(Job, id)
        yield* (yield* Effect.flatMap(first.engine.get(Job, "b"), Effect.fromOption)).send(E.Quit())
        yield* first.close
        const { engine } = yield* open()
        const jobs = yield* engine.restoreAll(Job)
        expect(jobs.map(({ id }) => id).sort()).toEqual(["a", "c"])
        expect(yield* engine.live).toBe(2)
        yield* Effect.forEach(jobs, (job) => job.send(E.Start()), { concurrency: "unbounded" })
        expect((yield* engine.list(Job, { state: "Busy" })).instances).toHaveLength(2)
      }))

    test("159 restoreAll returns each instance once, though instances of the page before change between pages", ({ open, pass }) =>
      Effect.gen(function* () {
        const writer = yield* open()
        // More than two pages of 500.
        const ids = Array.from({ length: 1001 }, (_, index) => `j-${index}`)
        yield* writer.engine.startAll(
          Job,
          ids.map((id) => ({ id, input: S.Busy({ n: 0 }) })),
        )
        yield* pass("1 second")
        const probe = new StoreProbe()
        const pages: Array<number> = []
        probe.onPage = ({ status }, page) =>
          Effect.tap(page, (records) => {
            if (status !== "running") return Effect.void
            pages.push(records.length)
            const moved = [...records.slice(0, 3), ...records.slice(-3)]
            const add = (id: string) => Effect.flatMap(writer.engine.ensure(Job, id, S.Idle({ n: 0 })), (job) => job.send(E.Add({ by: 1 })))
            return Effect.orDie(Effect.forEach(moved, ({ id }) => add(id), { concurrency: "unbounded", discard: true }))
          })
        const { engine } = yield* open({ probe })
        const jobs = yield* engine.restoreAll(Job)
        expect(pages).toEqual([500, 500, 1])
        expect(jobs.map(({ id }) => id)).toEqual(ids.toSorted())
      }))

    test("spawn and restore are start and open, with the id first", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 1 }))
        expect(job).toMatchObject({ machine: "job", id: "j" })
        const again = yield* Effect.flatMap(engine.restore("j", Job), Effect.fromOption)
        expect(yield* again.state).toEqual(S.Busy({ n: 1 }))
      }))

    test("many who open at once share one instance and one reading", ({ open }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const Working = Job.spawn(S.Busy, () =>
          Effect.andThen(
            Effect.sync(() => void log.push("works")),
            Effect.never,
          ),
        )
        const first = yield* open()
        yield* first.engine.start(Working, "j", S.Busy({ n: 0 }))
        yield* first.close
        log.length = 0
        const { engine } = yield* open()
        const registering = yield* Effect.forkChild(engine.register(Working), { startImmediately: true })
        const job = yield* Effect.flatMap(engine.get(Working, "j"), Effect.fromOption)
        yield* Effect.forEach(Array.from({ length: 20 }), () => job.send(E.Add({ by: 1 })), { concurrency: "unbounded" })
        yield* Fiber.join(registering)
        expect(yield* job.state).toEqual(S.Busy({ n: 20 }))
        expect(log).toEqual(["works"])
        expect(yield* engine.live).toBe(1)
      }))
  })

  describe("fork", () => {
    test("copies the journal up to a sequence; both go their own ways", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        for (const by of [1, 2, 3, 4]) yield* job.send(E.Add({ by }), { id: `add-${by}` })
        const copy = yield* engine.fork(Job, "j", 2, "k")
        expect(yield* copy.snapshot).toMatchObject({ state: S.Busy({ n: 3 }), sequence: 2, status: "running" })
        expect((yield* Stream.runCollect(copy.history)).map(({ sequence, state }) => [sequence, state.n])).toEqual([
          [1, 1],
          [2, 3],
        ])
        yield* copy.send(E.Add({ by: 100 }))
        yield* job.send(E.Add({ by: 5 }))
        expect(yield* copy.state).toEqual(S.Busy({ n: 103 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 15 }))
        yield* copy.send(E.Add({ by: 2 }), { id: "add-2" })
        expect(yield* copy.state).toEqual(S.Busy({ n: 103 }))
        expect(yield* events(key("k"))).toHaveLength(3)
        expect(yield* Effect.flip(engine.fork(Job, "j", 2, "k"))).toMatchObject({ _tag: "ActorExists", id: "k" })
        expect(yield* Effect.flip(engine.fork(Job, "nobody", 2, "l"))).toMatchObject({ _tag: "InstanceNotFound" })
      }))

    test("beyond the end of the journal, or before its beginning, is refused with where it ends", ({ open, journal }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* job.send(E.Add({ by: 1 }))
        for (const sequence of [2, 99, -1, 0.5, "two" as unknown as number]) {
          const expected = { _tag: "SequenceNotReached", machine: "job", id: "j", sequence: Number(sequence), last: 1 }
          expect(yield* Effect.flip(engine.fork(Job, "j", sequence, "k"))).toMatchObject(expected)
          expect(yield* Effect.flip(job.stateAt(sequence))).toMatchObject(expected)
        }
        expect((yield* Effect.flip(job.stateAt(2))).message).toBe(
          "job j has no sequence 2: its journal goes from 0 to 1; ask for one of those",
        )
        expect((yield* journal.open(key("k")))._tag).toBe("None")
      }))

    test("decides the self-sent events that were not handled at the sequence, in their order", ({ open, eventually, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 2 }))
        yield* job.send(E.Twice())
        yield* eventually(job.state, ({ _tag }) => _tag === "Paused")
        const original = (yield* events(key("j"))).map(({ tag, dedupeId }) => [tag, dedupeId])
        for (const through of [1, 2]) {
          const copy = yield* engine.fork(Job, "j", through, `from-${through}`)
          expect(yield* eventually(copy.state, ({ _tag }) => _tag === "Paused")).toEqual(S.Paused({ n: 4 }))
          expect((yield* events(key(`from-${through}`))).map(({ tag, dedupeId }) => [tag, dedupeId])).toEqual(original)
        }
      }))

    test("decides them on another node where its own is killed meanwhile", ({ open, eventually, events, journal }) =>
      Effect.gen(function* () {
        const { engine, probe, crash } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 2 }))
        yield* job.send(E.Twice())
        yield* eventually(job.state, ({ _tag }) => _tag === "Paused")
        probe.onFork = (fork) => Effect.tap(fork, () => crash)
        yield* Effect.forkChild(engine.fork(Job, "j", 1, "k"), { startImmediately: true })
        yield* eventually(journal.open(key("k")), Option.isSome)
        const copy = yield* (yield* open()).engine.ensure(Job, "k")
        expect(yield* eventually(copy.state, ({ _tag }) => _tag === "Paused")).toEqual(S.Paused({ n: 4 }))
        expect(yield* events(key("k"))).toHaveLength(3)
      }))

    test("of an instance that has ended is one that runs, from before its end", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 1 }))
        yield* job.send(E.Finish())
        const copy = yield* engine.fork(Job, "j", 0, "k")
        yield* copy.send(E.Add({ by: 1 }))
        expect(yield* copy.state).toEqual(S.Busy({ n: 2 }))
        const ended = yield* engine.fork(Job, "j", 1, "l")
        expect(yield* ended.snapshot).toMatchObject({ status: "final" })
      }))

    test("does not repeat commands or hooks, and sets deadlines of its own", ({ open, pass, deadlines, eventually }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const effects = Slot.Effects({ mail: { to: Schema.String } })
        const Mailing = Machine.make({ name: "call", state: T, event: V, effects, initial: T.Waiting({ minutes: 1 }) })
          .on(T.Waiting, V.Again, T.Quiet, ({ effects }) => {
            effects.mail({ to: "x" })
            return T.Quiet()
          })
          .enter(T.Quiet, () => Effect.sync(() => void log.push("entered")))
          .timeout(T.Quiet, "1 minute", T.Late)
          .build({ mail: () => Effect.void })
        const { engine, probe } = yield* open()
        const call = yield* engine.start(Mailing, "c")
        yield* call.send(V.Again())
        yield* pass("30 seconds")
        const commands = probe.batches.flat().flatMap((commit) => commit.commands).length
        const copy = yield* engine.fork(Mailing, "c", 1, "d")
        expect(probe.batches.flat().flatMap((commit) => commit.commands)).toHaveLength(commands)
        expect(log).toEqual(["entered"])
        expect(yield* deadlines({ machine: "call", id: "d" })).toEqual([{ name: "timeout", entry: 1, due: 90_000 }])
        yield* pass("30 seconds")
        yield* eventually(call.state, ({ _tag }) => _tag === "Late")
        expect((yield* copy.state)._tag).toBe("Quiet")
        yield* pass("30 seconds")
        yield* eventually(copy.state, ({ _tag }) => _tag === "Late")
      }))
  })

  describe("passivation", () => {
    test("an idle instance leaves memory; the next send brings it back", ({ open, pass, eventually }) =>
      Effect.gen(function* () {
        const { engine } = yield* open({ passivateAfter: "1 minute" })
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* job.send(E.Add({ by: 1 }))
        yield* pass("30 seconds")
        expect(yield* engine.live).toBe(1)
        yield* pass("1 minute")
        yield* eventually(engine.live, (live) => live === 0)
        yield* job.send(E.Add({ by: 1 }))
        expect(yield* job.snapshot).toMatchObject({ state: S.Busy({ n: 2 }), sequence: 2 })
        expect(yield* engine.live).toBe(1)
        yield* pass("30 seconds")
        expect(yield* engine.live).toBe(1)
      }))

    test("deadlines of instances that are not in memory are met on time", ({ open, pass, record, eventually }) =>
      Effect.gen(function* () {
        const Patient = Call.timeout(T.Waiting, "1 hour", T.Late)
        const { engine } = yield* open({ passivateAfter: "1 minute", sweeper: { interval: "1000 hours" } })
        yield* engine.start(Patient, "c")
        yield* pass("30 minutes")
        expect(yield* engine.live).toBe(0)
        yield* pass("29 minutes")
        expect(yield* record({ machine: "call", id: "c" })).toMatchObject({ tag: "Waiting" })
        yield* pass("1 minute")
        yield* eventually(record({ machine: "call", id: "c" }), ({ tag, updatedAt }) => tag === "Late" && updatedAt === 3_600_000)
      }))

    test("160 a machine's retention removes instances that ended long ago, and nothing else", ({
      open,
      pass,
      passUntil,
      journal,
      events,
    }) =>
      Effect.gen(function* () {
        const Short = Job.persist({ retention: "10 minutes" })
        const { engine } = yield* open()
        const ended = yield* engine.start(Short, "ended", S.Busy({ n: 0 }))
        yield* ended.send(E.Finish())
        const running = yield* engine.start(Short, "running", S.Busy({ n: 0 }))
        yield* running.send(E.Add({ by: 1 }))
        yield* pass("5 minutes")
        expect(Option.isSome(yield* journal.open({ machine: "job", id: "ended" }))).toBe(true)
        yield* passUntil("1 minute", journal.open({ machine: "job", id: "ended" }), Option.isNone)
        expect(yield* events({ machine: "job", id: "ended" })).toEqual([])
        expect(yield* running.state).toEqual(S.Busy({ n: 1 }))
        yield* engine.start(Short, "ended", S.Busy({ n: 7 }))
        expect(yield* engine.purge(Short, { endedBefore: "0 millis" })).toBe(0)
      }))

    test("160 a retention that is given at registration replaces the machine's own", ({ open, pass, passUntil, journal }) =>
      Effect.gen(function* () {
        const Short = Job.persist({ retention: "1 minute" })
        const { engine } = yield* open()
        yield* engine.register(Short, { retention: "10 minutes" })
        const ended = yield* engine.start(Short, "ended", S.Busy({ n: 0 }))
        yield* ended.send(E.Finish())
        yield* pass("5 minutes")
        expect(Option.isSome(yield* journal.open({ machine: "job", id: "ended" }))).toBe(true)
        yield* passUntil("1 minute", journal.open({ machine: "job", id: "ended" }), Option.isNone)
      }))

    test("instances that work, are watched, or keep postponed events stay", ({ open, pass }) =>
      Effect.gen(function* () {
        // A lease that outlasts the jump of the clock: work that lost its lease would leave memory and come back.
        const { engine } = yield* open({ passivateAfter: "1 minute", lease: "1 hour" })
        const Working = Job.spawn(S.Busy, () => Effect.never)
        yield* engine.start(Working, "works", S.Busy({ n: 0 }))
        const watched = yield* engine.start(TimedCall, "watched", T.Quiet())
        const isWatched = yield* Deferred.make<void>()
        yield* Effect.forkChild(
          Stream.runForEach(watched.changes, () => Deferred.succeed(isWatched, undefined)),
          { startImmediately: true },
        )
        yield* Deferred.await(isWatched)
        const postponing = yield* engine.start(Working, "postpones", S.Paused({ n: 0 }))
        const adding = yield* Effect.forkChild(postponing.call(E.Add({ by: 1 })), { startImmediately: true })
        yield* pass("10 minutes")
        expect(yield* engine.live).toBe(3)
        yield* postponing.send(E.Resume())
        expect(yield* Fiber.join(adding)).toMatchObject({ state: { n: 1 } })
      }))
  })
}
