/** What goes wrong around an actor must not stay with it: nothing runs twice, nothing runs on, nothing hangs. */
import { ActorSystem, Event, Machine, refuse, reply, State, spawn, stay } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = State({ A: {}, B: {}, C: {}, End: {} })
const E = Event({ Go: {}, Back: {}, Ping: {}, Odd: { value: Schema.Unknown } })
const base = (options: { readonly supervision?: Schedule.Schedule<unknown, unknown> } = {}) =>
  Machine.make({ name: "m", state: S, event: E, initial: S.A(), ...options })

/** Work that tells when it starts and when it ends. */
const life = (log: Array<string>, name: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => log.push(`+${name}`)),
    () => Effect.never,
    () => Effect.sync(() => log.push(`-${name}`)),
  )

describe("ending in the middle of a transition", () => {
  const machine = (log: Array<string>) =>
    base()
      .timeout(S.A, 10, S.B)
      .on(S.A, E.Go, S.B)
      .spawn(S.B, () => life(log, "B"))

  it.effect("by a caller that waited for the state, leaves no work behind", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const actor = yield* spawn(machine(log))
      const waiter = yield* Effect.forkChild(
        Effect.andThen(
          actor.waitFor((state) => state._tag === "B"),
          actor.stop(),
        ),
        { startImmediately: true },
      )
      yield* TestClock.adjust(10)
      yield* Fiber.join(waiter)
      expect(log).toEqual(["+B", "-B"])
      expect(yield* actor.snapshot).toMatchObject({ status: "stopped", state: { _tag: "B" } })
    }),
  )

  it.effect("by a listener, by an inspector at the start, or inside the decision itself", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const heard = yield* spawn(machine(log))
      heard.subscribe(() => Effect.runFork(heard.stop()))
      yield* heard.send(E.Go())
      expect(log).toEqual(["+B", "-B"])

      const system = yield* ActorSystem.make
      const early: Array<string> = []
      system.inspectUnsafe((one) => one._tag === "Started" && Effect.runFork(system.stop(one.id)))
      yield* system.spawn(
        "early",
        base().spawn(S.A, () => life(early, "A")),
      )
      expect(early).toEqual([])

      const decided: Array<string> = []
      let stopNow: () => void = () => undefined
      const selfish = yield* spawn(
        base()
          .on(S.A, E.Go, S.B, () => {
            stopNow()
            return S.B()
          })
          .spawn(S.B, () => life(decided, "B")),
      )
      stopNow = () => Effect.runFork(selfish.stop("inside"))
      expect(yield* Effect.flip(selfish.send(E.Go()))).toMatchObject({ _tag: "MachineStopped", reason: "inside" })
      expect([decided, (yield* selfish.state)._tag]).toEqual([[], "A"])
    }),
  )

  it.effect("a final state is final for every caller that waited for it", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base().on(S.A, E.Go, S.End).final(S.End))
      const seen = yield* Effect.forkChild(
        Effect.andThen(
          actor.waitFor((state) => state._tag === "End"),
          actor.snapshot,
        ),
        { startImmediately: true },
      )
      yield* actor.send(E.Go())
      expect(yield* Fiber.join(seen)).toMatchObject({ status: "final" })
    }),
  )
})

