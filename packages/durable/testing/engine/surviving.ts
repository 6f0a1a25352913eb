/** What one event, one entry or one instance does wrong does not harm the others. */
import { type ActionFailed, type EndlessTransition, Event, type InvalidEvent, Machine, type Overloaded, State, stay } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Call, E, Job, S, T, V } from "./Machines.ts"
import type { Kit } from "./Rig.ts"
import { type Outcomes, outage, StoreProbe } from "./StoreProbe.ts"

const Explosive = Schema.String.check(
  Schema.makeFilter((text: string) => {
    if (text === "explode") throw new Error("the check exploded")
    return true
  }),
)

export const surviving = ({ describe, test }: Kit) => {
  describe("functions of the user that throw", () => {
    test("143 a schema check of an event that throws refuses that event; the instance takes the next", ({ open }) =>
      Effect.gen(function* () {
        const S1 = State({ Open: { text: Schema.String } })
        const E1 = Event({ Say: { text: Explosive } })
        const Talk = Machine.make({ name: "talk", state: S1, event: E1, initial: S1.Open({ text: "" }) }).on(S1.Open, E1.Say, S1.Open)
        const { engine } = yield* open()
        const talk = yield* engine.start(Talk, "t")
        const bad = { _tag: "Say", text: "explode" } as const
        const refused = (yield* Effect.flip(talk.send(bad))) as ActionFailed
        expect(refused).toMatchObject({ _tag: "ActionFailed", phase: "decide", committed: false })
        yield* talk.send(E1.Say({ text: "hello" }))
        expect(yield* talk.state).toEqual(S1.Open({ text: "hello" }))
      }))

    test("143 an initial function that throws refuses that one instance", ({ open, journal }) =>
      Effect.gen(function* () {
        const Picky = Machine.make({
          name: "picky",
          state: S,
          event: E,
          initial: (n: number) => {
            if (n < 0) throw new Error("no negative numbers")
            return S.Idle({ n })
          },
        }).on(S.Idle, E.Start, S.Busy)
        const { engine } = yield* open()
        expect(yield* Effect.flip(engine.start(Picky, "p", -1))).toMatchObject({ _tag: "ActionFailed", id: "p", committed: false })
        const started = yield* engine.startAll(Picky, [
          { id: "a", input: 1 },
          { id: "b", input: -1 },
          { id: "c", input: 2 },
        ])
        expect(started.map(({ _tag }) => _tag)).toEqual(["Success", "Failure", "Success"])
        // Where it begins in a state of its own, a value that is none of its states is not an input.
        const misspelt = yield* Effect.flip(engine.start(Job, "m", { _tag: "Bussy", n: 0 } as never))
        expect(misspelt.message).toMatch(/give it no input, or one of its states Idle, Busy, Paused, Done/)
        expect(yield* engine.count(Job)).toEqual(new Map())
        expect(yield* journal.count("picky")).toEqual(new Map([["Idle", 2]]))
      }))

    test("145 a timeout without end is not a timer; one that is not a number is refused before anything is stored", ({
      open,
      journal,
      deadlines,
      events,
    }) =>
      Effect.gen(function* () {
        const Flexible = Call.timeout(
          T.Waiting,
          ({ minutes }) => (minutes < 0 ? Number.NaN : minutes === 0 ? Duration.infinity : `${minutes} minutes`),
          T.Late,
        )
        const { engine } = yield* open()
        const call = yield* engine.start(Flexible, "c", T.Waiting({ minutes: 5 }))
        expect(yield* deadlines({ machine: "call", id: "c" })).toHaveLength(1)
        const endless = yield* engine.start(Flexible, "d", T.Waiting({ minutes: 0 }))
        expect(yield* deadlines({ machine: "call", id: "d" })).toEqual([])
        yield* endless.send(V.Answer())
        expect(yield* Effect.flip(engine.start(Flexible, "e", T.Waiting({ minutes: -1 })))).toMatchObject({ phase: "timeout" })
        // After the year 9999.
        expect(yield* Effect.flip(engine.start(Flexible, "f", T.Waiting({ minutes: 1e12 })))).toMatchObject({ phase: "timeout" })
        for (const id of ["e", "f"]) expect(Option.isNone(yield* journal.open({ machine: "call", id }))).toBe(true)
        yield* call.send(V.Ping())
        expect(yield* events({ machine: "call", id: "c" })).toHaveLength(1)
      }))
  })

  describe("bounds", () => {
    test("144 an event above the size limit is refused, and what is below it can be read back", ({ open, events }) =>
      Effect.gen(function* () {
        const S1 = State({ Open: { text: Schema.String } })
        const E1 = Event({ Say: { text: Schema.String } })
        const Talk = Machine.make({ name: "talk", state: S1, event: E1, initial: S1.Open({ text: "" }) }).on(S1.Open, E1.Say, S1.Open)
        const { engine } = yield* open({ limits: { eventSize: 1000, stateSize: 1000 } })
        const talk = yield* engine.start(Talk, "t")
        const refused = (yield* Effect.flip(talk.send(E1.Say({ text: "x".repeat(2000) })))) as InvalidEvent
        expect(refused._tag).toBe("InvalidEvent")
        expect(refused.message).toMatch(/the limit is 1000/)
        yield* talk.send(E1.Say({ text: "short" }))
        expect(yield* events({ machine: "talk", id: "t" })).toHaveLength(1)
        expect(yield* Effect.flip(engine.start(Talk, "u", S1.Open({ text: "x".repeat(2000) })))).toMatchObject({ _tag: "InvalidState" })
      }))

    test("146 senders get their turn while a machine sends itself events without end", ({ open, events }) =>
      Effect.gen(function* () {
        const Endless = Machine.make({ name: "endless", state: S, event: E, initial: S.Busy({ n: 0 }) })
          .on(S.Busy, E.Again, S.Busy, ({ state, self }) => {
            self.send(E.Again())
            return S.Busy({ n: state.n + 1 })
          })
          .on(S.Busy, E.Count, stay, () => ({ _tag: "@reply", answer: 0, outcome: stay }) as never)
          .on(S.Busy, E.Pause, S.Paused)
        const errors: Array<EndlessTransition> = []
        const { engine } = yield* open()
        engine.inspectUnsafe((one) => {
          if (one._tag === "Refused" && one.error._tag === "EndlessTransition") errors.push(one.error)
        })
        const instance = yield* engine.start(Endless, "e")
        yield* instance.send(E.Again())
        // A sender does not wait for the chain to end.
        yield* instance.send(E.Pause())
        const journaled = yield* events({ machine: "endless", id: "e" })
        expect(journaled.length).toBeLessThan(5000)
        expect(yield* instance.state).toMatchObject({ _tag: "Paused" })
        expect(errors).toEqual([])
      }))

    test("146 a chain of self-sent events that does not end is refused with its path, also after a restart", ({
      open,
      events,
      passUntil,
    }) =>
      Effect.gen(function* () {
        const key = { machine: "endless", id: "e" }
        const Endless = Machine.make({ name: "endless", state: S, event: E, initial: S.Busy({ n: 0 }) }).on(
          S.Busy,
          E.Again,
          S.Busy,
          ({ state, self }) => {
            self.send(E.Again())
            return S.Busy({ n: state.n + 1 })
          },
        )
        const refusals: Array<EndlessTransition> = []
        const watched = () =>
          Effect.tap(open(), ({ engine }) =>
            Effect.sync(() =>
              engine.inspectUnsafe((one) => {
                if (one._tag === "Refused" && one.error._tag === "EndlessTransition") refusals.push(one.error)
              }),
            ),
          )
        const refused = (times: number) =>
          passUntil(
            "1 millis",
            Effect.sync(() => refusals.length),
            (count) => count >= times,
          )
        const one = yield* watched()
        yield* (yield* one.engine.start(Endless, "e")).send(E.Again())
        yield* refused(1)
        expect(refusals[0]).toMatchObject({ ...key, event: "Again", chain: "raised events" })
        expect(refusals[0]?.path.at(-1)).toBe("Again")
        expect(yield* events(key)).toHaveLength(10_000)
        yield* one.crash
        const two = yield* watched()
        yield* two.engine.restore("e", Endless)
        yield* refused(2)
        expect(yield* events(key)).toHaveLength(10_000)
      }))

    test("15 a sender is refused while too many events wait", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open({ limits: { mailbox: 5 } })
        const job = yield* engine.start(Job, "j", S.Paused({ n: 0 }))
        const waiting = yield* Effect.forEach(Array.from({ length: 5 }), () =>
          Effect.forkChild(job.send(E.Add({ by: 1 })), { startImmediately: true }),
        )
        yield* quiet
        const refused = (yield* Effect.flip(job.send(E.Add({ by: 1 })))) as Overloaded
        expect(refused).toMatchObject({ _tag: "Overloaded", waiting: 5 })
        expect(probe.events).toBe(0)
        yield* job.send(E.Resume())
        yield* Effect.forEach(waiting, Fiber.join)
        expect(yield* job.state).toEqual(S.Busy({ n: 5 }))
      }))
  })

  describe("a mailbox", () => {
    test("15 a sender is refused while too many events wait for a hook to end", ({ open, quiet }) =>
      Effect.gen(function* () {
        const ends = yield* Deferred.make<void>()
        const { engine } = yield* open({ limits: { mailbox: 5 } })
        const Slow = Job.enter(S.Busy, () => Deferred.await(ends))
        const job = yield* engine.start(Slow, "j")
        const send = (event: typeof E.Type) => Effect.forkChild(job.send(event), { startImmediately: true })
        const entering = yield* send(E.Start())
        yield* quiet
        const waiting = yield* Effect.forEach(Array.from({ length: 5 }), () => send(E.Add({ by: 1 })))
        yield* quiet
        expect(yield* Effect.flip(job.send(E.Add({ by: 1 })))).toMatchObject({ _tag: "Overloaded", waiting: 5 })
        yield* Deferred.succeed(ends, undefined)
        yield* Effect.forEach([entering, ...waiting], Fiber.join)
        expect(yield* job.state).toEqual(S.Busy({ n: 5 }))
      }))
  })

  describe("what the caller does to its own values", () => {
    const S1 = State({ Open: { items: Schema.Array(Schema.String), extra: Schema.Any } })
    const E1 = Event({ Fill: { items: Schema.Array(Schema.String), extra: Schema.Any } })
    const Box = Machine.make({ name: "box", state: S1, event: E1, initial: S1.Open({ items: [], extra: null }) }).on(
      S1.Open,
      E1.Fill,
      S1.Open,
    )

    test("17 an array that is changed after it was sent does not change the instance", ({ open }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const box = yield* engine.start(Box, "b")
        const items = ["one"]
        yield* box.send({ _tag: "Fill", items, extra: { deep: items } })
        items.push("two")
        expect(yield* box.state).toEqual(S1.Open({ items: ["one"], extra: { deep: ["one"] } }))
      }))

    test("17 an event that is changed while it waits is decided as it was sent", ({ open, quiet }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const job = yield* engine.start(Job, "j", S.Paused({ n: 0 }))
        const add = { _tag: "Add" as const, by: 1 }
        const waiting = yield* Effect.forkChild(job.send(add), { startImmediately: true })
        yield* quiet
        add.by = 100
        yield* job.send(E.Resume())
        yield* Fiber.join(waiting)
        expect(yield* job.state).toEqual(S.Busy({ n: 1 }))
      }))

    test("17 a value that JSON would lose is refused", ({ open, events }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        const box = yield* engine.start(Box, "b")
        for (const extra of [{ call: () => 1 }, undefined, Number.NaN, [undefined], { deep: [Number.NEGATIVE_INFINITY] }]) {
          const refused = yield* Effect.flip(box.send(E1.Fill({ items: [], extra })))
          expect(refused.message).toMatch(/its field extra holds .*, which JSON would lose/)
        }
        expect(yield* events({ machine: "box", id: "b" })).toHaveLength(0)
        yield* box.send(E1.Fill({ items: [], extra: { missing: undefined } }))
        yield* engine.release(Box, ["b"])
        expect(yield* box.state).toEqual(S1.Open({ items: [], extra: {} }))
      }))
  })

  describe("the state while work of the left state is still ending", () => {
    test("150 state, snapshot and changes show what the store has from the moment of the commit", ({ open, record, quiet, eventually }) =>
      Effect.gen(function* () {
        const ended = { now: false }
        const Slow = Job.spawn(S.Busy, () =>
          Effect.ensuring(
            Effect.never,
            Effect.andThen(
              Effect.sleep("1 hour"),
              Effect.sync(() => {
                ended.now = true
              }),
            ),
          ),
        )
        const { engine } = yield* open()
        const job = yield* engine.start(Slow, "j", S.Busy({ n: 1 }))
        const seen: Array<string> = []
        const following = yield* Effect.forkChild(
          Stream.runForEach(job.changes, (state) => Effect.sync(() => void seen.push(state._tag))),
          { startImmediately: true },
        )
        yield* eventually(
          Effect.sync(() => seen.length),
          (count) => count === 1,
        )
        yield* Effect.forkChild(job.send(E.Finish()), { startImmediately: true })
        yield* quiet
        yield* quiet
        expect(yield* record({ machine: "job", id: "j" })).toMatchObject({ tag: "Done", status: "final" })
        expect(yield* job.state).toEqual(S.Done({ n: 1 }))
        expect(yield* job.snapshot).toMatchObject({ status: "final", sequence: 1 })
        // The stream ends with the instance, not with its old work.
        yield* Fiber.join(following)
        expect(seen).toEqual(["Busy", "Done"])
        expect(ended.now).toBe(false)
      }))

    test("14 a processing timeout limits how long the end of work is waited for", ({ open, pass, quiet }) =>
      Effect.gen(function* () {
        const Stubborn = Machine.make({ name: "stubborn", state: S, event: E, initial: S.Busy({ n: 0 }), processingTimeout: "5 seconds" })
          .on(S.Busy, E.Pause, S.Paused)
          .on(S.Paused, E.Resume, S.Busy)
          .spawn(S.Busy, () => Effect.uninterruptible(Effect.never))
        const { engine } = yield* open()
        const instance = yield* engine.start(Stubborn, "s")
        const pausing = yield* Effect.forkChild(Effect.exit(instance.send(E.Pause())), { startImmediately: true })
        yield* quiet
        yield* pass("6 seconds")
        expect((yield* Fiber.join(pausing))._tag).toBe("Failure")
        expect(yield* instance.state).toEqual(S.Paused({ n: 0 }))
        yield* instance.send(E.Resume())
      }))
  })

  describe("order", () => {
    test("24 postponed events keep their order when the store fails once", ({ open, events, quiet, passFor }) =>
      Effect.gen(function* () {
        const S1 = State({ Free: {}, Busy: { last: Schema.Number } })
        const E1 = Event({ Put: { n: Schema.Number }, Release: {} })
        const Line = Machine.make({ name: "line", state: S1, event: E1, initial: S1.Busy({ last: 0 }) })
          .on(S1.Busy, E1.Release, S1.Free)
          .on(S1.Free, E1.Put, S1.Busy, ({ event }) => S1.Busy({ last: event.n }))
          .postpone(S1.Busy, E1.Put)
        const { engine, probe } = yield* open()
        const line = yield* engine.start(Line, "l")
        const puts = yield* Effect.forEach([2, 3, 4], (n) => Effect.forkChild(line.send(E1.Put({ n })), { startImmediately: true }))
        yield* quiet
        let failures = 0
        probe.onCommit = (_, commit) => (failures++ === 0 ? Effect.fail(outage()) : commit)
        for (let round = 0; round < 3; round++) {
          const released = yield* Effect.forkChild(line.send(E1.Release()), { startImmediately: true })
          yield* passFor(released)
        }
        yield* Effect.forEach(puts, passFor)
        const journaled = yield* events({ machine: "line", id: "l" })
        expect(journaled.filter(({ tag }) => tag === "Put").map(({ body }) => JSON.parse(body).e.n)).toEqual([2, 3, 4])
      }))

    for (const [what, end] of [
      ["a conflict", (commit: Outcomes) => commit],
      ["a failure of the store", () => Effect.fail(outage())],
    ] as const) {
      test(`24 events keep the order in which they came after ${what}, though some were postponed in a state that was not stored`, (rig) =>
        Effect.gen(function* () {
          const S1 = State({ Open: {}, Locked: {}, Free: {} })
          const E1 = Event({ Lock: {}, Free: {}, Put: {}, Note: {} })
          const Line = Machine.make({ name: "line", state: S1, event: E1, initial: S1.Open() })
            .on(S1.Open, E1.Lock, S1.Locked)
            .on(S1.Open, E1.Free, S1.Free)
            .postpone(S1.Locked, E1.Put)
            .on(S1.Locked, E1.Note, stay)
            .on(S1.Free, [E1.Lock, E1.Put, E1.Note], stay)
          const one = yield* rig.open()
          const two = yield* rig.open()
          const line = yield* one.engine.start(Line, "l")
          let attempts = 0
          one.probe.onCommit = (_, commit) => {
            if (attempts++ > 0) return commit
            const freed = Effect.flatMap(two.engine.ensure(Line, "l"), (other) => other.send(E1.Free()))
            return Effect.andThen(Effect.orDie(freed), end(commit))
          }
          const sends = yield* Effect.forEach([E1.Lock(), E1.Put(), E1.Note()], (event) =>
            Effect.forkChild(line.send(event), { startImmediately: true }),
          )
          yield* Effect.forEach(sends, rig.passFor)
          expect(attempts).toBeGreaterThan(1)
          expect((yield* rig.events({ machine: "line", id: "l" })).map(({ tag }) => tag)).toEqual(["Free", "Lock", "Put", "Note"])
        }))
    }

    test("23 two timers of one instance that fall due while it is out of memory both fire, and it is not held", ({
      open,
      pass,
      passUntil,
      record,
      events,
    }) =>
      Effect.gen(function* () {
        const Twice = Call.timeout(T.Waiting, "1 minute", stay, () => stay, { name: "note" }).timeout(T.Waiting, "2 minutes", T.Late, {
          name: "late",
        })
        const one = yield* open({ nodeId: "one" })
        const call = yield* one.engine.start(Twice, "c")
        yield* Effect.repeat(call.send(V.Ping()), { times: 1 })
        yield* one.close
        yield* pass("1 hour")
        const two = yield* open({ nodeId: "one" })
        yield* two.engine.register(Twice)
        yield* passUntil("100 millis", record({ machine: "call", id: "c" }), ({ tag }) => tag === "Late")
        expect(yield* record({ machine: "call", id: "c" })).toMatchObject({ status: "running" })
        expect((yield* events({ machine: "call", id: "c" })).map(({ tag }) => tag)).toEqual(["Ping", "Ping", "(note)", "(late)"])
      }))

    test("23 two timers of a passivated instance that fall due at the same moment both fire, and it is not held", ({
      open,
      pass,
      passUntil,
      record,
      events,
    }) =>
      Effect.gen(function* () {
        const Twice = Call.timeout(T.Waiting, "1 hour", stay, () => stay, { name: "note" }).timeout(T.Waiting, "1 hour", stay, () => stay, {
          name: "mark",
        })
        const { engine, probe } = yield* open({ passivateAfter: "1 minute", sweeper: { interval: "1000 hours" } })
        const call = yield* engine.start(Twice, "c")
        yield* Effect.repeat(call.send(V.Ping()), { times: 1 })
        yield* passUntil("5 minutes", engine.live, (live) => live === 0)
        let [reading, mostAtOnce] = [0, 0]
        probe.onRead = (_, read) =>
          Effect.suspend(() => {
            mostAtOnce = Math.max(mostAtOnce, ++reading)
            return Effect.ensuring(
              read,
              Effect.sync(() => {
                reading--
              }),
            )
          })
        yield* pass("1 hour")
        yield* passUntil("1 second", record({ machine: "call", id: "c" }), ({ sequence }) => sequence >= 4)
        expect(yield* record({ machine: "call", id: "c" })).toMatchObject({ status: "running", sequence: 4 })
        expect(mostAtOnce).toBe(1)
        expect((yield* events({ machine: "call", id: "c" })).map(({ tag }) => tag).sort()).toEqual(["(mark)", "(note)", "Ping", "Ping"])
      }))

    test("23 an instance that is opened together with others is not read a second time by a caller that asks for it meanwhile", ({
      open,
    }) =>
      Effect.gen(function* () {
        const first = yield* open({ nodeId: "one" })
        for (const id of ["a", "b"]) yield* Effect.flatMap(first.engine.start(Call, id), (call) => call.send(V.Ping()))
        yield* first.close
        const { engine, probe } = yield* open({ nodeId: "one" })
        yield* engine.register(Call)
        const reads: Array<string> = []
        const [reached, answered] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        probe.onRead = ({ id }, read) => {
          reads.push(id)
          return Effect.tap(read, () => Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(answered)))
        }
        const all = yield* Effect.forkChild(engine.restoreAll(Call))
        yield* Deferred.await(reached)
        const asking = yield* Effect.forkChild(engine.restore("b", Call))
        yield* Effect.yieldNow
        yield* Deferred.succeed(answered, undefined)
        expect((yield* Fiber.join(all)).map(({ id }) => id)).toEqual(["a", "b"])
        expect(Option.isSome(yield* Fiber.join(asking))).toBe(true)
        expect(reads).toEqual(["a", "b"])
      }))

    test("25 timers of one instance fire in the order of their deadlines, whichever is claimed first", ({
      open,
      pass,
      passUntil,
      timers,
      record,
      events,
    }) =>
      Effect.gen(function* () {
        const Twice = Call.timeout(T.Waiting, "1 minute", stay, () => stay, { name: "note" }).timeout(T.Waiting, "2 minutes", T.Late, {
          name: "back",
        })
        const one = yield* open()
        yield* one.engine.start(Twice, "c")
        yield* one.crash
        yield* pass("90 seconds")
        // A process claims the first timer and is killed.
        const claim = { machines: ["call"], graceMillis: 0, limit: 10, owner: "dead", claimMillis: 3_600_000 }
        expect(yield* timers.claim(claim)).toHaveLength(1)
        yield* pass("90 seconds")
        const two = yield* open()
        yield* two.engine.register(Twice)
        yield* two.engine.restoreAll(Twice)
        yield* passUntil("1 second", record({ machine: "call", id: "c" }), ({ tag }) => tag === "Late")
        expect((yield* events({ machine: "call", id: "c" })).map(({ tag }) => tag)).toEqual(["(note)", "(back)"])
      }))
  })

  describe("timers of one instance", () => {
    test("25 a sweep that has claimed only the last of them fires the earlier ones first, in the order of their deadlines", (rig) =>
      Effect.gen(function* () {
        const Thrice = Call.timeout(T.Waiting, "2 minutes", stay, () => stay, { name: "a" })
          .timeout(T.Waiting, "1 minute", stay, () => stay, { name: "b" })
          .timeout(T.Waiting, "3 minutes", T.Late, { name: "c" })
        const probe = new StoreProbe()
        probe.onClaim = <A>() => Effect.succeed([] as A)
        const { engine } = yield* rig.open({ probe })
        yield* engine.start(Thrice, "c")
        // The clock of this process is behind the store's: by it none is due.
        const claimed = { machine: "call", id: "c", name: "c", entry: 0, due: 180_000, attempts: 1 }
        probe.onClaim = <A>() => Effect.succeed([claimed] as A)
        yield* engine.sweep
        const journaled = yield* rig.events({ machine: "call", id: "c" })
        expect(journaled.map(({ tag }) => tag)).toEqual(["(b)", "(a)", "(c)"])
      }))
  })

  describe("an instance that would wait for itself", () => {
    test("29 sending to itself inside its own enter fails with the next step", ({ open }) =>
      Effect.gen(function* () {
        const problems: Array<string> = []
        const { engine } = yield* open()
        const Selfish = Job.enter(S.Paused, () =>
          Effect.catch(Option.getOrThrow(engine.find({ machine: "job", id: "j" })).send(E.Resume()), (error) =>
            Effect.sync(() => void problems.push(error.message)),
          ),
        )
        const job = yield* engine.start(Selfish, "j", S.Busy({ n: 0 }))
        yield* job.send(E.Pause())
        expect(problems).toHaveLength(1)
        expect(problems[0]).toMatch(/use self\.send/)
      }))
  })

  describe("histories", () => {
    test("27 a page of a history reads what is in it, and continues where the page before ended", ({ open }) =>
      Effect.gen(function* () {
        const { engine, probe } = yield* open()
        const job = yield* engine.start(Job, "j", S.Busy({ n: 0 }))
        yield* Effect.forEach(Array.from({ length: 300 }), () => job.send(E.Add({ by: 1 })), { concurrency: 50, discard: true })
        let read = 0
        probe.onEvents = (events) =>
          Effect.tap(events, (page) =>
            Effect.sync(() => {
              if (Array.isArray(page)) read += page.length
            }),
          )
        const pages: Array<number> = []
        for (let after = 0; after < 300; after += 50) {
          read = 0
          const page = yield* job.historyPage({ after, limit: 50 })
          pages.push(read)
          expect(page.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 50 }, (_, index) => after + index + 1))
          expect(page.at(-1)).toMatchObject({ outcome: "Stay", state: { n: after + 50 }, through: [], requests: [] })
        }
        expect(pages).toEqual([50, 50, 50, 50, 50, 50])
        expect(yield* job.historyPage({ after: 300 })).toEqual([])
        // Not a whole number: rounded down. Not a number: the default.
        expect(yield* job.historyPage({ after: -1, limit: 1.5 })).toHaveLength(1)
        expect(yield* job.historyPage({ after: Number.NaN, limit: Number.NaN })).toHaveLength(100)
      }))
  })
}
