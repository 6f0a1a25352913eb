/** What a sender can rely on: what is stored of an event, what is answered, in which order. */
import { Event, Machine, reply, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { E, Job, S } from "./Machines.ts"
import type { Kit } from "./Rig.ts"

const key = { machine: "job", id: "j" }

export const sending = ({ describe, test }: Kit) =>
  describe("sending", () => {
    test("15 a new instance is in its initial state at sequence 0, stored, with an empty history", ({ open, record, events, pass }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        yield* pass("1 second")
        const job = yield* engine.start(Job, "j")
        expect(yield* job.snapshot).toEqual({
          state: S.Idle({ n: 0 }),
          previous: undefined,
          sequence: 0,
          status: "running",
          reason: undefined,
          startedAt: 1000,
          lastTransitionAt: 1000,
        })
        expect(yield* record(key)).toMatchObject({ tag: "Idle", status: "running", sequence: 0, startedAt: 1000 })
        expect(yield* events(key)).toEqual([])
        expect(yield* Stream.runCollect(job.history)).toEqual([])
        expect(yield* Effect.flip(engine.start(Job, "j"))).toMatchObject({ _tag: "ActorExists", id: "j" })
      }))

    test("16 every event has a sequence, and the history has them all", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j")
        expect(yield* job.call(E.Start())).toMatchObject({ _tag: "Goto", from: { _tag: "Idle" }, state: { _tag: "Busy" } })
        yield* job.send(E.Pause())
        yield* job.send(E.Resume())
        expect(yield* job.snapshot).toMatchObject({ sequence: 3, previous: { _tag: "Paused" }, state: { _tag: "Busy" } })
        expect(yield* job.lastSequence).toBe(3)
        const told = (yield* Stream.runCollect(job.history)).map(
          ({ sequence, event, from, state }) => `${sequence} ${from._tag} ${event._tag} ${state._tag}`,
        )
        expect(told).toEqual(["1 Idle Start Busy", "2 Busy Pause Paused", "3 Paused Resume Busy"])
        expect((yield* events(key)).map(({ sequence, tag }) => [sequence, tag])).toEqual([
          [1, "Start"],
          [2, "Pause"],
          [3, "Resume"],
        ])
      }))

    test("17, 35 and 38 what is refused, malformed or throws leaves no trace in the journal", ({ open, events, record }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 1 }))
        expect(yield* Effect.flip(job.send(E.Start()))).toMatchObject({ _tag: "InvalidTransition", state: "Busy", event: "Start" })
        expect(yield* Effect.flip(job.send(E.Boom()))).toMatchObject({ _tag: "ActionFailed", phase: "decide", committed: false })
        const hostile = [{ _tag: "Add", by: "one" }, undefined, null, 1, {}, { _tag: "Nope" }]
        for (const event of hostile) expect(yield* Effect.flip(job.send(event as never))).toMatchObject({ _tag: "InvalidEvent" })
        expect(yield* events(key)).toEqual([])
        expect(yield* record(key)).toMatchObject({ sequence: 0, tag: "Busy" })
        expect(probe.batches).toHaveLength(1)
        yield* job.send(E.Add({ by: 1 }))
        expect(yield* job.state).toEqual(S.Busy({ n: 2 }))
      }))

    test("111 another event under the id of one is refused, and not taken for it: at once, later, and after a restart", ({
      open,
      events,
    }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 1 }))
        const refusal = { _tag: "InvalidEvent", event: "Again", machine: "job", id: "j" }
        const [added, together] = yield* Effect.all(
          [job.send(E.Add({ by: 1 }), { id: "k" }), Effect.flip(job.send(E.Again(), { id: "k" }))],
          { concurrency: 2 },
        )
        expect(added).toBeUndefined()
        expect(together).toMatchObject(refusal)
        const later = yield* Effect.flip(job.send(E.Again(), { id: "k" }))
        expect(later).toMatchObject({ ...refusal, problem: "id k belongs to event 1, Add; give each event an id of its own" })
        expect(yield* job.call(E.Add({ by: 7 }), { id: "k" })).toMatchObject({ state: S.Busy({ n: 2 }) })
        yield* first.close
        const { engine } = yield* open()
        const again = yield* Effect.flatMap(engine.get(Job, "j"), Effect.fromOption)
        expect(yield* Effect.flip(again.send(E.Again(), { id: "k" }))).toMatchObject(refusal)
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Add"])
      }))

    test("18, 19 and 20 stay and new data are journaled and no step; entering anew is one", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 3 }))
        yield* job.ask(E.Count(), { id: "count-1" })
        yield* job.send(E.Add({ by: 1 }))
        expect(yield* job.snapshot).toMatchObject({ sequence: 2, previous: undefined, state: { n: 4 } })
        expect(yield* job.call(E.Again())).toMatchObject({ _tag: "Goto" })
        expect(yield* job.snapshot).toMatchObject({ sequence: 3, previous: { _tag: "Busy", n: 4 } })
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Count", "Add", "Again"])
      }))

    test("21, 22 and 78 the reason of a stop is readable after a restart, and what comes later is refused with it", ({
      open,
      events,
      record,
    }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j")
        expect(yield* job.call(E.Quit())).toMatchObject({ _tag: "Stop", reason: "quit" })
        expect(yield* job.snapshot).toMatchObject({ status: "stopped", reason: "quit", sequence: 1 })
        expect(yield* Effect.flip(job.send(E.Start()))).toMatchObject({ _tag: "MachineStopped", reason: "quit", id: "j" })
        yield* first.close
        const { engine } = yield* open()
        const again = yield* Effect.flatMap(engine.get(Job, "j"), Effect.fromOption)
        expect(yield* again.snapshot).toMatchObject({ status: "stopped", reason: "quit", sequence: 1, state: { _tag: "Idle" } })
        expect(yield* Effect.flip(again.send(E.Start()))).toMatchObject({ _tag: "MachineStopped", reason: "quit" })
        expect(yield* Effect.flip(again.awaitFinal)).toMatchObject({ _tag: "MachineStopped", reason: "quit" })
        expect(yield* events(key)).toHaveLength(1)
        expect(yield* record(key)).toMatchObject({ status: "stopped", reason: "quit" })
      }))

    test("22 a final state takes nothing more, before and after a restart, and nothing is journaled", ({ open, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const job = yield* first.engine.start(Job, "j", S.Busy({ n: 1 }))
        yield* job.send(E.Finish())
        expect(yield* job.awaitFinal).toEqual(S.Done({ n: 1 }))
        expect((yield* Effect.flip(job.send(E.Start()))).message).toBe("job j has ended in state Done: Done is a final state")
        expect(yield* first.engine.live).toBe(0)
        yield* first.close
        const { engine } = yield* open()
        const again = yield* Effect.flatMap(engine.restore("j", Job), Effect.fromOption)
        expect((yield* Effect.flip(again.send(E.Start()))).message).toBe("job j has ended in state Done: Done is a final state")
        expect(yield* again.awaitFinal).toEqual(S.Done({ n: 1 }))
        expect(yield* again.snapshot).toMatchObject({ status: "final", sequence: 1 })
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("22 an instance that begins in a final state has ended and is not kept in memory", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Done({ n: 7 }))
        expect(yield* job.snapshot).toMatchObject({ status: "final", state: { n: 7 } })
        expect(yield* Effect.flip(job.send(E.Start()))).toMatchObject({ _tag: "MachineStopped" })
        expect(yield* engine.live).toBe(0)
      }))

    test("25 of five identical concurrent sends one succeeds and one is journaled", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j")
        const results = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.result(job.send(E.Start())), { concurrency: "unbounded" })
        expect(results.filter((result) => result._tag === "Success")).toHaveLength(1)
        expect(results.filter((result) => result._tag === "Failure" && result.failure._tag === "InvalidTransition")).toHaveLength(4)
        expect(yield* events(key)).toHaveLength(1)
      }))

    test("26 and 67 instances do not touch each other, nor do machines that share ids", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const Other = Machine.make({ name: "other", state: S, event: E, initial: S.Paused({ n: 0 }) }).on(S.Paused, E.Resume, S.Busy)
        const one = yield* engine.start(Job, "j")
        const two = yield* engine.start(Job, "k")
        const other = yield* engine.start(Other, "j")
        yield* one.send(E.Start())
        yield* other.send(E.Resume())
        const tags = yield* Effect.forEach([one, two, other], (job) => Effect.map(job.state, ({ _tag }) => _tag))
        expect(tags).toEqual(["Busy", "Idle", "Busy"])
        expect((yield* events({ machine: "other", id: "j" })).map(({ tag }) => tag)).toEqual(["Resume"])
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Start"])
      }))

    test("27 what a decision sends itself comes right after it, in order, before what others sent", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 2 }))
        const others = [E.Twice(), E.Resume(), E.Add({ by: 10 })]
        yield* Effect.forEach(others, (event) => job.send(event), { concurrency: "unbounded" })
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Twice", "Add", "Pause", "Resume", "Add"])
        expect(yield* job.state).toEqual(S.Busy({ n: 14 }))
      }))

    test("28 and 29 ask returns the answer, and fails for an event that has none", ({ open, record }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j")
        expect(yield* Effect.flip(job.ask(E.Count()))).toMatchObject({ _tag: "InvalidTransition" })
        yield* job.send(E.Start())
        expect(yield* job.ask(E.Count())).toBe(0)
        const ask = job.ask as (event: unknown) => ReturnType<typeof job.call>
        expect((yield* Effect.flip(ask.call(job, E.Add({ by: 1 })))).message).toMatch(/it has no answer; declare it with Event.reply/)
        expect(yield* record(key)).toMatchObject({ sequence: 1 })
      }))

    test("157 a question that only answers is not journaled, and is answered in final states, also after a restart", ({ open, events }) =>
      Effect.gen(function* () {
        const Asked = Job.on(S.Done, E.Count, stay, ({ state }) => reply(-state.n))
        const first = yield* open()
        const job = yield* first.engine.start(Asked, "j", S.Busy({ n: 3 }))
        expect(yield* job.ask(E.Count())).toBe(3)
        const [, counted] = yield* Effect.all([job.send(E.Add({ by: 4 })), job.ask(E.Count())], { concurrency: "unbounded" })
        expect(counted).toBe(7)
        expect(yield* job.call(E.Count())).toMatchObject({ _tag: "Stay", answer: 7 })
        yield* job.send(E.Finish())
        expect(yield* job.ask(E.Count())).toBe(-7)
        expect(yield* Effect.flip(job.send(E.Add({ by: 1 })))).toMatchObject({ _tag: "MachineStopped" })
        yield* first.close
        const { engine } = yield* open()
        const again = yield* Effect.flatMap(engine.get(Asked, "j"), Effect.fromOption)
        expect(yield* again.ask(E.Count())).toBe(-7)
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Add", "Finish"])
      }))

    test("157 a question that changes the state is journaled, and one with an id has its first answer again", ({ open, events }) =>
      Effect.gen(function* () {
        const Taken = Machine.make({ name: "job", state: S, event: E, initial: S.Busy({ n: 5 }) }).on(
          S.Busy,
          E.Count,
          [S.Busy, stay],
          ({ state }) => (state.n === 0 ? reply(0) : reply(state.n, S.Busy({ n: state.n - 1 }))),
        )
        const { engine } = yield* open()
        const job = yield* engine.start(Taken, "j")
        expect(yield* job.ask(E.Count())).toBe(5)
        expect(yield* job.ask(E.Count(), { id: "q" })).toBe(4)
        expect(yield* job.ask(E.Count(), { id: "q" })).toBe(4)
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Count", "Count"])
      }))

    test("29 an answer that does not fit its schema fails the caller that asked, and no other", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const Bad = Machine.make({ name: "bad", state: S, event: E, initial: S.Busy({ n: 0 }) })
          .on(S.Busy, E.Count, stay, () => reply("many" as never))
          .on(S.Busy, E.Add, S.Busy, ({ event }) => S.Busy({ n: event.by }))
        const bad = yield* engine.start(Bad, "b")
        const job = yield* engine.start(Job, "j")
        expect((yield* Effect.flip(bad.ask(E.Count()))).message).toMatch(/the answer to Count does not fit its schema/)
        yield* bad.send(E.Add({ by: 5 }))
        yield* job.send(E.Start())
        expect(yield* bad.state).toEqual(S.Busy({ n: 5 }))
      }))

    test("38 a state that cannot be stored is refused, and the instance takes the next event", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const Odd = State({ Empty: {}, Dated: { at: Schema.DateTimeUtc } })
        const Go = Event({ Set: {}, Take: {} })
        const Diary = Machine.make({ name: "diary", state: Odd, event: Go, initial: Odd.Empty() })
          .on(Odd.Empty, Go.Set, Odd.Dated, () => Effect.succeed({ _tag: "Dated", at: "yesterday" } as never))
          .on(Odd.Empty, Go.Take, Odd.Dated, () => Odd.Dated({ at: DateTime.makeUnsafe(5) }))
          .persist({ snapshot: { _tag: "EveryTransition" } })
        const diary = yield* engine.start(Diary, "d")
        const job = yield* engine.start(Job, "j")
        expect(yield* Effect.flip(diary.send(Go.Set()))).toMatchObject({ _tag: "ActionFailed", committed: false })
        yield* job.send(E.Start())
        yield* diary.send(Go.Take())
        expect(yield* diary.state).toEqual(Odd.Dated({ at: DateTime.makeUnsafe(5) }))
        expect(yield* events({ machine: "diary", id: "d" })).toHaveLength(1)
      }))

    test("28 and 31 postponed events wait unstored, and are answered in order once the state changes", ({ open, events, quiet }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Paused({ n: 0 }))
        const order: Array<number> = []
        const waiting = yield* Effect.forEach([1, 2, 3], (by) =>
          Effect.forkChild(
            Effect.tap(job.call(E.Add({ by })), () => Effect.sync(() => order.push(by))),
            { startImmediately: true },
          ),
        )
        const finish = yield* Effect.forkChild(job.send(E.Finish()), { startImmediately: true })
        yield* quiet
        expect(order).toEqual([])
        expect(yield* events(key)).toEqual([])
        yield* job.send(E.Resume())
        yield* Fiber.joinAll([...waiting, finish])
        expect(order).toEqual([1, 2, 3])
        expect(yield* job.state).toEqual(S.Done({ n: 6 }))
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Resume", "Add", "Add", "Add", "Finish"])
      }))

    test("a preview decides as a send would, guards included, and stores nothing", ({ open, events, record }) =>
      Effect.gen(function* () {
        const Sum = State({ Open: { sum: Schema.Number }, Closed: { sum: Schema.Number } })
        const Add = Event({ Add: { by: Schema.Number }, Close: {}, Look: {}, Ask: Event.reply({}, Schema.Number) })
        const machine = Machine.make({ name: "sum", state: Sum, event: Add, initial: Sum.Open({ sum: 0 }) })
          .on(Sum.Open, Add.Add, Sum.Open, ({ state, event }) => Sum.Open({ sum: state.sum + event.by }), {
            guard: ({ event }) => event.by > 0,
            guardName: "positive",
          })
          .on(Sum.Open, Add.Close, Sum.Closed)
          .on(Sum.Open, Add.Ask, stay, ({ state }) => reply(state.sum))
          .on(Sum.Open, Add.Look, Sum.Closed, ({ state }) => Effect.succeed(Sum.Closed({ sum: state.sum })))
          .timeout(Sum.Open, "1 hour", Sum.Closed)
          .final(Sum.Closed)
        const { engine } = yield* open()
        const sum = yield* engine.start(machine, "s")
        yield* sum.send(Add.Add({ by: 2 }))
        expect(yield* sum.preview(Add.Add({ by: 3 }))).toMatchObject({ _tag: "Stay", state: Sum.Open({ sum: 5 }) })
        expect(yield* sum.preview(Add.Close())).toMatchObject({ _tag: "Goto", from: Sum.Open({ sum: 2 }), state: Sum.Closed({ sum: 2 }) })
        expect(yield* sum.preview(Add.Ask())).toMatchObject({ _tag: "Stay", answer: 2 })
        expect(yield* Effect.flip(sum.preview(Add.Add({ by: -1 })))).toMatchObject({ _tag: "TransitionRefused", id: "s" })
        expect(yield* Effect.flip(sum.preview({ _tag: "Add", by: "x" } as never))).toMatchObject({ _tag: "InvalidEvent", id: "s" })
        expect(yield* Effect.flip(sum.preview(Add.Look()))).toMatchObject({ _tag: "PreviewRefused", event: "Look" })
        expect(yield* sum.state).toEqual(Sum.Open({ sum: 2 }))
        const stored = { machine: "sum", id: "s" }
        expect((yield* events(stored)).length).toBe(1)
        expect(yield* record(stored)).toMatchObject({ tag: "Open", sequence: 1 })
        yield* sum.send(Add.Close())
        expect(yield* Effect.flip(sum.preview(Add.Close()))).toMatchObject({ _tag: "MachineStopped", state: "Closed" })
      }))

    test("36 a guard that refuses is a refusal, and its journal is empty", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const Guarded = Machine.make({ name: "job", state: S, event: E, initial: S.Idle({ n: 0 }) }).on(
          S.Idle,
          E.Add,
          S.Idle,
          ({ state, event }) => S.Idle({ n: state.n + event.by }),
          { guard: ({ event }) => event.by > 0 },
        )
        const job = yield* engine.start(Guarded, "j")
        expect(yield* Effect.flip(job.send(E.Add({ by: -1 })))).toMatchObject({ _tag: "TransitionRefused" })
        expect(yield* events(key)).toEqual([])
      }))

    test("what an interrupted sender sent is stored all the same", ({ open, events, eventually }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j")
        const sending = yield* Effect.forkChild(job.send(E.Start()), { startImmediately: true })
        yield* Fiber.interrupt(sending)
        yield* eventually(events(key), (stored) => stored.length === 1)
        yield* eventually(job.state, ({ _tag }) => _tag === "Busy")
      }))

    test("79 an answer from the journal is given when memory has reached it: a caller that has it reads that state", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Paused({ n: 0 }))
        const stored = yield* Deferred.make<void>()
        const answered = yield* Deferred.make<void>()
        // The journal is asked for the postponed event, and answers only when that is stored.
        probe.onFindDuplicate = (_, find) => Effect.andThen(Deferred.await(stored), find)
        const adding = yield* Effect.forkChild(
          Effect.flatMap(job.call(E.Add({ by: 1 }), { id: "add" }), ({ state }) =>
            Effect.map(job.snapshot, (snapshot) => ({ told: state, read: snapshot.state, sequence: snapshot.sequence })),
          ),
          { startImmediately: true },
        )
        yield* quiet
        probe.onCommit = (_, commit) =>
          Effect.tap(commit, () => Effect.andThen(Deferred.succeed(stored, undefined), Deferred.await(answered)))
        const resuming = yield* Effect.forkChild(job.send(E.Resume()), { startImmediately: true })
        yield* Deferred.await(stored)
        yield* quiet
        yield* quiet
        yield* Deferred.succeed(answered, undefined)
        yield* Fiber.join(resuming)
        expect(yield* Fiber.join(adding)).toEqual({ told: S.Busy({ n: 1 }), read: S.Busy({ n: 1 }), sequence: 2 })
      }))

    test("79 an id that another node has journaled is answered when this node has read that far", ({ open }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const two = yield* open()
        const job = yield* one.engine.start(Job, "j", S.Paused({ n: 0 }))
        const late = yield* two.engine.ensure(Job, "j")
        yield* late.state
        yield* job.send(E.Resume())
        yield* job.send(E.Add({ by: 1 }), { id: "add" })
        expect(yield* late.call(E.Add({ by: 1 }), { id: "add" })).toMatchObject({ state: S.Busy({ n: 1 }) })
        expect(yield* late.snapshot).toMatchObject({ state: S.Busy({ n: 1 }), sequence: 2 })
      }))
  })