describe("work that fails", () => {
  it.effect("immediately, leaves nothing of its state running", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const two = yield* spawn(
        base()
          .spawn(S.A, () => Effect.fail("x"))
          .spawn(S.A, () => life(log, "second")),
      )
      expect(yield* two.snapshot).toMatchObject({ status: "failed" })
      const background = yield* spawn(
        base()
          .background(() => Effect.fail("x"))
          .spawn(S.A, () => life(log, "A")),
      )
      expect(yield* background.snapshot).toMatchObject({ status: "failed" })
      expect(log).toEqual([])
    }),
  )

  it.effect("repeatedly, keeps neither events nor timers waiting", () =>
    Effect.gen(function* () {
      const failing = base({ supervision: Schedule.spaced(10) })
        .spawn(S.A, () => Effect.fail("x"))
        .on(S.A, E.Go, S.B)
        .timeout(S.A, 30, S.C)
      const told = yield* spawn(failing)
      yield* told.send(E.Go())
      expect((yield* told.state)._tag).toBe("B")
      const timed = yield* spawn(failing)
      yield* TestClock.adjust(30)
      expect((yield* timed.state)._tag).toBe("C")
    }),
  )

  it.effect("while its state is being left, is not started again there", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const machine = base({ supervision: Schedule.spaced(10) })
        .on(S.A, E.Go, S.B)
        .exit(S.A, () => Effect.sleep(100))
        .spawn(S.A, () => life(log, "A"))
        .spawn(S.B, () => life(log, "B"))
        .background(() => Effect.delay(Effect.fail("x"), 30))
      const actor = yield* spawn(machine)
      yield* Effect.forkChild(actor.send(E.Go()), { startImmediately: true })
      yield* TestClock.adjust(200)
      expect(log).toEqual(["+A", "-A", "+B"])
    }),
  )

  it.effect("leaves timers alone: none is late, and none fires twice", () =>
    Effect.gen(function* () {
      let failures = 0
      const machine = base({ supervision: Schedule.spaced(10) })
        .timeout(S.A, 20, stay, { name: "once" })
        .timeout(S.A, 200, S.B)
        .on(S.A, E.Ping, stay)
        .spawn(S.A, () => (failures++ === 0 ? Effect.delay(Effect.fail("x"), 150) : Effect.never))
      const actor = yield* spawn(machine)
      yield* TestClock.adjust(140)
      yield* actor.send(E.Ping())
      yield* TestClock.adjust(59)
      expect(yield* actor.snapshot).toMatchObject({ state: { _tag: "A" }, sequence: 2 })
      yield* TestClock.adjust(1)
      expect((yield* actor.state)._tag).toBe("B")
    }),
  )
})

describe("a background that sends immediately", () => {
  it.effect("is heard after the first state was entered", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const machine = base()
        .enter([S.A, S.B], ({ state }) => void log.push(`enter ${state._tag}`))
        .on(S.A, E.Go, S.B)
        .spawn(S.B, () => life(log, "B"))
        .background(({ self }) => self.tell(E.Go()))
      const actor = yield* spawn(machine)
      yield* actor.stop()
      expect(log).toEqual(["enter A", "enter B", "+B", "-B"])
    }),
  )
})

describe("hostile values", () => {
  const hostile = [
    JSON.parse('{"_tag":"@timeout","name":{"toString":1}}'),
    JSON.parse('{"_tag":{"toString":1}}'),
    { _tag: "@timeout", name: "timeout" },
    Object.create(null),
    {
      get _tag(): string {
        throw new Error("getter")
      },
    },
  ]

  it.effect("as events are refused, and the actor continues", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base().timeout(S.A, "30 days", S.B).on(S.A, E.Ping, stay))
      for (const event of hostile) expect((yield* Effect.flip(actor.send(event as never)))._tag).toMatch(/InvalidEvent|ActionFailed/)
      yield* actor.send(E.Ping())
      expect(yield* actor.snapshot).toMatchObject({ state: { _tag: "A" }, sequence: 1 })
    }),
  )

  it.effect("as questions, to an actor that is inspected or has ended, are refused as well", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const refused: Array<string> = []
      system.inspectUnsafe((inspection) => {
        if (inspection._tag === "Refused") refused.push(inspection.event)
      })
      const actor = yield* system.spawn("hostile", base().on(S.A, E.Go, S.B).final(S.B))
      for (const event of hostile) expect((yield* Effect.flip(actor.ask(event as never)))._tag).toMatch(/InvalidEvent|ActionFailed/)
      expect(refused).toHaveLength(hostile.length)
      yield* actor.send(E.Go())
      for (const event of hostile) expect(yield* Effect.flip(actor.send(event as never))).toMatchObject({ _tag: "MachineStopped" })
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("as ids are refused", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const error = yield* Effect.flip(system.spawn(7 as never, base()))
      expect(error).toMatchObject({ _tag: "InvalidState", problem: "its id is of type number; give it a string" })
      expect(yield* system.ids).toEqual([])
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("from decisions and checks are reported, and the actor continues", () =>
    Effect.gen(function* () {
      const Checked = Event({
        Check: {
          value: Schema.String.check(
            Schema.makeFilter(() => {
              throw new Error("check")
            }),
          ),
        },
        Null: {},
        Refuse: {},
        Ping: {},
      })
      const machine = Machine.make({ name: "m", state: S, event: Checked, initial: S.A() })
        .on(S.A, Checked.Check, S.B)
        .on(S.A, Checked.Null, S.B, () => Object.create(null) as never)
        .on(S.A, Checked.Refuse, S.B, () => refuse(undefined as never))
        .on(S.A, Checked.Ping, stay)
      const actor = yield* spawn(machine)
      expect(yield* Effect.flip(actor.send({ _tag: "Check", value: "x" }))).toMatchObject({ _tag: "ActionFailed" })
      expect(yield* Effect.flip(actor.send(Checked.Null()))).toMatchObject({ _tag: "ActionFailed" })
      expect(yield* Effect.flip(actor.send(Checked.Refuse()))).toMatchObject({ _tag: "TransitionRefused" })
      yield* actor.send(Checked.Ping())
    }),
  )

  it.effect("as failures of work end the actor with a readable error", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base().spawn(S.A, () => Effect.fail(Object.create(null))))
      expect(yield* actor.watch).toMatchObject({ _tag: "Failed", error: { message: expect.stringMatching(/cannot be shown/) } })
    }),
  )
})

