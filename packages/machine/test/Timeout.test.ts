import { DefinitionError, Event, Machine, RetryPolicy, State, spawn, stay } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
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

  it.effect("51 restart when the state is entered again; the old one never fires", () =>
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

  it.effect("53 and 60 an idle timeout restarts with every event, a state timeout does not", () =>
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

  describe("that end at a date of the state", () => {
    const D = State({ Active: { renewsAt: Schema.Number, periods: Schema.Number }, Ended: {} })
    const V = Event({ Move: { renewsAt: Schema.Number }, Ping: {} })
    const day = 24 * 60 * 60 * 1000
    const Renewing = Machine.make({ name: "subscription", state: D, event: V, initial: D.Active })
      .timeout(D.Active, { until: ({ renewsAt }) => renewsAt }, D.Active, ({ state }) =>
        D.Active({ renewsAt: state.renewsAt + 30 * day, periods: state.periods + 1 }),
      )
      .on(D.Active, V.Move, D.Active)
      .on(D.Active, V.Ping, stay)
    const periods = <S>(actor: { readonly state: Effect.Effect<S> }, time: Duration.Input) =>
      Effect.andThen(
        TestClock.adjust(time),
        Effect.map(actor.state, (state) => (state as unknown as { readonly periods: number }).periods),
      )

    it.effect("are due at the date, again at the date that they set, and once at a date that stays", () =>
      Effect.gen(function* () {
        const actor = yield* spawn(Renewing, { renewsAt: 14 * day, periods: 0 })
        expect(yield* periods(actor, 14 * day - 1)).toBe(0)
        expect(yield* periods(actor, 1)).toBe(1)
        yield* actor.send(V.Ping())
        expect(yield* periods(actor, 30 * day - 1)).toBe(1)
        expect(yield* periods(actor, 1)).toBe(2)
        const once = Machine.make({ name: "reminder", state: D, event: V, initial: D.Active })
          .timeout(D.Active, { until: ({ renewsAt }) => renewsAt }, D.Active, ({ state }) =>
            D.Active.derive(state, { periods: state.periods + 1 }),
          )
          .on(D.Active, V.Ping, stay)
        const reminded = yield* spawn(once, { renewsAt: 0, periods: 0 })
        expect(yield* periods(reminded, 1)).toBe(1)
        yield* reminded.send(V.Ping())
        expect(yield* periods(reminded, 100 * day)).toBe(1)
      }),
    )

    it.effect("move with the date, in both directions, and end with a date of Infinity", () =>
      Effect.gen(function* () {
        const actor = yield* spawn(Renewing, { renewsAt: 14 * day, periods: 0 })
        yield* actor.send(V.Move({ renewsAt: 20 * day }))
        expect(yield* periods(actor, 19 * day)).toBe(0)
        yield* actor.send(V.Move({ renewsAt: 19 * day }))
        expect(yield* periods(actor, 0)).toBe(1)
        yield* actor.send(V.Move({ renewsAt: Number.POSITIVE_INFINITY }))
        expect(yield* periods(actor, 1000 * day)).toBe(1)
      }),
    )

    it("take a DateTime and a text with its zone, and refuse what is no date", () => {
      const dueIn = (date: unknown) =>
        Machine.begin(
          Machine.make({ name: "call", state: S, event: E, initial: waiting }).timeout(S.Waiting, { until: () => date as Date }, S.Late),
          waiting,
          1000,
        )
      expect(dueIn("1970-01-01T00:00:02Z")).toMatchObject({ timers: [{ name: "timeout", millis: 1000 }] })
      expect(dueIn({ epochMilliseconds: 5000 })).toMatchObject({ timers: [{ millis: 4000 }] })
      for (const [date, problem] of [
        ["2027-01-31", /has no zone; write it as in 2027-01-31T09:00:00Z/],
        ["soonZ", /no date: soonZ; return milliseconds since 1970/],
        [new Date("never"), /no date: Invalid Date/],
        [Number.NaN, /no date: NaN/],
        [undefined, /no date: undefined/],
      ] as const)
        expect(dueIn(date)).toMatchObject({ _tag: "Refused", error: { message: expect.stringMatching(problem) } })
      expect(() => base.timeout(S.Waiting, { until: () => 0 }, S.Late, { idle: true })).toThrow(
        "machine call: timeout timeout ends at a date and is idle; leave out idle",
      )
    })

    it("a function gets the recorded time too", () => {
      const machine = base.timeout(S.Waiting, (_, at) => (at > 500 ? "1 second" : "2 seconds"), S.Late)
      expect(Machine.begin(machine, waiting, 1000)).toMatchObject({ timers: [{ millis: 1000 }] })
      expect(Machine.begin(machine, waiting, 100)).toMatchObject({ timers: [{ millis: 2000 }] })
    })
  })

  it.effect("145 a duration of Infinity is not a timer; an idle one that becomes infinite ends", () =>
    Effect.gen(function* () {
      const never = yield* spawn(base.timeout(S.Waiting, Number.POSITIVE_INFINITY, S.Late))
      expect(yield* tagAfter(never, "36500 days")).toBe("Waiting")
      const idle = base.timeout(S.Waiting, ({ minutes }) => Duration.minutes(minutes), S.Idle, { name: "idle", idle: true })
      expect(Machine.begin(idle, S.Waiting({ minutes: Number.POSITIVE_INFINITY }))).toMatchObject({ timers: [] })
      const actor = yield* spawn(idle)
      yield* actor.send(E.Extend({ minutes: Number.POSITIVE_INFINITY }))
      expect(yield* tagAfter(actor, "36500 days")).toBe("Waiting")
      yield* actor.send(E.Extend({ minutes: 5 }))
      expect(yield* tagAfter(actor, "5 minutes")).toBe("Idle")
    }),
  )

  it("145 a constant that no timer can wait for is refused while the machine is defined", () => {
    const refused = (after: Duration.Input) => {
      try {
        base.timeout(S.Waiting, after, S.Late)
        return "accepted"
      } catch (error) {
        return error instanceof DefinitionError ? error.message : String(error)
      }
    }
    for (const nan of [Number.NaN, { hours: Number.NaN }, [Number.NaN, 0]] as ReadonlyArray<Duration.Input>) {
      expect(refused(nan)).toBe(
        'machine call: timeout timeout has a duration of NaN; give a number of milliseconds; write it like "30 minutes"',
      )
    }
    expect(refused(-1)).toBe("machine call: timeout timeout has a duration of -1 ms; give 0 or more")
    expect(refused(Number.NEGATIVE_INFINITY)).toMatch(/a duration of -Infinity; Infinity means that it never passes/)
    expect(refused("9000 weeks")).toBe("accepted")
    expect(refused(1e16)).toMatch(/ends after the year 9999; use Infinity/)
    const timed = { name: "call", state: S, event: E, initial: waiting }
    expect(() => Machine.make({ ...timed, processingTimeout: Number.NaN })).toThrow(/processingTimeout has a duration of NaN/)
    expect(() => base.persist({ snapshot: { _tag: "Interval", every: -5 } })).toThrow(/the snapshot interval has a duration of -5 ms/)
  })

  it.effect("145 what a function returns and no timer can wait for fails the transition; one that has passed is due immediately", () =>
    Effect.gen(function* () {
      const machine = base
        .on(S.Idle, E.Extend, S.Waiting)
        .on(S.Idle, E.Ping, stay)
        .timeout(S.Waiting, ({ minutes }) => minutes * 60_000, S.Late)
      const actor = yield* spawn(machine, S.Idle())
      for (const minutes of [Number.NaN, Number.NEGATIVE_INFINITY, 1e12]) {
        expect(yield* Effect.flip(actor.send(E.Extend({ minutes })))).toMatchObject({
          _tag: "ActionFailed",
          phase: "timeout",
          committed: false,
        })
        expect(yield* Effect.flip(spawn(machine, S.Waiting({ minutes })))).toMatchObject({ _tag: "ActionFailed", phase: "timeout" })
      }
      // Each is in range by itself, but not from the year 9999 on.
      expect(Machine.decide(machine, S.Idle(), E.Extend({ minutes: 1 }), 253_402_300_799_000)).toMatchObject({
        _tag: "Refused",
        error: { phase: "timeout", message: expect.stringMatching(/would be due after the year 9999/) },
      })
      yield* actor.send(E.Ping())
      expect(yield* actor.snapshot).toMatchObject({ state: { _tag: "Idle" }, sequence: 1 })
      yield* actor.send(E.Extend({ minutes: -5 }))
      expect(yield* tagAfter(actor, 0)).toBe("Late")
    }),
  )

  it("145 retry policies take durations that can be waited for, and no others", () => {
    expect(() => RetryPolicy.fixed({ delay: Number.NaN, maxAttempts: 2 })).toThrow(/a duration of NaN/)
    expect(() => RetryPolicy.fixed({ delay: Number.POSITIVE_INFINITY, maxAttempts: 2 })).toThrow(
      /a delay of Infinity ms; use a finite time/,
    )
    expect(() => RetryPolicy.exponential({ maxDelay: 1e300 })).toThrow(/ends after the year 9999/)
    expect(() => RetryPolicy.exponential({ initialDelay: -1 })).toThrow(/an? initial delay of -1 ms/)
  })
})
