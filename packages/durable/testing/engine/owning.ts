/** State work runs on one node, and always on one. */
import { Machine, type PersistenceFailed } from "@detent/machine"
import type { TakenOver } from "@detent/store/internal"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Call, E, Job, S, T } from "./Machines.ts"
import type { Kit, Rig } from "./Rig.ts"
import { outage, StoreProbe } from "./StoreProbe.ts"

/** A job whose work, while it runs, is listed under the node that runs it. */
const workers = () => {
  const running: Array<string> = []
  const started: Array<string> = []
  const machine = (node: string) =>
    Job.spawn(S.Busy, () =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          running.push(node)
          started.push(node)
        }),
        () => Effect.never,
        () => Effect.sync(() => running.splice(running.indexOf(node), 1)),
      ),
    )
  return { running, started, machine }
}

export const owning = ({ describe, test, leaseTest }: Kit) => {
  describe("the owner of state work", () => {
    test("137 only the node that entered the state works, whichever nodes register, send to or read the instance", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const one = yield* open()
        const two = yield* open()
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        yield* two.engine.register(machine("two"))
        const late = yield* two.engine.ensure(machine("two"), "j")
        yield* late.send(E.Add({ by: 1 }))
        expect(yield* late.state).toEqual(S.Busy({ n: 1 }))
        yield* two.engine.restoreAll(machine("two"))
        yield* quiet
        expect(started).toEqual(["one"])
      }))

    test("137 a node that cannot replay an instance leaves it to the node that runs its work, and no third node runs it", ({
      open,
      quiet,
      record,
    }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const [one, two, three] = [yield* open(), yield* open(), yield* open()]
        const working = yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        yield* working.send(E.Add({ by: 1 }))
        const Older = Machine.make({ name: "job", version: 2, state: S, event: E, initial: S.Idle({ n: 0 }) }).on(S.Idle, E.Start, S.Busy)
        yield* two.engine.register(Older)
        yield* three.engine.register(machine("three"))
        expect(yield* Effect.flip(two.engine.ensure(Older, "j"))).toMatchObject({ _tag: "EventReplayError" })
        expect(yield* (yield* three.engine.ensure(machine("three"), "j")).state).toEqual(S.Busy({ n: 1 }))
        yield* working.send(E.Add({ by: 1 }))
        yield* quiet
        expect(started).toEqual(["one"])
        expect(yield* record({ machine: "job", id: "j" })).toMatchObject({ status: "running", sequence: 2 })
      }))

    test("137 a node that starts many instances with work runs each of them, and no other node does", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const one = yield* open()
        const two = yield* open()
        yield* two.engine.register(machine("two"))
        const entries = Array.from({ length: 20 }, (_, index) => ({ id: `j-${index}`, input: S.Busy({ n: index }) }))
        yield* one.engine.startAll(machine("one"), entries)
        yield* two.engine.register(machine("two"))
        yield* quiet
        expect(started).toEqual(Array.from({ length: 20 }, () => "one"))
      }))

    test("137 a node that forks an instance runs its work, though the store does not confirm the fork", ({ open, passFor, quiet }) =>
      Effect.gen(function* () {
        const { running, machine } = workers()
        const { engine, probe } = yield* open()
        yield* engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        probe.onFork = (fork) => Effect.andThen(fork, Effect.fail(outage("fork")))
        const copy = yield* passFor(yield* Effect.forkChild(engine.fork(machine("one"), "j", 0, "k"), { startImmediately: true }))
        yield* quiet
        expect(running).toEqual(["one", "one"])
        expect(yield* copy.state).toEqual(S.Busy({ n: 0 }))
      }))

    test("137 a node that forks an instance runs its work, though the caller is interrupted meanwhile", ({ open, eventually }) =>
      Effect.gen(function* () {
        const { running, machine } = workers()
        const { engine, probe } = yield* open()
        yield* engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        const stored = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<void>()
        probe.onFork = (fork) => Effect.tap(fork, () => Effect.andThen(Deferred.succeed(stored, undefined), Deferred.await(answer)))
        const forking = yield* Effect.forkChild(engine.fork(machine("one"), "j", 0, "k"), { startImmediately: true })
        yield* Deferred.await(stored)
        yield* Fiber.interrupt(forking)
        yield* Deferred.succeed(answer, undefined)
        yield* eventually(
          Effect.sync(() => running.length),
          (count) => count === 2,
        )
      }))

    test("137 a fork that was stored while the store is away runs once the store is back", ({ open, passUntil, passFor }) =>
      Effect.gen(function* () {
        const { running, machine } = workers()
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        yield* engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        let isAway = false
        probe.onFork = (fork) =>
          Effect.andThen(
            isAway ? Effect.void : fork,
            Effect.suspend(() => {
              isAway = true
              return Effect.fail(outage("fork"))
            }),
          )
        probe.onOpen = (read) => Effect.suspend(() => (isAway ? Effect.fail(outage("open")) : read))
        const forking = yield* Effect.forkChild(Effect.flip(engine.fork(machine("one"), "j", 0, "k")), { startImmediately: true })
        expect(yield* passFor(forking)).toMatchObject({ _tag: "PersistenceFailed" })
        expect(running).toEqual(["one"])
        isAway = false
        yield* passUntil(
          "1 second",
          Effect.sync(() => running.length),
          (count) => count === 2,
        )
      }))

    leaseTest(
      "138 when the owner is killed, another node that knows the machine runs the work after the lease",
      ({ open, pass, passUntil }) =>
        Effect.gen(function* () {
          const { started, machine } = workers()
          const one = yield* open({ lease: "3 seconds" })
          const two = yield* open({ lease: "3 seconds" })
          yield* two.engine.register(machine("two"))
          yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
          yield* one.crash
          yield* pass("400 millis")
          expect(started).toEqual(["one"])
          yield* passUntil(
            "100 millis",
            Effect.sync(() => started.length),
            (count) => count === 2,
          )
          expect(started).toEqual(["one", "two"])
        }),
    )

    leaseTest("138 of several nodes, one takes the work over", ({ open, pass, passUntil }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const one = yield* open({ lease: "1 second" })
        yield* Effect.forEach(["a", "b", "c"], (node) =>
          Effect.flatMap(open({ lease: "1 second" }), ({ engine }) => engine.register(machine(node))),
        )
        yield* Effect.forEach(Array.from({ length: 10 }), (_, index) => one.engine.start(machine("one"), `j-${index}`, S.Busy({ n: 0 })))
        yield* one.crash
        started.length = 0
        yield* passUntil(
          "100 millis",
          Effect.sync(() => started.length),
          (count) => count >= 10,
        )
        yield* pass("1 second")
        expect(started).toHaveLength(10)
      }),
    )

    const enteredMeanwhile =
      (isInMemory: boolean) =>
      ({ open, pass, passUntil }: Rig) =>
        Effect.gen(function* () {
          const { running, started, machine } = workers()
          const one = yield* open({ lease: "1 second" })
          const two = yield* open({ lease: "1 second" })
          const three = yield* open({ lease: "3 seconds" })
          yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
          yield* isInMemory ? two.engine.ensure(machine("two"), "j") : two.engine.register(machine("two"))
          const seen = yield* three.engine.ensure(machine("three"), "j")
          let isTaken = false
          three.probe.onChangeOwner = () => Effect.never
          two.probe.onChangeOwner = (change) =>
            Effect.tap(change, () => {
              if (isTaken) return Effect.void
              isTaken = true
              return Effect.orDie(Effect.andThen(seen.send(E.Pause()), seen.send(E.Resume())))
            })
          yield* one.crash
          yield* passUntil(
            "100 millis",
            Effect.sync(() => running.includes("three")),
            (runs) => runs,
          )
          yield* pass("500 millis")
          expect(started).toEqual(["one", "three"])
        })

    leaseTest("139 a node that takes work over does not run it where another node has entered the state since", enteredMeanwhile(true))

    leaseTest("139 the same where the node that takes it over does not have it in memory", enteredMeanwhile(false))

    leaseTest("159 each instance of a dead node is taken over once, though instances change between pages", ({ open, pass, passUntil }) =>
      Effect.gen(function* () {
        const started: Array<number> = []
        const machine = Job.spawn(S.Busy, ({ state }) =>
          Effect.andThen(
            Effect.sync(() => void started.push(state.n)),
            Effect.never,
          ),
        )
        // Two pages: 250 and 155.
        const numbers = Array.from({ length: 405 }, (_, index) => index)
        const one = yield* open({ lease: "1 second" })
        yield* one.engine.startAll(
          machine,
          numbers.map((n) => ({ id: `j-${n}`, input: S.Busy({ n }) })),
        )
        yield* one.crash
        started.length = 0
        const sender = yield* open({ lease: "3 seconds" })
        const pages: Array<number> = []
        const probe = new StoreProbe()
        probe.onTakeOver = (page) =>
          Effect.tap(page, ({ opened }) => {
            if (opened.length === 0) return Effect.void
            pages.push(opened.length)
            const moved = [...opened.slice(0, 3), ...opened.slice(-3)].map(({ record }) => record)
            const add = (id: string) =>
              Effect.flatMap(sender.engine.ensure(machine, id, S.Idle({ n: 0 })), (job) => job.send(E.Add({ by: 0 })))
            return Effect.orDie(Effect.forEach(moved, ({ id }) => add(id), { concurrency: "unbounded", discard: true }))
          })
        const two = yield* open({ lease: "3 seconds", probe })
        yield* two.engine.register(machine)
        yield* passUntil(
          "100 millis",
          Effect.sync(() => started.length),
          (count) => count >= numbers.length,
        )
        yield* pass("1 second")
        expect(pages).toEqual([250, 155])
        expect(started.toSorted((left, right) => left - right)).toEqual(numbers)
      }),
    )

    const failsBetweenPages =
      (outageOf: (page: Effect.Effect<TakenOver, PersistenceFailed>) => Effect.Effect<TakenOver, PersistenceFailed>) =>
      ({ open, passUntil }: Rig) =>
        Effect.gen(function* () {
          const { running, machine } = workers()
          const total = 405
          const one = yield* open({ lease: "1 second" })
          yield* one.engine.startAll(
            machine("one"),
            Array.from({ length: total }, (_, n) => ({ id: `j-${n}`, input: S.Busy({ n }) })),
          )
          yield* one.crash
          running.length = 0
          let pages = 0
          const probe = new StoreProbe()
          probe.onTakeOver = (page) => (++pages === 2 ? outageOf(page) : page)
          const two = yield* open({ lease: "3 seconds", probe })
          yield* Effect.ignore(two.engine.register(machine("two")))
          yield* passUntil(
            "100 millis",
            Effect.sync(() => running.length),
            (count) => count >= total,
          )
          expect(pages).toBeGreaterThan(1)
          expect(running).toEqual(Array.from({ length: total }, () => "two"))
        })

    leaseTest(
      "138 the instances of a dead node are all taken over, though the store fails between pages",
      failsBetweenPages(() => Effect.fail(outage("takeOver"))),
    )

    leaseTest(
      "138 the same where the store has made the change, and its answer was lost",
      failsBetweenPages((page) => Effect.andThen(page, Effect.fail(outage("takeOver")))),
    )

    leaseTest("139 an owner that lost its lease stops its work and commits nothing as owner", ({ open, passUntil, events, quiet }) =>
      Effect.gen(function* () {
        const { running, machine } = workers()
        const one = yield* open({ lease: "1 second", storeTimeout: "1 second" })
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        const two = yield* open({ lease: "1 second" })
        yield* two.engine.register(machine("two"))
        // The store no longer answers its heartbeats, but still takes commits.
        one.probe.onLease = () => Effect.never
        yield* passUntil(
          "100 millis",
          Effect.sync(() => running),
          (nodes) => nodes.includes("two"),
        )
        expect(running).toEqual(["two"])
        yield* quiet
        expect(yield* events({ machine: "job", id: "j" })).toHaveLength(0)
      }),
    )

    leaseTest("139 what an owner committed before its lease ended, and reaches the store after another took over, is refused", (rig) =>
      Effect.gen(function* () {
        const [asked, arrives] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const outcomes: Array<string> = []
        const probe = new StoreProbe()
        const one = yield* rig.open({ lease: "1 second", probe })
        const { running, machine } = workers()
        const working = machine("one").spawn(S.Busy, ({ self }) => Effect.andThen(Deferred.await(asked), self.send(E.Add({ by: 1 }))))
        yield* one.engine.start(working, "j", S.Busy({ n: 0 }))
        const two = yield* rig.open({ lease: "1 second" })
        yield* two.engine.register(machine("two"))
        probe.onCommit = (_, commit) =>
          Effect.tap(Effect.andThen(Deferred.await(arrives), commit), (all) =>
            Effect.sync(() => outcomes.push(...all.map(({ _tag }) => _tag))),
          )
        probe.onLease = () => Effect.never
        yield* Deferred.succeed(asked, undefined)
        yield* rig.passUntil(
          "100 millis",
          Effect.sync(() => running),
          (nodes) => nodes.includes("two"),
        )
        yield* Deferred.succeed(arrives, undefined)
        yield* rig.eventually(
          Effect.sync(() => outcomes),
          (all) => all.length > 0,
        )
        expect(outcomes[0]).toBe("Fenced")
        yield* rig.quiet
        expect(yield* rig.events({ machine: "job", id: "j" })).toHaveLength(0)
      }),
    )

    test("138 the work of a stopped node is taken over without waiting for its lease", ({ open, passUntil }) =>
      Effect.gen(function* () {
        const { running, machine } = workers()
        const one = yield* open()
        const two = yield* open()
        yield* two.engine.register(machine("two"))
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        expect(running).toEqual(["one"])
        yield* one.close
        yield* passUntil(
          "100 millis",
          Effect.sync(() => running),
          (nodes) => nodes.length > 0,
        )
        expect(running).toEqual(["two"])
      }))

    test("137 instances without an owner, as an earlier version wrote them, are run by one node", ({ open, journal, quiet }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const writer = yield* open()
        yield* writer.engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* writer.close
        const summary = {
          tag: "Busy",
          status: "running",
          reason: undefined,
          version: 1,
          needsOwner: true,
          owner: undefined,
          owes: false,
        } as const
        const empty = { origin: undefined, snapshot: undefined, clearTimers: [], setTimers: [], commands: [], fence: undefined } as const
        yield* journal.commit([{ machine: "job", id: "j", expected: 0, sequence: 0, at: 0, summary, events: [], ...empty }])
        const [one, two] = [yield* open(), yield* open()]
        yield* Effect.all([one.engine.register(machine("one")), two.engine.register(machine("two"))], { concurrency: "unbounded" })
        yield* quiet
        expect(started).toHaveLength(1)
      }))

    test("work that fails is restarted, and the instance takes events meanwhile", ({ open, eventually, passUntil }) =>
      Effect.gen(function* () {
        let runs = 0
        const Failing = Job.spawn(S.Busy, () => Effect.suspend(() => (++runs < 3 ? Effect.die(new Error("no route")) : Effect.never)))
        const { engine } = yield* open()
        const job = yield* engine.start(Failing, "j", S.Busy({ n: 0 }))
        yield* eventually(
          Effect.sync(() => runs),
          (count) => count === 1,
        )
        yield* job.send(E.Add({ by: 1 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 1 }))
        yield* passUntil(
          "1 second",
          Effect.sync(() => runs),
          (count) => count === 3,
        )
        expect((yield* job.snapshot).status).toBe("running")
      }))

    test("a background work runs on the owner only", ({ open, quiet }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const machine = (node: string) =>
          Job.background(() =>
            Effect.andThen(
              Effect.sync(() => void log.push(node)),
              Effect.never,
            ),
          )
        const one = yield* open()
        const two = yield* open()
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        const late = yield* two.engine.ensure(machine("two"), "j")
        yield* late.send(E.Add({ by: 1 }))
        yield* quiet
        expect(log).toEqual(["one"])
      }))
  })

  describe("an engine that runs no state work", () => {
    const isWorking = (running: ReadonlyArray<string>, count: number) =>
      [Effect.sync(() => running.length), (found: number) => found === count] as const

    test("137 it starts an instance and sends events, and other nodes run, restart and stop the work", ({
      open,
      record,
      quiet,
      passUntil,
    }) =>
      Effect.gen(function* () {
        const { running, started, machine } = workers()
        const key = { machine: "job", id: "j" }
        const one = yield* open({ work: false })
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        yield* quiet
        expect(started).toEqual([])
        expect(yield* record(key)).toMatchObject({ needsOwner: true, owner: undefined })
        const two = yield* open()
        yield* two.engine.register(machine("two"))
        yield* passUntil("100 millis", ...isWorking(running, 1))
        const { owner } = yield* record(key)
        const three = yield* open({ work: false })
        const job = yield* three.engine.ensure(machine("three"), "j")
        yield* job.send(E.Add({ by: 1 }))
        yield* job.send(E.Again())
        yield* passUntil("100 millis", ...isWorking(started, 2))
        expect(yield* record(key)).toMatchObject({ owner })
        yield* job.send(E.Pause())
        yield* passUntil("100 millis", ...isWorking(running, 0))
        yield* job.send(E.Resume())
        expect(yield* record(key)).toMatchObject({ needsOwner: true, owner: undefined })
        yield* passUntil("1 second", ...isWorking(running, 1))
        expect(started).toEqual(["two", "two", "two"])
        expect(yield* record(key)).toMatchObject({ owner })
      }))

    leaseTest("138 it does not take over the work of a dead node, whose instance it has open", ({ open, pass, passUntil }) =>
      Effect.gen(function* () {
        const { started, machine } = workers()
        const one = yield* open({ lease: "1 second" })
        yield* one.engine.start(machine("one"), "j", S.Busy({ n: 0 }))
        const two = yield* open({ lease: "1 second", work: false })
        const job = yield* two.engine.ensure(machine("two"), "j")
        yield* one.crash
        yield* pass("2 seconds")
        yield* job.send(E.Again())
        yield* two.engine.restoreAll(machine("two"))
        yield* pass("1 second")
        expect(started).toEqual(["one"])
        const three = yield* open({ lease: "1 second" })
        yield* three.engine.register(machine("three"))
        yield* passUntil("100 millis", ...isWorking(started, 2))
        expect(started).toEqual(["one", "three"])
      }),
    )

    test("137 the work of the whole machine is left to other nodes too, also for a fork", ({ open, quiet, passUntil }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const machine = (node: string) =>
          Job.background(() =>
            Effect.andThen(
              Effect.sync(() => void log.push(node)),
              Effect.never,
            ),
          )
        const one = yield* open({ work: false })
        yield* one.engine.start(machine("one"), "j", S.Idle({ n: 0 }))
        yield* one.engine.fork(machine("one"), "j", 0, "k")
        yield* quiet
        expect(log).toEqual([])
        const two = yield* open()
        yield* two.engine.register(machine("two"))
        yield* passUntil("100 millis", ...isWorking(log, 2))
        expect(log).toEqual(["two", "two"])
      }))

    test("137 with a list of machines, it runs the work of these", ({ open, record, passUntil, quiet }) =>
      Effect.gen(function* () {
        const { running, started, machine } = workers()
        const calling = Call.spawn(T.Waiting, () =>
          Effect.andThen(
            Effect.sync(() => void started.push("call")),
            Effect.never,
          ),
        )
        const one = yield* open({ work: ["call"] })
        const job = yield* one.engine.start(machine("one"), "j", S.Idle({ n: 0 }))
        yield* one.engine.start(calling, "c")
        yield* job.send(E.Start())
        yield* quiet
        expect(started).toEqual(["call"])
        expect(yield* record({ machine: "job", id: "j" })).toMatchObject({ needsOwner: true, owner: undefined })
        const two = yield* open()
        yield* two.engine.register(machine("two"))
        yield* passUntil("100 millis", ...isWorking(running, 1))
        expect(started).toEqual(["call", "two"])
      }))
  })

  describe("many nodes that send to one instance", () => {
    test("22 no sender fails only because others were quicker", ({ open, record, passFor }) =>
      Effect.gen(function* () {
        const nodes = yield* Effect.forEach([1, 2, 3], () => open())
        const first = yield* nodes[0]?.engine.start(Job, "j", S.Busy({ n: 0 })) ?? Effect.die("no node")
        yield* first.send(E.Add({ by: 0 }))
        const sends = nodes.flatMap(({ engine }) =>
          Array.from({ length: 40 }, () => Effect.flatMap(engine.ensure(Job, "j"), (job) => job.send(E.Add({ by: 1 })))),
        )
        const all = yield* Effect.forkChild(Effect.all(sends, { concurrency: "unbounded" }), { startImmediately: true })
        yield* passFor(all)
        expect(yield* record({ machine: "job", id: "j" })).toMatchObject({ sequence: 121 })
        expect(yield* first.state).toEqual(S.Busy({ n: 120 }))
      }))

    test("22 an event that meets a newer sequence again and again waits longer each time, and is stored in the end", ({
      open,
      quiet,
      passFor,
    }) =>
      Effect.gen(function* () {
        const rounds = 60
        const quick = yield* open()
        const slow = yield* open()
        const ahead = yield* quick.engine.start(Job, "j", S.Busy({ n: 0 }))
        const behind = yield* slow.engine.ensure(Job, "j")
        let lost = 0
        // The other node always commits first.
        slow.probe.onCommit = (_, commit) => (lost++ < rounds ? Effect.andThen(Effect.orDie(ahead.send(E.Add({ by: 1 }))), commit) : commit)
        const sending = yield* Effect.forkChild(behind.send(E.Add({ by: 1 })), { startImmediately: true })
        for (let turn = 0; turn < 20; turn++) yield* quiet
        expect(lost).toBeLessThan(4)
        yield* passFor(sending)
        expect(lost).toBe(rounds + 1)
        expect(yield* ahead.state).toEqual(S.Busy({ n: rounds + 1 }))
      }))
  })
}
