/** What is declared for a group belongs to the stay in the group: stored with its entry, across moves, restarts and nodes. */
import { Event, history, Machine, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Kit } from "./Rig.ts"

const S = State({
  Draft: {},
  Reviewing: State.group({ Peer: {}, Formal: State.group({ Legal: {}, Privacy: {} }) }),
  Expired: {},
})
const E = Event({ Submit: {}, Next: {}, Withdraw: {}, Ping: {} })

const Base = Machine.make({ name: "review", state: S, event: E, initial: S.Draft() })
  .on(S.Draft, E.Submit, S.Peer)
  .on(S.Peer, E.Next, S.Legal)
  .on(S.Legal, E.Next, S.Privacy)
  .on(S.Privacy, E.Next, S.Peer)
  .on(S.Reviewing, E.Withdraw, S.Draft)
  .on(S.Privacy, E.Ping, S.Privacy)

const Timed = Base.timeout(S.Reviewing, "3 minutes", S.Expired)
const Each = Base.timeout(S.Reviewing, "3 minutes", S.Expired, { each: true })

const key = { machine: "review", id: "r" }
const is = (tag: string) => (state: { readonly _tag: string }) => state._tag === tag
const second = 1000
const minute = 60 * second

const D = State({
  Off: {},
  On: State.group({ Low: {}, High: { level: Schema.Number }, Full: {} }, { initial: "Low" }),
})
const V = Event({ Start: {}, Raise: { level: Schema.Number }, Break: {}, Back: {}, Fill: {}, Filled: {} })

const Stove = Machine.make({ name: "stove", state: D, event: V, initial: D.Off() })
  .on(D.Off, V.Start, D.On)
  .on(D.Low, V.Raise, D.High)
  .on(D.On, V.Break, D.Off)
  .on(D.Low, V.Fill, D.Full)
  .on(D.Off, V.Back, history(D.On))
  .done(D.On, D.Full, V.Filled())
  .on(D.Full, V.Filled, D.Off)
  // A hook that is an Effect keeps what was sent from sharing the commit of its sender.
  .enter(D.Full, () => Effect.void)

const Q = State({ Open: { seen: Schema.Array(Schema.String) } })
const R = Event({ Go: {}, A: {}, B: {}, C: {}, Flood: { count: Schema.Int } })
const note = (state: { readonly seen: ReadonlyArray<string> }, tag: string) => Q.Open({ seen: [...state.seen, tag] })

const Queue = Machine.make({ name: "queue", state: Q, event: R, initial: Q.Open({ seen: [] }) })
  .reenter(Q.Open, R.Go, ({ state, self }) => {
    self.send(R.A())
    self.send(R.B())
    return note(state, "Go")
  })
  .reenter(Q.Open, R.A, ({ state, self }) => {
    self.send(R.C())
    return note(state, "A")
  })
  .reenter(Q.Open, [R.B, R.C], ({ state, event }) => note(state, event._tag))
  .on(Q.Open, R.Flood, Q.Open, ({ state, event, self }) => {
    for (let sent = 0; sent < event.count; sent++) self.send(R.B())
    return state
  })
  .enter(Q.Open, () => Effect.void)

/** Work that is listed under the node that runs it, with the state it began in. */
const workers = () => {
  const running: Array<string> = []
  const started: Array<string> = []
  const working = (name: string) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        running.push(name)
        started.push(name)
      }),
      () => Effect.never,
      () => Effect.sync(() => running.splice(running.indexOf(name), 1)),
    )
  const machine = (node: string) =>
    Base.spawn(S.Reviewing, () => working(`${node} Reviewing`)).spawn(S.Legal, () => working(`${node} Legal`))
  return { running, started, machine }
}

