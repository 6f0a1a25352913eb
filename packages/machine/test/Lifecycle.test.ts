import { ActorSystem, type Inspection, Machine, Slot, spawn, stay, stop } from "@detent/machine"
import { LifeEvent, LifeState, recordedLife } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = LifeState
const E = LifeEvent
const effects = Slot.Effects({ log: { text: Schema.String } })
const a = S.A({ n: 1 })

describe("the life of a state", () => {
  it.effect("39 and 47 goes: decide, interrupt the old work, exit, new state, enter, spawn", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const actor = yield* spawn(recordedLife(log))
      expect(log).toEqual(["enter A from undefined", "spawn A"])
      log.length = 0
      actor.subscribe((state) => log.push(`state ${state._tag}`))
      yield* actor.send(E.Go())
      expect(log).toEqual(["decide", "interrupt A", "exit A to B on Go", "state B", "enter B from A", "spawn B"])
    }),
  )

  it.effect("18, 19 and 41 staying and new data leave work alone and run no hook", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const actor = yield* spawn(recordedLife(log))
      log.length = 0
      yield* actor.send(E.Set({ n: 5 }))
      yield* actor.send(E.Done({ text: "x" }))
      expect(log).toEqual([])
      expect(yield* actor.state).toEqual(S.A({ n: 5 }))
    }),
  )

  it.effect("20 reenter restarts the work, and the history grows", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const actor = yield* spawn(recordedLife(log))
      log.length = 0
      yield* actor.send(E.Anew())
      expect(log).toEqual(["interrupt A", "exit A to A on Anew", "enter A from A", "spawn A"])
      expect(yield* actor.history).toEqual([a])
    }),
  )

  it.effect("42 stop runs exit only; a final state is entered", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const stopping = yield* spawn(recordedLife(log), S.B({ n: 1 }))
      log.length = 0
      yield* stopping.send(E.Halt())
      expect(log).toEqual(["interrupt B", "exit B to undefined on Halt"])
      log.length = 0
      const ending = yield* spawn(recordedLife(log), S.B({ n: 1 }))
      yield* ending.send(E.Finish())
      expect(log.slice(2)).toEqual(["interrupt B", "exit B to End on Finish", "enter End from B"])
      expect(yield* ending.snapshot).toMatchObject({ status: "final" })
    }),
  )

  it.effect("43 a hook that fails names its phase; the transition stands, later hooks run, timers are armed", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const machine = Machine.make({ name: "failing", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .exit(S.A, () => Effect.fail("door jammed"))
        .enter(S.B, () => Effect.sync(() => void log.push("entered")))
        .enter(S.B, () => Effect.die(new Error("light broken")))
        .timeout(S.B, "1 minute", S.C)
      const actor = yield* spawn(machine)
      const error = yield* Effect.flip(actor.send(E.Go()))
      expect(error).toMatchObject({ _tag: "ActionFailed", phase: "exit", state: "A", event: "Go", committed: true, cause: "door jammed" })
      expect(error.message).toBe("failing: exit failed in state A on event Go, the transition stands: door jammed")
      expect(log).toEqual(["entered"])
      expect(yield* actor.state).toEqual(S.B({ n: 1 }))
      yield* TestClock.adjust("1 minute")
      expect((yield* actor.state)._tag).toBe("C")
    }),
  )

  it.effect("43 an enter that fails at the start is reported and the actor continues", () =>
    Effect.gen(function* () {
      const seen: Array<Inspection> = []
      const system = yield* ActorSystem
      system.inspectUnsafe((one) => seen.push(one))
      const machine = Machine.make({ name: "failing", state: S, event: E, initial: a })
        .enter(S.A, () => Effect.fail("cold"))
        .on(S.A, E.Go, S.B)
      const actor = yield* system.spawn("cold", machine)
      yield* actor.send(E.Go())
      expect(seen.map((one) => one._tag)).toEqual(["Started", "ActionFailed", "Decided"])
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("events wait while hooks take their time, and are handled in order", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const machine = Machine.make({ name: "slow", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .on(S.B, E.Set, S.B, ({ state, event }) => {
          log.push(`set ${event.n}`)
          return S.B({ n: state.n + event.n })
        })
        .enter(S.B, () =>
          Effect.delay(
            Effect.sync(() => void log.push("entered")),
            "10 seconds",
          ),
        )
      const actor = yield* spawn(machine)
      const go = yield* Effect.forkChild(actor.send(E.Go()), { startImmediately: true })
      const sets = yield* Effect.forEach([1, 2, 3], (n) => Effect.forkChild(actor.send(E.Set({ n })), { startImmediately: true }))
      yield* TestClock.adjust("9 seconds")
      expect(log).toEqual([])
      expect((yield* actor.state)._tag).toBe("B")
      yield* TestClock.adjust("1 second")
      yield* Fiber.joinAll([go, ...sets])
      expect(log).toEqual(["entered", "set 1", "set 2", "set 3"])
    }),
  )

  it.effect("an effectful decision keeps events waiting, and its failure changes nothing", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "asking", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B, ({ state }) => Effect.delay(Effect.succeed(S.B(state)), "1 second"))
        .on(S.A, E.Back, S.C, () => Effect.fail("no answer"))
        .on(S.B, E.Set, S.B, ({ event }) => S.B({ n: event.n }))
      const actor = yield* spawn(machine)
      expect(yield* Effect.flip(actor.send(E.Back()))).toMatchObject({ _tag: "ActionFailed", phase: "decide", committed: false })
      const go = yield* Effect.forkChild(actor.call(E.Go()), { startImmediately: true })
      const set = yield* Effect.forkChild(actor.send(E.Set({ n: 9 })), { startImmediately: true })
      expect((yield* actor.state)._tag).toBe("A")
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(go)).toMatchObject({ _tag: "Goto", state: { _tag: "B" } })
      yield* Fiber.join(set)
      expect(yield* actor.state).toEqual(S.B({ n: 9 }))
    }),
  )

  it.effect("what cannot be interrupted does not keep the actor longer than the machine allows", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const stubborn = Effect.uninterruptible(
        Effect.andThen(
          Effect.sleep("1 hour"),
          Effect.sync(() => void log.push("done")),
        ),
      )
      const machine = Machine.make({ name: "hasty", state: S, event: E, initial: a, processingTimeout: "5 seconds" })
        .on(S.A, E.Go, S.B, ({ state }) => Effect.as(stubborn, S.B(state)))
        .on(S.A, E.Back, S.C)
        .enter(S.C, () => stubborn)
      const actor = yield* spawn(machine)
      for (const [event, state] of [
        [E.Go(), "A"],
        [E.Back(), "C"],
      ] as const) {
        const sent = yield* Effect.forkChild(Effect.flip(actor.send(event)), { startImmediately: true })
        yield* TestClock.adjust("5 seconds")
        expect(yield* Fiber.join(sent)).toMatchObject({ _tag: "ProcessingTimeout" })
        expect((yield* actor.state)._tag).toBe(state)
      }
      // It continues to its own end, and its result is ignored.
      yield* TestClock.adjust("2 hours")
      expect(log).toEqual(["done", "done"])
      expect((yield* actor.state)._tag).toBe("C")
    }),
  )

  it.effect("what takes longer than the machine allows is interrupted, and the sender gets ProcessingTimeout", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "hasty", state: S, event: E, initial: a, processingTimeout: "5 seconds" })
        .on(S.A, E.Go, S.B, () => Effect.never)
        .on(S.A, E.Back, S.C)
        .enter(S.C, () => Effect.never)
        .on(S.C, E.Go, S.A)
      const actor = yield* spawn(machine)
      const go = yield* Effect.forkChild(Effect.flip(actor.send(E.Go())), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      expect((yield* Fiber.join(go)).message).toBe("hasty: handling event Go in state A took longer than 5s")
      const back = yield* Effect.forkChild(Effect.flip(actor.send(E.Back())), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(back)).toMatchObject({ _tag: "ProcessingTimeout", state: "C" })
      yield* actor.send(E.Go())
      expect((yield* actor.state)._tag).toBe("A")
    }),
  )

  it.effect("48 work that is interrupted sends nothing more, not even from a finalizer", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const machine = Machine.make({ name: "quiet", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .on([S.A, S.B], E.Done, stay, ({ event }) => {
          heard.push(event.text)
          return stay
        })
        .spawn(S.A, ({ self }) => Effect.ensuring(Effect.never, Effect.ignore(self.send(E.Done({ text: "last words" })))))
      const actor = yield* spawn(machine)
      yield* actor.send(E.Go())
      yield* Effect.yieldNow
      expect((yield* actor.state)._tag).toBe("B")
      expect(heard).toEqual([])
    }),
  )

  it.effect("56 work that ends its own state from an uninterruptible place does not block it", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "knotted", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .on(S.B, E.Go, S.C)
        .spawn(S.A, ({ self }) => Effect.uninterruptible(Effect.andThen(self.send(E.Go()), Effect.ignore(self.send(E.Go())))))
      const actor = yield* spawn(machine)
      yield* actor.waitFor((state) => state._tag === "B")
      yield* Effect.yieldNow
      expect((yield* actor.state)._tag).toBe("B")
    }),
  )

  it.effect("56 work that ends its own state gets the outcome, even from an uninterruptible place where its event had to wait", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const machine = Machine.make({ name: "knotted", state: S, event: E, initial: a })
        .on(S.A, E.Set, S.A, ({ event }) => Effect.delay(Effect.succeed(S.A({ n: event.n })), "1 second"))
        .on(S.A, E.Go, S.B)
        .spawn(S.A, ({ self }) =>
          Effect.uninterruptible(
            Effect.gen(function* () {
              yield* Effect.sleep("500 millis")
              told.push((yield* Effect.result(self.send(E.Go())))._tag)
            }),
          ),
        )
      const actor = yield* spawn(machine)
      yield* Effect.forkChild(actor.send(E.Set({ n: 2 })))
      yield* TestClock.adjust("2 seconds")
      expect((yield* actor.state)._tag).toBe("B")
      expect(told).toEqual(["Success"])
    }),
  )

  it.effect("a task turns how it ends into an event; a defect is not an ending but a failure", () =>
    Effect.gen(function* () {
      const machine = (work: Effect.Effect<string, { readonly message: string }>) =>
        Machine.make({ name: "task", state: S, event: E, initial: a })
          .on(S.A, E.Done, S.B, ({ event }) => S.B({ n: event.text.length }))
          .on(S.A, E.Set, S.C, ({ event }) => S.C({ n: event.n }))
          .task(S.A, () => work, { onSuccess: (text) => E.Done({ text }), onFailure: (error) => E.Set({ n: error.message.length }) })
      const succeeding = yield* spawn(machine(Effect.delay(Effect.succeed("four"), "1 second")))
      const failing = yield* spawn(machine(Effect.fail({ message: "seven" })))
      const dying = yield* spawn(machine(Effect.die(new Error("never"))))
      yield* TestClock.adjust("1 second")
      expect(yield* succeeding.state).toEqual(S.B({ n: 4 }))
      expect(yield* failing.state).toEqual(S.C({ n: 5 }))
      expect(yield* dying.watch).toMatchObject({ _tag: "Failed", error: { phase: "spawn", state: "A" } })
      expect(yield* Effect.flip(dying.send(E.Go()))).toMatchObject({
        _tag: "MachineStopped",
        reason: expect.stringMatching(/spawn failed in state A.*never/),
      })
    }),
  )

  it.effect("background work lasts as long as the actor, across states", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const machine = Machine.make({ name: "long", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .on(S.B, E.Set, stay)
        .background(({ self }) =>
          Effect.onInterrupt(Effect.forever(Effect.delay(Effect.ignore(self.send(E.Set({ n: 1 }))), "1 minute")), () =>
            Effect.sync(() => void log.push("ended")),
          ),
        )
      const actor = yield* spawn(machine)
      yield* actor.send(E.Go())
      yield* TestClock.adjust("3 minutes")
      expect((yield* actor.snapshot).sequence).toBe(4)
      expect(log).toEqual([])
      yield* actor.stop()
      expect(log).toEqual(["ended"])
    }),
  )

  it.effect("requested effects run after the transition, with their services, and outlive the state", () =>
    Effect.gen(function* () {
      class Mailer extends Context.Service<Mailer, { readonly mail: (text: string) => Effect.Effect<void> }>()("Mailer") {}
      const sent: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const machine = Machine.make({ name: "mail", state: S, event: E, effects, initial: a })
        .on(S.A, E.Go, S.B, ({ state, effects }) => {
          effects.log({ text: "from A" })
          return S.B(state)
        })
        .on(S.B, E.Go, S.End)
        .enter(S.End, ({ effects }) => effects.log({ text: "the end" }))
        .final(S.End)
        .build({
          log: ({ text }, { id, state }) =>
            Effect.andThen(
              Deferred.await(gate),
              Effect.flatMap(Mailer, (mailer) => mailer.mail(`${id} ${state._tag}: ${text}`)),
            ),
        })
      const actor = yield* Effect.provideService(spawn(machine), Mailer, { mail: (text) => Effect.sync(() => void sent.push(text)) })
      yield* actor.send(E.Go())
      yield* actor.send(E.Go())
      expect(sent).toEqual([])
      yield* Deferred.succeed(gate, undefined)
      while (sent.length < 2) yield* Effect.yieldNow
      expect(sent).toEqual(["mail B: from A", "mail End: the end"])
    }),
  )

  it.effect("an effect that fails or dies is reported and leaves the actor alone", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const system = yield* ActorSystem
      system.inspectUnsafe((one) => {
        if (one._tag === "CommandEnded") seen.push(one.error?.message ?? "fine")
      })
      const slots = Slot.Effects({ fails: Slot.effect({}, { failure: Schema.String }), dies: {}, throws: {}, nothing: {}, works: {} })
      const machine = Machine.make({ name: "risky", state: S, event: E, effects: slots, initial: a })
        .on(S.A, E.Go, S.B, ({ state, effects }) => {
          effects.fails()
          effects.dies()
          effects.throws()
          effects.nothing()
          effects.works()
          return S.B(state)
        })
        .build({
          fails: () => Effect.fail("no money"),
          dies: () => Effect.die(new Error("dead")),
          throws: () => {
            throw new Error("thrown")
          },
          nothing: (() => undefined) as never,
          works: () => Effect.void,
        })
      const actor = yield* system.spawn("risky-1", machine)
      yield* actor.send(E.Go())
      expect(seen).toEqual([
        "risky risky-1: effect failed in state B, the transition stands: fails: no money",
        "risky risky-1: effect failed in state B, the transition stands: dies: dead",
        "risky risky-1: effect failed in state B, the transition stands: throws: thrown",
        expect.stringMatching(/nothing: .*the handler of nothing returned undefined; return an Effect or a Promise/),
        "fine",
      ])
      expect(yield* actor.snapshot).toMatchObject({ status: "running" })
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})