describe("draining and stopping", () => {
  it.effect("can be requested by several callers concurrently, and given up", () =>
    Effect.gen(function* () {
      const machine = base()
        .on(S.A, E.Go, S.B)
        .enter(S.B, () => Effect.sleep(100))
        .on(S.B, E.Ping, stay)
      const actor = yield* spawn(machine)
      yield* Effect.forkChild(actor.send(E.Go()), { startImmediately: true })
      const impatient = yield* Effect.forkChild(Effect.timeoutOption(actor.drain, 50), { startImmediately: true })
      yield* TestClock.adjust(50)
      yield* Fiber.join(impatient)
      yield* TestClock.adjust(50)
      yield* actor.send(E.Ping())
      const both = yield* Effect.forEach([1, 2], () => Effect.forkChild(actor.drain, { startImmediately: true }))
      yield* Fiber.joinAll(both)
      expect(yield* actor.snapshot).toMatchObject({ status: "stopped", reason: "it was drained" })
    }),
  )

  it.effect("waits for work that takes time to end, when the system closes too", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const slow = base()
        .on(S.A, E.Go, S.End)
        .final(S.End)
        .background(() => Effect.onInterrupt(Effect.never, () => Deferred.await(gate)))
      const closing = yield* Effect.forkChild(Effect.scoped(Effect.flatMap(spawn(slow), (actor) => actor.send(E.Go()))), {
        startImmediately: true,
      })
      expect(closing.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
    }),
  )
})

