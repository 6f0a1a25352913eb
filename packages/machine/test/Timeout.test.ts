import { Event, Machine, State, spawn, stay } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = State({ Waiting: { minutes: Schema.Number }, Late: {}, VeryLate: {}, Idle: {}, Answered: {} })
const E = Event({ Answer: {}, Ping: {}, Again: {}, Extend: { minutes: Schema.Number } })
const waiting = S.Waiting({ minutes: 10 })
const base = Machine.make({ name: "call", state: S, event: E, initial: waiting })
  .on(S.Waiting, E.Answer, S.Answered)
  .on(S.Waiting, E.Ping, stay)
  .on(S.Waiting, E.Extend, S.Waiting)
  .reenter(S.Waiting, E.Again)

const tagAfter = (actor: { readonly state: Effect.Effect<{ readonly _tag: string }> }, time: Parameters<typeof TestClock.adjust>[0]) =>
  Effect.andThen(
    TestClock.adjust(time),
    Effect.map(actor.state, (state) => state._tag),
  )

describe("timeouts", () => {
  it.effect("49 and 54 fire when their time has passed, also in the initial state", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base.timeout(S.Waiting, "1 minute", S.Late))
      expect(yield* tagAfter(actor, "59 seconds")).toBe("Waiting")
      expect(yield* tagAfter(actor, "1 second")).toBe("Late")
      expect(yield* actor.snapshot).toMatchObject({ sequence: 1 })
    }),
  )

  it.effect("50 never fire once the state is left", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base.timeout(S.Waiting, "1 minute", S.Late))
      yield* actor.send(E.Answer())
      expect(yield* tagAfter(actor, "1 hour")).toBe("Answered")
    }),
  )

  it.effect("51 start anew when the state is entered again; the old one is dead", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base.timeout(S.Waiting, "1 minute", S.Late))
      yield* TestClock.adjust("40 seconds")
      yield* actor.send(E.Again())
      expect(yield* tagAfter(actor, "40 seconds")).toBe("Waiting")
      expect(yield* tagAfter(actor, "20 seconds")).toBe("Late")
    }),
  )

  it.effect("52 several per state, each with its own name and target", () =>
    Effect.gen(function* () {
      const machine = base
        .timeout(S.Waiting, "3 minutes", S.VeryLate, { name: "last" })
        .timeout(S.Waiting, "1 minute", stay, { name: "remind" })
      const actor = yield* spawn(machine)
      expect(yield* tagAfter(actor, "1 minute")).toBe("Waiting")
      expect((yield* actor.snapshot).sequence).toBe(1)
      expect(yield* tagAfter(actor, "2 minutes")).toBe("VeryLate")
    }),
  )

  it.effect("53 and 60 an idle timeout starts anew with every event, a state timeout does not", () =>
    Effect.gen(function* () {
      const machine = base.timeout(S.Waiting, "2 minutes", S.Idle, { name: "idle", idle: true }).timeout(S.Waiting, "5 minutes", S.Late)
      const actor = yield* spawn(machine)
      for (let minute = 0; minute < 4; minute++) {
        expect(yield* tagAfter(actor, "1 minute")).toBe("Waiting")
        yield* actor.send(E.Ping())
      }
      expect(yield* tagAfter(actor, "1 minute")).toBe("Late")
      const quiet = yield* spawn(machine)
      expect(yield* tagAfter(quiet, "2 minutes")).toBe("Idle")
    }),
  )

  it.effect("a refused event does not keep an idle state awake", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base.timeout(S.Late, "1 minute", S.Idle, { idle: true }), S.Late())
      yield* TestClock.adjust("30 seconds")
      yield* Effect.ignore(actor.send(E.Ping()))
      expect(yield* tagAfter(actor, "30 seconds")).toBe("Idle")
    }),
  )

  it.effect("55 are cancelled by stopping", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(base.timeout(S.Waiting, "1 minute", S.Late))
      yield* actor.stop()
      expect(yield* tagAfter(actor, "1 hour")).toBe("Waiting")
    }),
  )

  it.effect("56 lead from one timed state to the next without end or deadlock", () =>
    Effect.gen(function* () {
      const machine = Machine.make({ name: "blink", state: S, event: E, initial: S.Late() })
        .timeout(S.Late, "1 second", S.Idle)
        .timeout(S.Idle, "1 second", S.Late)
      const actor = yield* spawn(machine)
      expect(yield* tagAfter(actor, "1001 seconds")).toBe("Idle")
      expect((yield* actor.snapshot).sequence).toBe(1001)
    }),
  )

  it.effect("take their duration from the state they start in", () =>
    Effect.gen(function* () {
      const machine = base.timeout(S.Waiting, (state) => `${state.minutes} minutes` as const, S.Late)
      const actor = yield* spawn(machine)
      yield* actor.send(E.Extend({ minutes: 99 }))
      expect(yield* tagAfter(actor, "9 minutes")).toBe("Waiting")
      expect(yield* tagAfter(actor, "1 minute")).toBe("Late")
    }),
  )

  it.effect("one that came due while the actor was busy is void when the state was left meanwhile", () =>
    Effect.gen(function* () {
      const machine = base
        .timeout(S.Waiting, "1 minute", S.Late)
        .timeout(S.Answered, "1 hour", S.VeryLate)
        .exit(S.Waiting, () => Effect.sleep("2 minutes"))
      const actor = yield* spawn(machine)
      yield* TestClock.adjust("59 seconds")
      yield* Effect.forkChild(actor.send(E.Answer()), { startImmediately: true })
      expect(yield* tagAfter(actor, "3 minutes")).toBe("Answered")
      expect(yield* tagAfter(actor, "58 minutes")).toBe("Answered")
      expect(yield* tagAfter(actor, "1 minute")).toBe("VeryLate")
    }),
  )
})