export const groups = ({ describe, test }: Kit) =>
  describe("groups", () => {
    test("161 the deadline of a group is one row with the group's name and entry; moves inside the group leave it alone", ({
      open,
      pass,
      deadlines,
      eventually,
      events,
    }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const review = yield* engine.start(Timed, "r")
        yield* review.send(E.Submit())
        const row = [{ name: "Reviewing/timeout", entry: 1, due: 3 * minute }]
        expect(yield* deadlines(key)).toEqual(row)
        yield* pass("2 minutes")
        yield* review.send(E.Next())
        yield* review.send(E.Next())
        expect(yield* deadlines(key)).toEqual(row)
        expect(probe.batches.flat().at(-1)).toMatchObject({ clearTimers: [], setTimers: [] })
        yield* pass("1 minute")
        yield* eventually(review.state, is("Expired"))
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Next", "Next", "(Reviewing/timeout)"])
        expect(yield* deadlines(key)).toEqual([])
      }))

    test("161 leaving the group removes its deadline in the same commit, and entering it again sets another", ({ open, pass, deadlines }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const review = yield* engine.start(Timed, "r")
        yield* review.send(E.Submit())
        yield* review.send(E.Next())
        yield* review.send(E.Withdraw())
        expect(probe.batches.flat().at(-1)).toMatchObject({ clearTimers: ["Reviewing/timeout"], setTimers: [] })
        yield* pass("1 second")
        yield* review.send(E.Submit())
        expect(yield* deadlines(key)).toEqual([{ name: "Reviewing/timeout", entry: 4, due: 3 * minute + second }])
      }))

    test("161 an idle deadline of a group restarts with every event, its state deadlines with their states", ({ open, pass, deadlines }) =>
      Effect.gen(function* () {
        const machine = Base.timeout(S.Reviewing, "3 minutes", S.Expired, { idle: true }).timeout(S.Legal, "1 minute", S.Privacy, {
          name: "legal",
        })
        const { engine } = yield* open()
        const review = yield* engine.start(machine, "r")
        yield* review.send(E.Submit())
        yield* pass("1 second")
        yield* review.send(E.Next())
        expect(yield* deadlines(key)).toEqual([
          { name: "legal", entry: 2, due: minute + second },
          { name: "Reviewing/timeout", entry: 2, due: 3 * minute + second },
        ])
        yield* review.send(E.Next())
        expect(yield* deadlines(key)).toEqual([{ name: "Reviewing/timeout", entry: 3, due: 3 * minute + second }])
      }))

    test("161 a restart keeps the deadline of the group, and one that passed meanwhile fires once", ({ open, pass, eventually, events }) =>
      Effect.gen(function* () {
        const first = yield* open()
        const review = yield* first.engine.start(Timed, "r")
        yield* review.send(E.Submit())
        yield* review.send(E.Next())
        yield* first.close
        yield* pass("4 minutes")
        const second = yield* open()
        const again = yield* second.engine.ensure(Timed, "r")
        yield* eventually(again.state, is("Expired"))
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Next", "(Reviewing/timeout)"])
      }))

    test("161 a deadline stored for each state fires once as that of the group, also after moves inside the group", ({
      open,
      pass,
      deadlines,
      eventually,
      events,
    }) =>
      Effect.gen(function* () {
        const before = yield* open()
        const review = yield* before.engine.start(Each, "r")
        yield* review.send(E.Submit())
        yield* pass("1 minute")
        yield* review.send(E.Next())
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 2, due: 4 * minute }])
        yield* before.close
        const after = yield* open()
        const again = yield* after.engine.ensure(Timed, "r")
        yield* pass("1 minute")
        yield* again.send(E.Next())
        expect(yield* deadlines(key)).toEqual([{ name: "timeout", entry: 2, due: 4 * minute }])
        yield* pass("2 minutes")
        yield* eventually(again.state, is("Expired"))
        yield* pass("10 minutes")
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Submit", "Next", "Next", "(timeout)"])
        expect(yield* again.stateAt(4)).toEqual(S.Expired())
      }))

    test("161 a deadline stored for the group fires once where it belongs to each state now", ({ open, pass, eventually, events }) =>
      Effect.gen(function* () {
        const before = yield* open()
        const review = yield* before.engine.start(Timed, "r")
        yield* review.send(E.Submit())
        yield* before.close
        const after = yield* open()
        const again = yield* after.engine.ensure(Each, "r")
        yield* pass("3 minutes")
        yield* eventually(again.state, is("Expired"))
        yield* pass("10 minutes")
        expect((yield* events(key)).map(({ tag }) => tag)).toEqual(["Submit", "(Reviewing/timeout)"])
      }))

    test("161 an idle deadline stored for each state becomes that of the group with the next event", ({ open, pass, deadlines }) =>
      Effect.gen(function* () {
        const idle = (each: boolean) => Base.timeout(S.Reviewing, "3 minutes", S.Expired, { idle: true, each })
        const before = yield* open()
        const review = yield* before.engine.start(idle(true), "r")
        yield* review.send(E.Submit())
        yield* before.close
        const after = yield* open()
        const again = yield* after.engine.ensure(idle(false), "r")
        yield* pass("1 minute")
        yield* again.send(E.Next())
        expect(yield* deadlines(key)).toEqual([{ name: "Reviewing/timeout", entry: 2, due: 4 * minute }])
      }))

    test("161 work of a group continues across moves inside it, beside that of the states, and ends with the group", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { running, started, machine } = workers()
        const { engine } = yield* open()
        const review = yield* engine.start(machine("one"), "r")
        yield* review.send(E.Submit())
        yield* review.send(E.Next())
        expect(running).toEqual(["one Reviewing", "one Legal"])
        yield* review.send(E.Next())
        expect(running).toEqual(["one Reviewing"])
        yield* review.send(E.Next())
        yield* review.send(E.Withdraw())
        yield* quiet
        expect(running).toEqual([])
        expect(started).toEqual(["one Reviewing", "one Legal"])
      }))

    test("161 the owner of a group's work stays its owner when another node moves the instance inside the group", ({
      open,
      record,
      passUntil,
    }) =>
      Effect.gen(function* () {
        const { running, started, machine } = workers()
        const one = yield* open()
        const two = yield* open()
        const first = yield* one.engine.start(machine("one"), "r")
        yield* first.send(E.Submit())
        const { owner } = yield* record(key)
        const second = yield* two.engine.ensure(machine("two"), "r")
        yield* second.send(E.Next())
        expect(yield* record(key)).toMatchObject({ tag: "Legal", owner })
        yield* passUntil(
          "100 millis",
          Effect.sync(() => running),
          (now) => now.length === 2,
        )
        expect(started).toEqual(["one Reviewing", "one Legal"])
        yield* second.send(E.Withdraw())
        yield* passUntil(
          "100 millis",
          Effect.sync(() => running),
          (now) => now.length === 0,
        )
      }))

    test("161 a snapshot holds when the groups were entered: a restart and a replay agree", ({ open, journal, quiet }) =>
      Effect.gen(function* () {
        const machine = Timed.persist({ snapshot: { _tag: "EveryTransition" } })
        const first = yield* open()
        const review = yield* first.engine.start(machine, "r")
        yield* review.send(E.Submit())
        yield* review.send(E.Next())
        yield* quiet
        const opened = yield* journal.open(key)
        expect(JSON.parse(opened._tag === "Some" ? (opened.value.snapshot?.body ?? "") : "")).toEqual({
          s: { _tag: "Legal" },
          n: 2,
          p: { _tag: "Peer" },
          g: { Reviewing: 1 },
        })
      }))

    for (const [how, policy] of [
      ["all events", { _tag: "Manual" }],
      ["a snapshot", { _tag: "EveryTransition" }],
    ] as const)
      test(`163 history is the same after a restart from ${how}`, ({ open, quiet }) =>
        Effect.gen(function* () {
          const machine = Stove.persist({ snapshot: policy })
          const first = yield* open()
          const stove = yield* first.engine.start(machine, "s")
          yield* stove.send(V.Start())
          yield* stove.send(V.Raise({ level: 3 }))
          yield* stove.send(V.Break())
          yield* quiet
          yield* first.close
          const second = yield* open()
          const again = yield* second.engine.ensure(machine, "s")
          expect(yield* again.state).toEqual(D.Off())
          yield* again.send(V.Back())
          expect(yield* again.state).toEqual(D.High({ level: 3 }))
          expect(yield* again.stateAt(4)).toEqual(D.High({ level: 3 }))
        }))

    test("163 an effectful decision is journaled with where groups were left", ({ open }) =>
      Effect.gen(function* () {
        const machine = Stove.on(D.On, V.Break, D.Off, () => Effect.succeed(D.Off()), { override: true })
        const first = yield* open()
        const stove = yield* first.engine.start(machine, "s")
        yield* stove.send(V.Start())
        yield* stove.send(V.Raise({ level: 4 }))
        yield* stove.send(V.Break())
        yield* first.close
        const again = yield* (yield* open()).engine.ensure(machine, "s")
        yield* again.send(V.Back())
        expect(yield* again.state).toEqual(D.High({ level: 4 }))
      }))

    test("163 the event of a completed group is handled once, also when the process dies before it", ({ open, quiet }) =>
      Effect.gen(function* () {
        const one = yield* open()
        const stove = yield* one.engine.start(Stove, "s")
        yield* stove.send(V.Start())
        let commits = 0
        one.probe.onCommit = (_, commit) => (++commits >= 2 ? Effect.andThen(one.crash, Effect.never) : commit)
        yield* stove.send(V.Fill())
        yield* quiet
        const again = yield* (yield* open()).engine.ensure(Stove, "s")
        yield* quiet
        expect(yield* again.state).toEqual(D.Off())
        expect(yield* again.lastSequence).toBe(3)
      }))

    test("146 raised events are handled first in, first out, also those that are owed after the process died", ({ open, quiet }) =>
      Effect.gen(function* () {
        for (const lastCommit of [2, 3, 100]) {
          const one = yield* open()
          const queue = yield* one.engine.start(Queue, `q-${lastCommit}`)
          let commits = 0
          one.probe.onCommit = (_, commit) => (++commits >= lastCommit ? Effect.andThen(one.crash, Effect.never) : commit)
          yield* queue.send(R.Go())
          yield* quiet
          const again = yield* (yield* open()).engine.ensure(Queue, `q-${lastCommit}`)
          yield* quiet
          expect(yield* again.state).toEqual(Q.Open({ seen: ["Go", "A", "B", "C"] }))
        }
      }))

    test("146 more raised events than may wait are refused with the event that raised them", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open({ limits: { mailbox: 10 } })
        const queue = yield* engine.start(Queue, "q")
        expect(yield* Effect.flip(queue.send(R.Flood({ count: 11 })))).toMatchObject({ _tag: "EndlessTransition" })
        expect(yield* queue.state).toEqual(Q.Open({ seen: [] }))
      }))
  })