describe("supervision", () => {
  const failing = (attempts: Array<number>, failures: number, supervision: Schedule.Schedule<unknown, unknown>) =>
    Machine.make({ name: "flaky", state: S, event: E, initial: a, supervision })
      .on(S.A, E.Set, S.A, ({ event }) => S.A({ n: event.n }))
      .on(S.A, E.Go, S.B)
      .timeout(S.A, "1 hour", S.C)
      .spawn(S.A, () =>
        Effect.suspend(() => {
          attempts.push(attempts.length)
          return attempts.length <= failures ? Effect.fail("flaky") : Effect.never
        }),
      )

  it.effect("32 restarts failed work as the schedule says; events sent meanwhile are kept in order", () =>
    Effect.gen(function* () {
      const attempts: Array<number> = []
      const actor = yield* spawn(failing(attempts, 2, Schedule.exponential("1 second")))
      const sends = yield* Effect.forEach([1, 2, 3], (n) => Effect.forkChild(actor.send(E.Set({ n })), { startImmediately: true }))
      expect(attempts).toHaveLength(1)
      yield* TestClock.adjust("1 second")
      expect(attempts).toHaveLength(2)
      yield* TestClock.adjust("1 second")
      expect(attempts).toHaveLength(2)
      yield* TestClock.adjust("1 second")
      expect(attempts).toHaveLength(3)
      yield* Fiber.joinAll(sends)
      expect(yield* actor.state).toEqual(S.A({ n: 3 }))
      expect(yield* actor.snapshot).toMatchObject({ status: "running", sequence: 3 })
    }),
  )

  it.effect("ends the actor when the schedule does", () =>
    Effect.gen(function* () {
      const attempts: Array<number> = []
      const actor = yield* spawn(failing(attempts, 99, Schedule.recurs(2)))
      const waiting = yield* Effect.forkChild(Effect.flip(actor.send(E.Go())), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      expect(attempts).toHaveLength(3)
      expect(yield* Fiber.join(waiting)).toMatchObject({ _tag: "MachineStopped" })
      expect(yield* actor.watch).toMatchObject({ _tag: "Failed", error: { phase: "spawn" } })
    }),
  )

  it.effect("keeps the deadline of a timeout across restarts", () =>
    Effect.gen(function* () {
      const attempts: Array<number> = []
      const actor = yield* spawn(failing(attempts, 1, Schedule.spaced("10 minutes")))
      yield* TestClock.adjust("10 minutes")
      expect(attempts).toHaveLength(2)
      yield* TestClock.adjust("49 minutes")
      expect((yield* actor.state)._tag).toBe("A")
      yield* TestClock.adjust("1 minute")
      expect((yield* actor.state)._tag).toBe("C")
    }),
  )

  it.effect("a failing actor does not harm others", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const dying = Machine.make({ name: "dying", state: S, event: E, initial: a }).spawn(S.A, () => Effect.die("dead"))
      const sound = Machine.make({ name: "sound", state: S, event: E, initial: a }).on(S.A, E.Go, S.B)
      const one = yield* system.spawn("one", dying)
      const two = yield* system.spawn("two", sound)
      yield* two.send(E.Go())
      expect(yield* one.snapshot).toMatchObject({ status: "failed" })
      expect(yield* two.snapshot).toMatchObject({ status: "running", state: { _tag: "B" } })
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})

describe("children", () => {
  it.effect("33 live no longer than the state that started them", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const child = Machine.make({ name: "child", state: S, event: E, initial: a }).on(S.A, E.Go, S.B)
      const parent = Machine.make({ name: "parent", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .spawn(S.A, ({ self }) =>
          Effect.gen(function* () {
            const started = yield* self.spawn("child-1", child)
            yield* started.send(E.Go())
            return yield* Effect.never
          }),
        )
      const actor = yield* system.spawn("parent-1", parent)
      expect(yield* system.ids).toEqual(["parent-1", "child-1"])
      yield* actor.send(E.Go())
      expect(yield* system.ids).toEqual(["parent-1"])
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})

describe("inspection", () => {
  it.effect("reports everything that happens, in order", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const seen: Array<string> = []
      const stopInspecting = system.inspectUnsafe((one) => seen.push(`${one.id} ${one._tag}`))
      const machine = Machine.make({ name: "seen", state: S, event: E, effects, initial: a })
        .on(S.A, E.Go, S.B, ({ state, effects }) => {
          effects.log({ text: "x" })
          return S.B(state)
        })
        .postpone(S.A, E.Finish)
        .on(S.B, E.Finish, S.End)
        .final(S.End)
        .build({ log: () => Effect.void })
      const actor = yield* system.spawn("x", machine)
      yield* Effect.ignore(actor.send(E.Back()))
      yield* Effect.forkChild(actor.send(E.Finish()), { startImmediately: true })
      yield* actor.send(E.Go())
      yield* actor.awaitFinal
      expect(seen).toEqual([
        "x Started",
        "x Refused",
        "x Postponed",
        "x Decided",
        "x CommandStarted",
        "x CommandEnded",
        "x Decided",
        "x Ended",
      ])
      stopInspecting()
      yield* system.spawn("y", machine)
      expect(seen).toHaveLength(8)
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})

describe("whatever a user's function does", () => {
  it.effect("an event sent while entering the first state is handled once the actor has begun, and work starts once", () =>
    Effect.gen(function* () {
      const running: Array<string> = []
      const machine = Machine.make({ name: "eager", state: S, event: E, initial: a })
        .enter(S.A, ({ self }) => self.send(E.Go()))
        .on(S.A, E.Go, S.B)
        .on(S.B, E.Go, S.C)
        .spawn(S.B, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => running.push("on")),
            () => Effect.never,
            () => Effect.sync(() => running.push("off")),
          ),
        )
      const actor = yield* spawn(machine)
      expect(running).toEqual(["on"])
      yield* actor.send(E.Go())
      expect(running).toEqual(["on", "off"])
    }),
  )

  it.effect("a duration that throws fails the transition, and nothing changed", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "timeless", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .on(S.A, E.Set, stay)
        .timeout(
          S.B,
          () => {
            throw new Error("no clock")
          },
          S.C,
        )
      const actor = yield* spawn(machine)
      expect(yield* Effect.flip(actor.send(E.Go()))).toMatchObject({ _tag: "ActionFailed", phase: "timeout", committed: false })
      yield* actor.send(E.Set({ n: 1 }))
      expect(yield* actor.snapshot).toMatchObject({ state: { _tag: "A" }, sequence: 1 })
      expect(yield* Effect.flip(spawn(machine, S.B({ n: 1 })))).toMatchObject({ _tag: "ActionFailed", phase: "timeout" })
    }),
  )

  it.effect("listeners and inspectors that throw harm no actor", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const boom = () => {
        throw new Error("listener")
      }
      system.inspectUnsafe(boom)
      const machine = Machine.make({ name: "heard", state: S, event: E, initial: a }).on(S.A, E.Go, S.B).on(S.B, E.Go, S.End).final(S.End)
      const actor = yield* system.spawn("heard", machine)
      const seen: Array<string> = []
      actor.subscribe(boom)
      actor.subscribe((state) => seen.push(state._tag))
      yield* actor.send(E.Go())
      yield* actor.send(E.Go())
      expect(seen).toEqual(["B", "End"])
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("a stop by an automatic transition keeps the state it came from", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "brief", state: S, event: E, initial: a })
        .on(S.A, E.Go, S.B)
        .always(S.B, () => true, stop("done"))
      const actor = yield* spawn(machine)
      yield* actor.send(E.Go())
      expect(yield* actor.snapshot).toMatchObject({ status: "stopped", state: { _tag: "B" }, previous: { _tag: "A" } })
    }),
  )
})
