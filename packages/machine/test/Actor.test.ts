import { type Actor, ActorSystem, Event, Machine, reply, Slot, State, spawn, stay, stop } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"

const S = State({ Idle: { n: Schema.Number }, Busy: { n: Schema.Number }, Paused: { n: Schema.Number }, Done: { n: Schema.Number } })
const E = Event({
  Start: {},
  Add: { by: Schema.Number },
  Pause: {},
  Resume: {},
  Finish: {},
  Quit: {},
  Boom: {},
  Twice: {},
  Count: Event.reply({}, Schema.Number),
})
const Job = Machine.make({ name: "job", state: S, event: E, initial: S.Idle({ n: 0 }) })
  .on(S.Idle, E.Start, S.Busy)
  .on(S.Busy, E.Add, S.Busy, ({ state, event }) => S.Busy({ n: state.n + event.by }))
  .on(S.Busy, E.Twice, stay, ({ self, state }) => {
    self.send(E.Add({ by: state.n }))
    self.send(E.Pause())
    return stay
  })
  .on(S.Busy, E.Pause, S.Paused)
  .on(S.Paused, E.Resume, S.Busy)
  .postpone(S.Paused, [E.Add, E.Finish])
  .on(S.Busy, E.Finish, S.Done)
  .on(S.Busy, E.Count, stay, ({ state }) => reply(state.n))
  .on(S.Busy, E.Boom, S.Busy, () => {
    throw new Error("boom")
  })
  .onAny(E.Quit, stop("quit"))
  .final(S.Done)

const tagOf = <E>(actor: Actor<{ readonly _tag: string }, E>) => actor.snapshotUnsafe().state._tag

