/** Journals that do not keep everything: what is forgotten, what is not, and who may be reading meanwhile. */
import { Machine } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { EngineService } from "../../src/Engine.ts"
import type { Instance } from "../../src/Instance.ts"
import { fastLock } from "../../src/nodes/HeldLease.ts"
import { E, Job, S } from "./Machines.ts"
import type { Kit, Opened, OpenOptions, Rig } from "./Rig.ts"
import { outage, type StoreProbe } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

type JobInstance = Instance<typeof S.Type, typeof E.Type>

/** As another node might, just when this one has read the record and not yet the events. */
const prunedMeanwhile = (probe: StoreProbe, job: JobInstance) => {
  let pruned = false
  probe.onEvents = (read) => {
    if (pruned) return read
    pruned = true
    return Effect.andThen(Effect.orDie(Effect.andThen(job.saveSnapshot, job.prune)), read)
  }
  return () => expect(pruned).toBe(true)
}

/** As another node might, just when this one has read the record and not yet the events: the instance ends and is removed. */
const purgedMeanwhile = (
  { eventually }: Rig,
  probe: StoreProbe,
  { engine }: Opened,
  after: Effect.Effect<unknown, unknown> = Effect.void,
) => {
  let purged = false
  const removing = Effect.gen(function* () {
    yield* Effect.flatMap(engine.ensure(Job, "j"), (job) => job.send(E.Finish()))
    yield* eventually(engine.purge(Job, { endedBefore: 0 }), (count) => count === 1)
    yield* after
  })
  probe.onEvents = (read) => {
    if (purged) return read
    purged = true
    return Effect.andThen(Effect.orDie(removing), read)
  }
  return () => expect(purged).toBe(true)
}

