/** A store that fails, hesitates, or does not say what it did. */
import { Event, Machine, reply, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { outage, type StoreProbe } from "./StoreProbe.ts"

const key = { machine: "job", id: "j" }

/** Applies what it is asked to and then fails: the worst a network can do. */
const silently = (probe: StoreProbe, times: number) => {
  let left = times
  probe.onCommit = (_, commit) => (left-- > 0 ? Effect.andThen(commit, Effect.fail(outage())) : commit)
}

/** Fails without doing anything. */
const failing = (probe: StoreProbe, times: number) => {
  let left = times
  probe.onCommit = (_, commit) => (left-- > 0 ? Effect.fail(outage()) : commit)
}

export const failures = ({ describe, test }: Kit) =>
  describe("a store that fails", () => {
    test("44 a commit that fails for good leaves everything as if the event had not come, and the sender gets the error", ({
      open,
      pass,
      quiet,
      events,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const note = (text: string) => Effect.sync(() => void log.push(text))
        const Working = Machine.make({ name: "job", state: S, event: E, initial: S.Idle({ n: 0 }) })
          .on(S.Idle, E.Start, S.Busy)
          .on(S.Idle, E.Count, stay, ({ state }) => reply(state.n))
          .exit(S.Idle, () => note("exit"))
          .enter(S.Busy, () => note("enter"))
          .spawn(S.Idle, () => Effect.onInterrupt(Effect.never, () => note("interrupted")))
          .spawn(S.Busy, () => note("spawn"))
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const job = yield* engine.start(Working, "j")
        const seen: Array<string> = []
        const watching = yield* Effect.forkChild(
          Stream.runForEach(job.changes, (state) => Effect.sync(() => seen.push(state._tag))),
          { startImmediately: true },
        )
        yield* quiet
        failing(probe, Number.POSITIVE_INFINITY)
        const sent = yield* Effect.forkChild(Effect.flip(job.send(E.Start())), { startImmediately: true })
        const asked = yield* Effect.forkChild(job.ask(E.Count()), { startImmediately: true })
        for (let second = 0; second < 8; second++) yield* pass("1 second")
        expect(yield* Fiber.join(sent)).toMatchObject({ _tag: "PersistenceFailed", id: "j", operation: "commit" })
        expect(yield* Fiber.join(asked), "it needs no commit").toBe(0)
        expect(probe.batches.length).toBeLessThan(60)
        expect(log).toEqual([])
        expect(seen).toEqual(["Idle"])
        expect(yield* job.snapshot).toMatchObject({ sequence: 0, state: { _tag: "Idle" }, status: "running" })
        expect(yield* events(key)).toEqual([])
        failing(probe, 0)
        yield* job.send(E.Start())
        yield* quiet
        expect(log).toEqual(["interrupted", "exit", "enter", "spawn"])
        expect(seen).toEqual(["Idle", "Busy"])
        yield* Fiber.interrupt(watching)
      }))

    test("44 a store that fails a few times is asked again; the sender notices nothing", ({ open, pass, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        failing(probe, 3)
        const sends = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3], (by) => job.send(E.Add({ by })), { concurrency: "unbounded" }),
          { startImmediately: true },
        )
        for (let round = 0; round < 5; round++) yield* pass("1 second")
        yield* Fiber.join(sends)
        expect(yield* job.state).toEqual(S.Busy({ n: 6 }))
        expect(yield* events(key)).toHaveLength(3)
      }))

    test("44 a start that fails starts nothing; one that is only slow to store succeeds", ({ open, pass, journal }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        failing(probe, Number.POSITIVE_INFINITY)
        const starting = yield* Effect.forkChild(Effect.flip(engine.start(Job, "j")), { startImmediately: true })
        for (let round = 0; round < 8; round++) yield* pass("1 second")
        expect(yield* Fiber.join(starting)).toMatchObject({ _tag: "PersistenceFailed" })
        expect((yield* journal.open(key))._tag).toBe("None")
        expect(yield* engine.live).toBe(0)
        failing(probe, 1)
        const again = yield* Effect.forkChild(engine.start(Job, "j"), { startImmediately: true })
        for (let round = 0; round < 3; round++) yield* pass("1 second")
        yield* Fiber.join(again)
      }))

    test("a start that was stored without an answer is found out and succeeds", ({ open, pass }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        silently(probe, 1)
        const starting = yield* Effect.forkChild(engine.start(Job, "j"), { startImmediately: true })
        for (let round = 0; round < 3; round++) yield* pass("1 second")
        const job = yield* Fiber.join(starting)
        yield* job.send(E.Start())
        expect(yield* job.state).toEqual(S.Busy({ n: 0 }))
      }))

    test("79 a commit that was applied without an answer is found out: success, and nothing twice", ({ open, pass, events }) =>
      Effect.gen(function* () {
        const entered: Array<string> = []
        const Counting = Job.enter(S.Paused, () => Effect.sync(() => void entered.push("paused")))
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Counting, "j", S.Busy({ n: 0 }))
        silently(probe, 2)
        const sends = yield* Effect.forkChild(
          Effect.forEach([E.Add({ by: 1 }), E.Add({ by: 2 }), E.Pause(), E.Resume()], (event) => job.send(event), {
            concurrency: "unbounded",
          }),
          { startImmediately: true },
        )
        for (let round = 0; round < 5; round++) yield* pass("1 second")
        yield* Fiber.join(sends)
        expect(yield* job.snapshot).toMatchObject({ state: S.Busy({ n: 3 }), sequence: 4 })
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Add", "Add", "Pause", "Resume"])
        expect(entered).toEqual(["paused"])
      }))

    test("an applied commit is found out even when another node has written since", ({ open, pass, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        const second = yield* open()
        const other = yield* second.engine.ensure(Job, "j")
        first.probe.onCommit = (_, commit) =>
          Effect.gen(function* () {
            yield* commit
            yield* Effect.orDie(other.send(E.Add({ by: 10 })))
            first.probe.onCommit = (_, commit) => commit
            return yield* Effect.fail(outage())
          })
        const sending = yield* Effect.forkChild(job.send(E.Add({ by: 1 })), { startImmediately: true })
        for (let round = 0; round < 3; round++) yield* pass("1 second")
        yield* Fiber.join(sending)
        expect(yield* events(key)).toHaveLength(2)
        yield* job.send(E.Add({ by: 100 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 111 }))
      }))

    test("a commit that failed is not taken for stored because another node wrote at the same moment", ({ open, pass, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 0 }))
        const second = yield* open()
        const other = yield* second.engine.ensure(Job, "j")
        first.probe.onCommit = () =>
          Effect.gen(function* () {
            yield* Effect.orDie(other.send(E.Add({ by: 10 })))
            first.probe.onCommit = (_, commit) => commit
            return yield* Effect.fail(outage())
          })
        const sending = yield* Effect.forkChild(job.send(E.Add({ by: 1 })), { startImmediately: true })
        for (let round = 0; round < 3; round++) yield* pass("1 second")
        yield* Fiber.join(sending)
        expect(yield* job.state).toEqual(S.Busy({ n: 11 }))
        expect(yield* events(key)).toHaveLength(2)
      }))

    test("a store that is away altogether: the instance leaves memory, and comes back when the store does", ({ open, pass, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ storeTimeout: "2 seconds" })
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        failing(probe, Number.POSITIVE_INFINITY)
        probe.onOpen = () => Effect.fail(outage("open"))
        const sending = yield* Effect.forkChild(Effect.flip(job.send(E.Add({ by: 1 }))), { startImmediately: true })
        for (let round = 0; round < 8; round++) yield* pass("1 second")
        expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "PersistenceFailed" })
        expect(yield* Effect.flip(job.state)).toMatchObject({ _tag: "PersistenceFailed" })
        failing(probe, 0)
        probe.onOpen = (open) => open
        yield* job.send(E.Add({ by: 5 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 5 }))
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("a commit whose content the store cannot take fails at once, alone, and is not tried again", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        const other = yield* engine.start(Job, "k", S.Busy({ n: 0 }))
        probe.onCommit = (commits, commit) =>
          Effect.map(commit, (outcomes) => outcomes.map((outcome, index) => (commits[index]?.id === "k" ? outcome : outcome)))
        let refused = 0
        const original = probe.onCommit
        probe.onCommit = (commits, commit) => {
          if (!commits.some(({ id }) => id === "j")) return original(commits, commit)
          refused++
          return Effect.succeed(commits.map(() => outage()))
        }
        expect(yield* Effect.flip(job.send(E.Add({ by: 1 })))).toMatchObject({ _tag: "PersistenceFailed" })
        expect(refused).toBe(1)
        probe.onCommit = original
        yield* Effect.forEach([job, other], (one) => one.send(E.Add({ by: 2 })), { concurrency: "unbounded" })
        expect(yield* job.state).toEqual(S.Busy({ n: 2 }))
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("what waits behind an effectful decision is decided on what that came to, whatever the store does", ({ open, pass }) =>
      Effect.gen(function* () {
        const Go = Event({ Ask: { n: Schema.Number }, Add: { by: Schema.Number } })
        const At = State({ Here: { n: Schema.Number } })
        const asked: Array<number> = []
        const Oracle = Machine.make({ name: "oracle", state: At, event: Go, initial: At.Here({ n: 0 }) })
          .on(At.Here, Go.Add, At.Here, ({ state, event }) => At.Here({ n: state.n + event.by }))
          .on(At.Here, Go.Ask, At.Here, ({ state, event }) =>
            Effect.sync(() => {
              asked.push(state.n)
              return At.Here({ n: state.n * event.n })
            }),
          )
        const { engine, probe } = yield* open()
        const oracle = yield* engine.start(Oracle, "o")
        failing(probe, 1)
        const sends = yield* Effect.forkChild(
          Effect.forEach([Go.Add({ by: 3 }), Go.Ask({ n: 2 }), Go.Add({ by: 1 })], (event) => oracle.send(event), {
            concurrency: "unbounded",
          }),
          { startImmediately: true },
        )
        for (let round = 0; round < 3; round++) yield* pass("1 second")
        yield* Fiber.join(sends)
        expect(yield* oracle.state).toEqual(At.Here({ n: 7 }))
        expect(asked).toEqual([3])
      }))
  })