describe("order and memory", () => {
  it.effect("39 hooks of states passed through run in the order they are left and entered", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const note = (text: string) => Effect.sync(() => void log.push(text))
      const machine = base()
        .on(S.A, E.Go, S.B)
        .always(S.B, () => true, S.C)
        .exit([S.A, S.B], ({ state }) => note(`exit ${state._tag}`))
        .enter([S.B, S.C], ({ state }) => note(`enter ${state._tag}`))
      const actor = yield* spawn(machine)
      yield* actor.send(E.Go())
      expect(log).toEqual(["exit A", "enter B", "exit B", "enter C"])
    }),
  )

  it.effect("33 a child that ends its parent's state while it starts is stopped with it", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem.make
      const child = base().background(() => Effect.suspend(() => Effect.asVoid(Effect.ignore(parentSend()))))
      let parentSend: () => Effect.Effect<void, unknown> = () => Effect.void
      const parent = base()
        .on(S.A, E.Go, S.B)
        .spawn(S.A, ({ self }) => {
          parentSend = () => self.send(E.Go())
          return Effect.andThen(Effect.ignore(self.spawn("kid", child)), Effect.never)
        })
      yield* system.spawn("p", parent)
      while ((yield* system.ids).length > 1) yield* Effect.yieldNow
      expect(yield* system.ids).toEqual(["p"])
    }),
  )

  it.effect("a listener that subscribes again each time is notified once per change", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base().on(S.A, E.Go, S.B))
      let calls = 0
      const again = () => {
        const unsubscribe = actor.subscribe(() => {
          calls++
          unsubscribe()
          again()
        })
      }
      again()
      yield* actor.send(E.Go())
      expect(calls).toBe(1)
    }),
  )

  it.effect("a long mailbox of events that send more is handled in linear time", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "busy", state: S, event: E, initial: S.A() })
        .on(S.A, E.Go, stay, ({ self }) => {
          self.send(E.Ping())
          return stay
        })
        .on(S.A, E.Ping, stay)
        .on(S.A, E.Back, S.B, () => Effect.delay(Effect.succeed(S.B()), 10))
        .on(S.B, E.Go, stay, ({ self }) => {
          self.send(E.Ping())
          return stay
        })
        .on(S.B, E.Ping, stay)
      const actor = yield* spawn(machine)
      actor.sendUnsafe(E.Back())
      for (let count = 0; count < 40_000; count++) actor.sendUnsafe(E.Go())
      yield* TestClock.adjust(10)
      while ((yield* actor.snapshot).sequence < 80_001) yield* Effect.yieldNow
      expect((yield* actor.state)._tag).toBe("B")
    }),
  )

  it.effect("a question answered for several events must answer each", () =>
    Effect.gen(function* () {
      const Q = Event({ One: Event.reply({}, Schema.Number), Two: Event.reply({}, Schema.Number) })
      const machine = Machine.make({ name: "q", state: S, event: Q, initial: S.A() }).on(S.A, [Q.One, Q.Two], stay, () => reply(2))
      const actor = yield* spawn(machine)
      expect([yield* actor.ask(Q.One()), yield* actor.ask(Q.Two())]).toEqual([2, 2])
    }),
  )
})

describe("an actor that keeps itself busy", () => {
  const looping = base()
    .on(S.A, E.Go, stay, ({ self }) => {
      self.send(E.Go())
      return stay
    })
    .on(S.A, E.Back, S.B)

  it.effect("146 stops sending itself events when a chain of them does not end, with the path in the error", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const refused: Array<string> = []
      system.inspectUnsafe((one) => {
        if (one._tag === "Refused") refused.push(one.error.message)
      })
      const actor = yield* system.spawn("a", looping)
      yield* actor.send(E.Go())
      while (refused.length === 0) yield* Effect.yieldNow
      expect(refused[0]).toMatch(/Go → Go → Go/)
      expect((yield* actor.snapshot).sequence).toBe(10_000)
      yield* actor.send(E.Back())
      expect((yield* actor.state)._tag).toBe("B")
    }).pipe(Effect.provide(ActorSystem.layer)),
  )

  it.effect("146 gives other senders their turn meanwhile", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(
        base()
          .on(S.A, E.Go, S.A, ({ self }) => {
            self.send(E.Go())
            return Effect.as(Effect.yieldNow, S.A())
          })
          .on(S.A, E.Back, S.B),
      )
      yield* actor.send(E.Go())
      yield* actor.send(E.Back())
      expect((yield* actor.snapshot).sequence).toBeLessThan(1000)
    }),
  )

  it.effect("29 fails to send itself an event from its own enter, with the next step, instead of waiting for ever", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem
      const problems: Array<string> = []
      const moving = base().on(S.A, E.Go, S.B).on(S.B, E.Back, S.A)
      const machine = moving.enter(S.B, () =>
        Effect.gen(function* () {
          const self = yield* system.get("a", moving)
          if (self._tag === "Some") {
            yield* Effect.catch(self.value.send(E.Back()), (error) => Effect.sync(() => void problems.push(error.message)))
          }
        }),
      )
      const actor = yield* system.spawn("a", machine)
      yield* actor.send(E.Go())
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(/use self\.send/)
      yield* actor.send(E.Back())
    }).pipe(Effect.provide(ActorSystem.layer)),
  )
})