export const pruning = ({ describe, test }: Kit) =>
  describe("pruning", () => {
    const readings: Readonly<Record<string, (job: JobInstance) => Effect.Effect<unknown, unknown>>> = {
      "the state": (job) => Effect.map(job.state, ({ n }) => expect(n).toBe(6)),
      "a send": (job) => Effect.map(Effect.andThen(job.send(E.Add({ by: 4 })), job.state), ({ n }) => expect(n).toBe(10)),
      "the last state by its number": (job) => Effect.map(job.stateAt(3), ({ n }) => expect(n).toBe(6)),
      "the history": (job) => Effect.map(Stream.runCollect(job.history), (entries) => expect(entries).toEqual([])),
    }
    for (const [what, read] of Object.entries(readings)) {
      test(`77 ${what} is read while another node prunes: the reading begins anew, and nothing is held`, ({ open, record }) =>
        Effect.gen(function* () {
          const first = yield* open()
          const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
          for (const by of [1, 2, 3]) yield* job.send(E.Add({ by }))
          const second = yield* open()
          const wasPruned = prunedMeanwhile(second.probe, job)
          yield* read(yield* Effect.flatMap(second.engine.get(Job, "j"), Effect.fromOption))
          wasPruned()
          expect(yield* record(key)).toMatchObject({ status: "running" })
        }))
    }

    const uses: Readonly<Record<string, (engine: EngineService) => Effect.Effect<unknown, unknown>>> = {
      "bringing back": (engine) => Effect.map(engine.restoreAll(Job), (jobs) => expect(jobs.map(({ id }) => id)).toEqual(["j"])),
      checking: (engine) => Effect.map(engine.check(Job), (report) => expect(report).toEqual({ checked: 1, failing: [] })),
      forking: (engine) =>
        Effect.map(
          Effect.flatMap(engine.fork(Job, "j", 3, "k"), ({ state }) => state),
          (state) => expect(state).toEqual(S.Busy({ n: 6 })),
        ),
    }
    for (const [what, use] of Object.entries(uses)) {
      test(`77 ${what} succeeds while another node prunes`, ({ open, record }) =>
        Effect.gen(function* () {
          const first = yield* open()
          const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
          for (const by of [1, 2, 3]) yield* job.send(E.Add({ by }))
          const second = yield* open()
          const wasPruned = prunedMeanwhile(second.probe, job)
          yield* use(second.engine)
          wasPruned()
          expect(yield* record(key)).toMatchObject({ status: "running" })
        }))
    }

    const missing = expect.objectContaining({ _tag: "InstanceNotFound", id: "j" })
    const readingsOfGone: Readonly<Record<string, (engine: EngineService, job: JobInstance) => Effect.Effect<unknown, unknown>>> = {
      "the state": (_, job) => Effect.map(Effect.flip(job.state), (error) => expect(error).toEqual(missing)),
      "a send": (_, job) => Effect.map(Effect.flip(job.send(E.Add({ by: 4 }))), (error) => expect(error).toEqual(missing)),
      "a state by its number": (_, job) => Effect.map(Effect.flip(job.stateAt(2)), (error) => expect(error).toEqual(missing)),
      "the history": (_, job) => Effect.map(Effect.flip(Stream.runDrain(job.history)), (error) => expect(error).toEqual(missing)),
      "what is brought back": (engine) => Effect.map(engine.restoreAll(Job), (jobs) => expect(jobs).toEqual([])),
      "what is checked": (engine) => Effect.map(engine.check(Job), (report) => expect(report).toEqual({ checked: 0, failing: [] })),
      "what is forked": (engine) => Effect.map(Effect.flip(engine.fork(Job, "j", 2, "k")), (error) => expect(error).toEqual(missing)),
    }
    for (const [what, read] of Object.entries(readingsOfGone)) {
      test(`77 ${what} is read while another node purges it: there is no such instance, and nothing is damaged`, (rig) =>
        Effect.gen(function* () {
          const first = yield* rig.open()
          const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
          for (const by of [1, 2]) yield* job.send(E.Add({ by }))
          const second = yield* rig.open()
          const handle = yield* Effect.flatMap(second.engine.get(Job, "j"), Effect.fromOption)
          const wasPurged = purgedMeanwhile(rig, second.probe, first)
          yield* read(second.engine, handle)
          wasPurged()
        }))
    }

    test("77 what was purged and started again while it was read is read anew, with nothing of its first life", (rig) =>
      Effect.gen(function* () {
        const first = yield* rig.open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        for (const by of [1, 2]) yield* job.send(E.Add({ by }))
        const second = yield* rig.open()
        const seen = yield* Effect.flatMap(second.engine.get(Job, "j"), Effect.fromOption)
        expect(yield* Stream.runCollect(seen.history)).toHaveLength(2)
        const again = Effect.gen(function* () {
          yield* rig.pass("1 second")
          const next = yield* first.engine.start(Job, "j", S.Busy({ n: 100 }))
          for (const by of [10, 20]) yield* next.send(E.Add({ by }))
        })
        const wasPurged = purgedMeanwhile(rig, second.probe, first, again)
        const entries = yield* Stream.runCollect(seen.history)
        wasPurged()
        expect(entries.map(({ state }) => state)).toEqual([S.Busy({ n: 110 }), S.Busy({ n: 130 })])
        expect(yield* seen.state).toEqual(S.Busy({ n: 130 }))
      }))

    /** Node `two` has the first life in memory. Node `one` ends and removes it, and starts another that stands at the same sequence. */
    const startedAgain = ({ open, eventually, pass }: Rig, options: OpenOptions = {}, again = true) =>
      Effect.gen(function* () {
        const [one, two] = [yield* open(options), yield* open(options)]
        const first = yield* one.engine.start(Job, "j", S.Paused({ n: 0 }))
        const former = yield* two.engine.ensure(Job, "j")
        expect(yield* former.state).toEqual(S.Paused({ n: 0 }))
        yield* first.send(E.Quit())
        yield* eventually(one.engine.purge(Job, { endedBefore: 0 }), (count) => count === 1)
        yield* pass("1 second")
        if (again) yield* one.engine.start(Job, "j", S.Busy({ n: 100 }))
        return { two, former }
      })

    const senders: Readonly<Record<string, (job: JobInstance) => Effect.Effect<unknown, unknown>>> = {
      "an event that only the first life takes is refused": (job) =>
        Effect.map(Effect.flip(job.send(E.Resume())), (error) => expect(error).toMatchObject({ _tag: "InvalidTransition", state: "Busy" })),
      "an event with an id that only the first life takes is refused": (job) =>
        Effect.map(Effect.flip(job.send(E.Resume(), { id: "webhook-1" })), (error) =>
          expect(error).toMatchObject({ _tag: "InvalidTransition", state: "Busy" }),
        ),
      "an event that only the second life takes is stored in it": (job) =>
        Effect.map(Effect.andThen(job.send(E.Again()), job.snapshot), (snapshot) =>
          expect(snapshot).toMatchObject({ state: S.Busy({ n: 100 }), sequence: 1 }),
        ),
      "a question is answered by the second life": (job) => Effect.map(job.ask(E.Count()), (count) => expect(count).toBe(100)),
      "the state is that of the second life": (job) => Effect.map(job.state, (state) => expect(state).toEqual(S.Busy({ n: 100 }))),
      "a snapshot is saved of the second life": (job) =>
        Effect.map(Effect.andThen(job.saveSnapshot, job.state), (state) => expect(state).toEqual(S.Busy({ n: 100 }))),
    }
    for (const [what, send] of Object.entries(senders)) {
      test(`149 a node has an instance in memory that another one removed and started again: ${what}`, (rig) =>
        Effect.gen(function* () {
          const { former } = yield* startedAgain(rig)
          yield* send(former)
          expect(yield* rig.record(key)).toMatchObject({ status: "running", tag: "Busy" })
          yield* former.send(E.Add({ by: 1 }))
          expect(yield* former.state).toEqual(S.Busy({ n: 101 }))
        }))
    }

    test("149 with locks, too, what a node had in memory does not reach the instance that was started again", (rig) =>
      Effect.gen(function* () {
        const lock = { ...fastLock, nodeId: "one" }
        const { former } = yield* startedAgain(rig, { lock })
        expect(yield* Effect.flip(former.send(E.Resume()))).toMatchObject({ _tag: "InvalidTransition", state: "Busy" })
        yield* former.send(E.Add({ by: 1 }))
        expect(yield* former.state).toEqual(S.Busy({ n: 101 }))
      }))

    test("149 startAll takes the place of an instance that another node removed, and that is still in memory here", (rig) =>
      Effect.gen(function* () {
        const { two, former } = yield* startedAgain(rig, {}, false)
        yield* two.engine.startAll(Job, [{ id: "j", input: S.Busy({ n: 100 }) }])
        expect(yield* two.engine.live).toBe(0)
        expect(yield* Effect.flip(former.send(E.Resume()))).toMatchObject({ _tag: "InvalidTransition", state: "Busy" })
      }))

    test("79 an id is answered after its event was pruned: nothing happens twice, and the answer is the first one", ({ open, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 1 }))
        expect(yield* job.ask(E.Count(), { id: "count" })).toBe(1)
        yield* job.send(E.Add({ by: 2 }), { id: "add" })
        yield* job.send(E.Add({ by: 3 }))
        yield* job.saveSnapshot
        expect(yield* job.prune).toBe(1)
        expect(yield* job.prune).toBe(0)
        const again = Effect.fnUntraced(function* (instance: JobInstance) {
          expect(yield* instance.ask(E.Count(), { id: "count" })).toBe(1)
          expect(yield* instance.call(E.Add({ by: 2 }), { id: "add" })).toMatchObject({ state: S.Busy({ n: 6 }), requests: [], sends: [] })
          expect(yield* instance.snapshot).toMatchObject({ state: S.Busy({ n: 6 }), sequence: 3 })
        })
        yield* again(job)
        yield* first.close
        const { engine } = yield* open()
        yield* again(yield* engine.ensure(Job, "j"))
        yield* again(yield* engine.fork(Job, "j", 3, "k"))
        expect((yield* events(key)).map(({ sequence, dedupeId }) => [sequence, dedupeId])).toEqual([
          [1, "count"],
          [2, "add"],
        ])
      }))

    test("79 a journal that is never kept still answers ids, also those that come again much later", ({ open, events, quiet }) =>
      Effect.gen(function* () {
        const Forgetful = Job.persist({ snapshot: { _tag: "EveryN", transitions: 2 }, keepJournal: false })
        const { engine } = yield* open()
        const job = yield* engine.start(Forgetful, "j", S.Busy({ n: 0 }))
        for (let round = 1; round <= 4; round++) {
          yield* job.send(E.Add({ by: 1 }), { id: `add-${round}` })
          yield* job.send(E.Add({ by: 10 }))
          yield* quiet
        }
        for (let round = 1; round <= 4; round++) yield* job.send(E.Add({ by: 1 }), { id: `add-${round}` })
        expect(yield* job.snapshot).toMatchObject({ state: S.Busy({ n: 44 }), sequence: 8 })
        expect((yield* events(key)).map(({ dedupeId }) => dedupeId)).toEqual(["add-1", "add-2", "add-3", "add-4"])
      }))

    test("27 what a machine sent itself is handled once, though another node handled and pruned it", ({ open, quiet, eventually }) =>
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
                yield* Effect.orDie(eventually(other.lastSequence, (sequence) => sequence === 2))
                yield* Effect.orDie(Effect.andThen(other.saveSnapshot, other.prune))
                return yield* commit
              })
            : commit
        yield* job.send(E.Start())
        yield* eventually(job.lastSequence, (sequence) => sequence === 2)
        yield* quiet
        expect(yield* job.snapshot).toMatchObject({ state: S.Busy({ n: 1 }), sequence: 2 })
      }))

    for (const [title, options] of [
      ["its sender gets an error that says so", {}],
      ["under an id it is found out", { id: "add" }],
    ] as const) {
      test(`44 a commit whose fate a prune has hidden is not stored twice: ${title}`, ({ open, passFor }) =>
        Effect.gen(function* () {
          const one = yield* open()
          const two = yield* open()
          const job = yield* one.engine.start(Job, "j", S.Busy({ n: 0 }))
          const other = yield* two.engine.ensure(Job, "j")
          one.probe.onCommit = (_, commit) =>
            Effect.gen(function* () {
              one.probe.onCommit = (_, commit) => commit
              yield* commit
              yield* Effect.orDie(other.send(E.Add({ by: 10 })))
              yield* Effect.orDie(Effect.andThen(other.saveSnapshot, other.prune))
              return yield* Effect.fail(outage())
            })
          const sending = yield* Effect.forkChild(Effect.result(job.send(E.Add({ by: 1 }), options)), { startImmediately: true })
          const result = yield* passFor(sending)
          if (result._tag === "Failure")
            expect(result.failure.message).toMatch(/it is unknown whether it was stored: the journal was pruned/)
          expect(result._tag).toBe("id" in options ? "Success" : "Failure")
          expect(yield* job.snapshot).toMatchObject({ state: S.Busy({ n: 11 }), sequence: 2 })
        }))
    }
  })