describe("an actor", () => {
  it.effect("15 begins in the initial state, with empty history and sequence 0", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1000)
      const job = yield* spawn(Job)
      expect(yield* job.snapshot).toEqual({
        state: S.Idle({ n: 0 }),
        previous: undefined,
        history: [],
        startedAt: 1000,
        lastTransitionAt: 1000,
        sequence: 0,
        status: "running",
        reason: undefined,
      })
    }),
  )

  it.effect("16 counts events and remembers the states before, newest first", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      expect(yield* job.call(E.Start())).toMatchObject({ _tag: "Goto", state: { _tag: "Busy" } })
      yield* TestClock.adjust("1 second")
      yield* job.send(E.Pause())
      yield* job.send(E.Resume())
      const snapshot = yield* job.snapshot
      expect(snapshot.sequence).toBe(3)
      expect(snapshot.history.map((state) => state._tag)).toEqual(["Paused", "Busy", "Idle"])
      expect(snapshot.previous?._tag).toBe("Paused")
      expect(snapshot.lastTransitionAt - snapshot.startedAt).toBe(1000)
    }),
  )

  it.effect("17 refuses an event it has no transition for; state and sequence are untouched", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      const error = yield* Effect.flip(job.send(E.Finish()))
      expect(error).toMatchObject({ _tag: "InvalidTransition", machine: "job", id: "job", state: "Idle", event: "Finish" })
      expect(yield* job.snapshot).toMatchObject({ sequence: 0, state: { _tag: "Idle" } })
    }),
  )

  it.effect("18 stay counts, but is not a step in the history and no change", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Busy({ n: 3 }))
      const seen: Array<unknown> = []
      job.subscribe((state) => seen.push(state))
      yield* job.ask(E.Count())
      expect(yield* job.snapshot).toMatchObject({ sequence: 1, history: [] })
      expect(seen).toEqual([])
      yield* job.send(E.Add({ by: 1 }))
      expect(yield* job.snapshot).toMatchObject({ sequence: 2, history: [], state: { n: 4 } })
      expect(seen).toEqual([S.Busy({ n: 4 })])
    }),
  )

  it.effect("21, 22 and 23 stops with a reason, refuses what comes after, and may be stopped twice", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      expect(yield* job.call(E.Quit())).toMatchObject({ _tag: "Stop", reason: "quit" })
      expect(yield* job.snapshot).toMatchObject({ status: "stopped", reason: "quit", sequence: 1 })
      expect(yield* Effect.flip(job.send(E.Start()))).toMatchObject({ _tag: "MachineStopped", reason: "quit", id: "job" })
      expect(yield* job.snapshot).toMatchObject({ sequence: 1 })
      yield* job.stop("again")
      yield* job.stop()
      expect(yield* job.snapshot).toMatchObject({ reason: "quit" })
    }),
  )

  it.effect("22 refuses events after a final state, with the reason", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Busy({ n: 1 }))
      yield* job.send(E.Finish())
      expect(yield* job.snapshot).toMatchObject({ status: "final" })
      expect((yield* Effect.flip(job.send(E.Start()))).message).toBe("job has ended in state Done: Done is a final state")
    }),
  )

  it.effect("24 ends with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const job = yield* spawn(Job).pipe(Scope.provide(scope))
      yield* Scope.close(scope, Exit.void)
      expect(yield* job.snapshot).toMatchObject({ status: "stopped", reason: "the system was closed" })
    }),
  )

  it.effect("25 of five identical concurrent sends of a one-shot event one succeeds", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      const results = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.result(job.send(E.Start())), { concurrency: "unbounded" })
      expect(results.filter((result) => result._tag === "Success")).toHaveLength(1)
      expect(results.filter((result) => result._tag === "Failure" && result.failure._tag === "InvalidTransition")).toHaveLength(4)
      expect(yield* job.snapshot).toMatchObject({ sequence: 1 })
    }),
  )

  it.effect("26 is isolated from others of the same machine", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const one = yield* system.spawn("one", Job)
      const two = yield* system.spawn("two", Job)
      yield* one.send(E.Start())
      expect([tagOf(one), tagOf(two)]).toEqual(["Busy", "Idle"])
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("27 handles what it sends itself right after, in order, before what others sent", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Busy({ n: 2 }))
      const seen: Array<string> = []
      job.subscribe((state) => {
        seen.push(`${state._tag} ${state.n}`)
        if (state._tag === "Busy" && state.n === 4) expect(job.sendUnsafe(E.Add({ by: 100 }))).toBeUndefined()
      })
      yield* job.send(E.Twice())
      expect(seen).toEqual(["Busy 4", "Paused 4"])
      yield* job.send(E.Resume())
      expect(seen).toEqual(["Busy 4", "Paused 4", "Busy 4", "Busy 104", "Busy 204"])
    }),
  )

  it.effect("28 call returns the decision, waits for a postponed event, and never pretends", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Paused({ n: 1 }))
      const pending = yield* Effect.forkChild(job.call(E.Add({ by: 5 })), { startImmediately: true })
      expect(pending.pollUnsafe()).toBeUndefined()
      yield* job.send(E.Resume())
      expect(yield* Fiber.join(pending)).toMatchObject({ _tag: "Stay", state: { n: 6 } })
      yield* job.stop()
      expect(yield* Effect.flip(job.call(E.Add({ by: 1 })))).toMatchObject({ _tag: "MachineStopped" })
    }),
  )

  it.effect("29 ask returns the answer; without a handler it fails and the actor lives on", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      expect(yield* Effect.flip(job.ask(E.Count()))).toMatchObject({ _tag: "InvalidTransition" })
      yield* job.send(E.Start())
      expect(yield* job.ask(E.Count())).toBe(0)
      const ask = job.ask as (event: unknown) => ReturnType<typeof job.call>
      expect((yield* Effect.flip(ask.call(job, E.Add({ by: 1 })))).message).toBe(
        "job: Add cannot be accepted: it has no answer; declare it with Event.reply, or use send",
      )
      expect(yield* job.ask(E.Count())).toBe(0)
    }),
  )

  it.effect("29 an answer that does not fit its schema is an error, not an answer", () =>
    Effect.gen(function* () {
      const bad = Machine.make({ name: "bad", state: S, event: E, initial: S.Idle({ n: 0 }) }).on(S.Idle, E.Count, stay, () =>
        reply("many" as never),
      )
      const job = yield* spawn(bad)
      expect((yield* Effect.flip(job.ask(E.Count()))).message).toMatch(/the answer to Count does not fit its schema/)
    }),
  )

  it.effect("30 waiting ends with an error when the actor ends, and leaves nothing behind when given up", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      const final = yield* Effect.forkChild(Effect.flip(job.awaitFinal), { startImmediately: true })
      const paused = yield* Effect.forkChild(Effect.flip(job.waitFor((state) => state._tag === "Paused")), { startImmediately: true })
      const givenUp = yield* Effect.forkChild(
        Effect.timeoutOption(
          job.waitFor((state) => state._tag === "Paused"),
          "1 second",
        ),
        { startImmediately: true },
      )
      yield* TestClock.adjust("1 second")
      expect(Option.isNone(yield* Fiber.join(givenUp))).toBe(true)
      yield* job.stop("enough")
      expect(yield* Fiber.join(final)).toMatchObject({ _tag: "MachineStopped", reason: "enough" })
      expect(yield* Fiber.join(paused)).toMatchObject({ _tag: "MachineStopped", reason: "enough" })
      expect(yield* job.watch).toMatchObject({ _tag: "Stopped", reason: "enough" })
    }),
  )

  it.effect("30 waitFor returns the state it waited for, now or later", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      expect(yield* job.waitFor(S.$is("Idle"))).toEqual(S.Idle({ n: 0 }))
      const later = yield* Effect.forkChild(job.waitFor(S.$is("Done")), { startImmediately: true })
      yield* job.send(E.Start())
      yield* job.send(E.Finish())
      expect(yield* Fiber.join(later)).toEqual(S.Done({ n: 0 }))
    }),
  )

  it.effect("31 postponed events are handled in order on the next state change", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Paused({ n: 0 }))
      const order: Array<number> = []
      for (const by of [1, 2, 3]) {
        yield* Effect.forkChild(
          Effect.tap(job.send(E.Add({ by })), () => Effect.sync(() => order.push(by))),
          { startImmediately: true },
        )
      }
      const finish = yield* Effect.forkChild(job.send(E.Finish()), { startImmediately: true })
      expect(tagOf(job)).toBe("Paused")
      yield* job.send(E.Resume())
      yield* Fiber.join(finish)
      while (order.length < 3) yield* Effect.yieldNow
      expect(order).toEqual([1, 2, 3])
      expect(yield* job.state).toEqual(S.Done({ n: 6 }))
    }),
  )

  it.effect("34 an id can be used again once its actor has ended", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const first = yield* system.spawn("job-1", Job, S.Busy({ n: 0 }))
      const taken = yield* Effect.flip(system.spawn("job-1", Job))
      expect(taken.message).toBe("an actor with the id job-1 is running; stop it first or choose another id")
      yield* first.send(E.Finish())
      const second = yield* system.spawn("job-1", Job)
      expect(tagOf(second)).toBe("Idle")
      expect(yield* system.get("job-1", Job)).toEqual(Option.some(second))
      expect(yield* system.stop("job-1")).toBe(true)
      expect(yield* system.stop("job-1")).toBe(false)
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("35 refuses a foreign or malformed event before any decision, and continues", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Busy({ n: 1 }))
      const send = (event: unknown) => Effect.flip(job.send(event as never))
      expect(yield* send({ _tag: "Add", by: "one" })).toMatchObject({ _tag: "InvalidEvent", id: "job", event: "Add" })
      for (const hostile of [undefined, null, 1, "Start", {}, [], { _tag: "Nope" }])
        expect(yield* send(hostile)).toMatchObject({ _tag: "InvalidEvent" })
      expect(yield* job.snapshot).toMatchObject({ sequence: 0 })
      yield* job.send(E.Add({ by: 1 }))
      expect(yield* job.state).toEqual(S.Busy({ n: 2 }))
    }),
  )

  it.effect("35 refuses to begin with what does not fit the first state's schema", () =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(spawn(Job, { _tag: "Idle", n: "one" } as never))).message).toMatch(
        /^job: it cannot begin in state Idle: .*Expected number/,
      )
      const lost = Machine.make({ name: "lost", state: S, event: E, initial: () => ({ _tag: "Nowhere" }) as never })
      expect((yield* Effect.flip(spawn(lost))).message).toBe("lost: it cannot begin in state Nowhere: the machine has no such state")
    }),
  )

  it.effect("38 a decision that throws is reported to its sender; the state is unchanged and the actor continues", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job, S.Busy({ n: 1 }))
      expect((yield* Effect.flip(job.send(E.Boom()))).message).toBe("job: decide failed in state Busy on event Boom, nothing changed: boom")
      expect(yield* job.ask(E.Count())).toBe(1)
    }),
  )

  it.effect("shows every state to every stream, from the current one to the end", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      yield* job.send(E.Start())
      const streams = yield* Effect.forEach([1, 2], () => Effect.forkChild(Stream.runCollect(job.changes), { startImmediately: true }))
      yield* job.send(E.Add({ by: 1 }))
      yield* job.send(E.Finish())
      for (const stream of streams)
        expect((yield* Fiber.join(stream)).map((state) => `${state._tag} ${state.n}`)).toEqual(["Busy 0", "Busy 1", "Done 1"])
      expect((yield* Stream.runCollect(job.changes)).map((state) => state._tag)).toEqual(["Done"])
    }),
  )

  it.effect("sendUnsafe decides inline, or returns that the event waits", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      expect(job.sendUnsafe(E.Start())).toEqual(Exit.void)
      const refused = job.sendUnsafe(E.Start())
      expect(refused !== undefined && Exit.isFailure(refused)).toBe(true)
      yield* job.send(E.Pause())
      expect(job.sendUnsafe(E.Add({ by: 1 }))).toBeUndefined()
    }),
  )

  it.effect("remembers a bounded number of states", () =>
    Effect.gen(function* () {
      const job = yield* spawn(Job)
      yield* job.send(E.Start())
      for (let round = 0; round < 500; round++) {
        yield* job.send(E.Pause())
        yield* job.send(E.Resume())
      }
      const snapshot = yield* job.snapshot
      expect(snapshot.sequence).toBe(1001)
      expect(snapshot.history).toHaveLength(100)
      expect(snapshot.history.slice(0, 2).map((state) => state._tag)).toEqual(["Paused", "Busy"])
    }),
  )

  it.effect("drains: no new events, those that wait are handled, commands finish", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const log: Array<string> = []
      const machine = Machine.make({ name: "drained", state: S, event: E, effects: Slot.Effects({ work: {} }), initial: S.Idle({ n: 0 }) })
        .on(S.Idle, E.Start, S.Busy, ({ state, effects }) => {
          effects.work()
          return S.Busy(state)
        })
        .on(S.Busy, E.Add, S.Busy, ({ state, event }) => S.Busy({ n: state.n + event.by }))
        .build({
          work: (_, { self }) =>
            Deferred.await(gate).pipe(
              Effect.andThen(self.send(E.Add({ by: 7 }))),
              Effect.andThen(Effect.sync(() => log.push("worked"))),
              Effect.ignore,
            ),
        })
      const actor = yield* spawn(machine)
      yield* actor.send(E.Start())
      const draining = yield* Effect.forkChild(actor.drain, { startImmediately: true })
      expect(yield* Effect.flip(actor.send(E.Add({ by: 1 })))).toMatchObject({ _tag: "MachineStopped", reason: "it takes no more events" })
      expect(draining.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(draining)
      expect(log).toEqual(["worked"])
      expect(yield* actor.snapshot).toMatchObject({ status: "stopped", state: { n: 7 } })
    }),
  )

  it.effect("an endless exchange with itself does not keep others from their turn", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "restless", state: S, event: E, initial: S.Idle({ n: 0 }) })
        .on(S.Idle, E.Start, S.Idle, ({ state, self }) => {
          self.send(E.Start())
          return S.Idle({ n: state.n + 1 })
        })
        .on(S.Idle, E.Finish, S.Done)
        .final(S.Done)
      const actor = yield* spawn(machine)
      actor.sendUnsafe(E.Start())
      while ((yield* actor.state).n <= 1000) yield* Effect.yieldNow
      yield* actor.stop("enough")
      expect(yield* actor.snapshot).toMatchObject({ status: "stopped", reason: "enough" })
    }),
  )
})
