import { Event, Machine, reply, Slot, State, stay, stop, timeoutEvent } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { schemaOf } from "../src/index.ts"

const S = State({ A: { n: Schema.Number }, B: { n: Schema.Number }, C: { n: Schema.Number }, End: {} })
const E = Event({ Go: {}, Add: { by: Schema.Number }, Ask: Event.reply({}, Schema.Number), Boom: {}, Later: {} })
const a = S.A({ n: 1 })
const base = Machine.make({ name: "letters", state: S, event: E, initial: a })

describe("deciding", () => {
  it("17 an event without a transition is refused with state, event and the accepted events", () => {
    const machine = base.on(S.A, E.Go, S.B).postpone(S.A, E.Later)
    const decision = Machine.decide(machine, a, E.Boom())
    expect(decision).toMatchObject({
      _tag: "Refused",
      error: { _tag: "InvalidTransition", state: "A", event: "Boom", accepted: ["Go", "Later"] },
    })
    expect(decision._tag === "Refused" && decision.error.message).toBe(
      "letters: state A has no transition for event Boom; it accepts Go, Later",
    )
  })

  it("18 and 19 stay keeps the state; the same tag replaces its data; neither leaves it", () => {
    const machine = base.on(S.A, E.Go, stay).on(S.A, E.Add, S.A, ({ state, event }) => S.A({ n: state.n + event.by }))
    const stayed = Machine.decide(machine, a, E.Go())
    expect(stayed._tag === "Stay" && stayed.state).toBe(a)
    expect(Machine.decide(machine, a, E.Add({ by: 2 }))).toMatchObject({ _tag: "Stay", state: { _tag: "A", n: 3 } })
  })

  it("20 reenter leaves and enters the same state", () => {
    const machine = base.reenter(S.A, E.Go).reenter(S.A, E.Add, ({ state, event }) => S.A({ n: state.n + event.by }))
    expect(Machine.decide(machine, a, E.Go())).toMatchObject({ _tag: "Goto", state: a })
    expect(Machine.decide(machine, a, E.Add({ by: 1 }))).toMatchObject({ _tag: "Goto", state: { n: 2 } })
  })

  it("36 a guard that says no is reported as refused, by its name", () => {
    const guards = Slot.Guards({ positive: { n: Schema.Number } })
    const machine = Machine.make({ name: "letters", state: S, event: E, guards, initial: a })
      .on(S.A, E.Add, S.B, { guard: ({ event, guards }) => guards.positive({ n: event.by }), guardName: "positive" })
      .build({ positive: ({ n }) => n > 0 })
    expect(Machine.decide(machine, a, E.Add({ by: 1 }))).toMatchObject({ _tag: "Goto", guardAnswers: [true] })
    expect(Machine.decide(machine, a, E.Add({ by: 0 }))).toMatchObject({
      _tag: "Refused",
      error: { _tag: "TransitionRefused", reason: "positive does not hold" },
    })
  })

  it("37 automatic transitions are taken in order, the first that holds, as long as one does", () => {
    const machine = base
      .on(S.A, E.Add, S.A, ({ state, event }) => S.A({ n: state.n + event.by }))
      .always(S.A, ({ state }) => state.n > 10, S.C)
      .always(S.A, ({ state }) => state.n > 5, S.B)
      .always(S.C, ({ state }) => state.n > 100, S.End)
      .final(S.End)
    const to = (by: number) => Machine.decide(machine, S.A({ n: 0 }), E.Add({ by }))
    expect(to(1)).toMatchObject({ _tag: "Stay", state: { _tag: "A" } })
    expect(to(6)).toMatchObject({ _tag: "Goto", state: { _tag: "B", n: 6 }, through: [] })
    expect(to(11)).toMatchObject({ _tag: "Goto", state: { _tag: "C" } })
    expect(to(101)).toMatchObject({ _tag: "Goto", state: { _tag: "End" }, through: [{ _tag: "C", n: 101 }] })
  })

  it("37 an endless chain is a clear error and changes nothing", () => {
    const machine = base
      .on(S.C, E.Go, S.A)
      .always(S.A, () => true, S.B)
      .always(S.B, () => true, S.A)
    const decision = Machine.decide(machine, S.C({ n: 1 }), E.Go())
    expect(decision).toMatchObject({ _tag: "Refused", error: { _tag: "EndlessTransition", state: "C", event: "Go" } })
    expect(decision._tag === "Refused" && decision.error.message).toMatch(/A → B → A → B .* make a guard stop them/)
    expect(Machine.begin(machine, a)).toMatchObject({ _tag: "Refused", error: { _tag: "EndlessTransition" } })
  })

  it("38 a decision, guard, hook or automatic transition that throws is reported with its phase", () => {
    const boom = (): never => {
      throw new Error("boom")
    }
    const phase = (machine: typeof base) => {
      const decision = Machine.decide(machine, a, E.Go())
      return decision._tag === "Refused" && decision.error._tag === "ActionFailed"
        ? `${decision.error.phase}: ${decision.error.message}`
        : decision._tag
    }
    expect(phase(base.on(S.A, E.Go, S.B, boom) as never)).toBe(
      "decide: letters: decide failed in state A on event Go, nothing changed: boom",
    )
    expect(phase(base.on(S.A, E.Go, S.B, { guard: boom }) as never)).toBe(
      "guard: letters: guard failed in state A on event Go, nothing changed: boom",
    )
    expect(phase(base.on(S.A, E.Go, S.B).exit(S.A, boom) as never)).toMatch(/^exit/)
    expect(phase(base.on(S.A, E.Go, S.B).enter(S.B, boom) as never)).toMatch(/^enter/)
    expect(phase(base.on(S.A, E.Go, S.B).always(S.B, boom, S.C) as never)).toMatch(/^guard/)
    expect(phase(base.on(S.A, E.Go, S.B).always(S.B, () => true, S.C, boom) as never)).toMatch(/^always/)
  })

  it.effect("38 a guard slot that throws is reported as a guard, wherever it is asked", () =>
    Effect.gen(function* () {
      const asking = (caught: boolean) =>
        Machine.make({ name: "letters", state: S, event: E, guards: Slot.Guards({ lucky: {} }), initial: a })
          .on(S.A, E.Go, S.B, ({ state, guards }) => {
            try {
              guards.lucky()
            } catch (cause) {
              if (!caught) throw cause
              throw new Error("no luck")
            }
            return S.B(state)
          })
          .on(S.A, E.Add, S.B, { guard: ({ guards }) => guards.lucky() })
          .on(S.A, E.Boom, S.B, ({ state, guards }) => Effect.sync(() => (guards.lucky() ? S.B(state) : S.B(state))))
          .on(S.A, E.Later, S.C)
          .always(S.C, ({ guards }) => guards.lucky(), S.B)
          .build({
            lucky: () => {
              throw new Error("boom")
            },
          })
      const failed = (phase: string, cause: string) => ({
        _tag: "Refused",
        error: { _tag: "ActionFailed", phase, cause: new Error(cause) },
      })
      expect(Machine.decide(asking(false), a, E.Go())).toMatchObject(failed("guard", "boom"))
      expect(Machine.decide(asking(false), a, E.Add({ by: 1 }))).toMatchObject(failed("guard", "boom"))
      expect(Machine.decide(asking(false), a, E.Later())).toMatchObject(failed("guard", "boom"))
      const deferred = Machine.decide(asking(false), a, E.Boom())
      if (deferred._tag !== "Deferred") return expect.fail("it is effectful")
      expect(yield* deferred.effect as Effect.Effect<unknown>).toMatchObject(failed("guard", "boom"))
      // The decision's own failure is not the guard's.
      expect(Machine.decide(asking(true), a, E.Go())).toMatchObject(failed("decide", "no luck"))
    }),
  )

  it("refuses what a decision returns and the transition does not declare", () => {
    const returning = (value: unknown) =>
      Machine.decide(
        base.on(S.A, E.Go, S.B, () => value as never),
        a,
        E.Go(),
      )
    for (const value of [undefined, null, 1, "B", {}, S.C({ n: 1 }), stay, stop("x"), { _tag: "Nowhere" }]) {
      expect(returning(value)).toMatchObject({ _tag: "Refused", error: { _tag: "ActionFailed", phase: "decide" } })
    }
  })

  it("14 an unanswered question is an error from plain JavaScript too", () => {
    const machine = base.on(S.A, E.Ask, stay, (() => stay) as never)
    expect(Machine.decide(machine, a, E.Ask())).toMatchObject({
      _tag: "Refused",
      error: { message: expect.stringMatching(/Ask requires an answer/) },
    })
  })

  it("collects requests and self-sent events in order, with those of exit and enter", () => {
    const effects = Slot.Effects({ log: { text: Schema.String } })
    const machine = Machine.make({ name: "letters", state: S, event: E, effects, initial: a })
      .on(S.A, E.Go, S.B, ({ state, effects, self }) => {
        effects.log({ text: "decide" })
        self.send(E.Add({ by: 1 }))
        self.send(E.Boom())
        return S.B(state)
      })
      .exit(S.A, ({ state, other, event, effects }) => effects.log({ text: `exit ${state._tag} to ${other?._tag} on ${event?._tag}` }))
      .enter(S.B, ({ state, other, effects }) => effects.log({ text: `enter ${state._tag} from ${other?._tag}` }))
      .build({ log: () => Effect.void })
    const decision = Machine.decide(machine, a, E.Go())
    expect(decision).toMatchObject({
      requests: ["decide", "exit A to B on Go", "enter B from A"].map((text) => ({ slot: "log", parameters: { text } })),
      sends: [{ _tag: "Add", by: 1 }, { _tag: "Boom" }],
    })
  })

  it("refuses a request that comes after its decision", () => {
    const effects = Slot.Effects({ log: {} })
    let leaked: () => void = () => undefined
    const machine = Machine.make({ name: "letters", state: S, event: E, effects, initial: a })
      .on(S.A, E.Go, S.B, ({ state, effects }) => {
        leaked = effects.log
        return S.B(state)
      })
      .build({ log: () => Effect.void })
    Machine.decide(machine, a, E.Go())
    expect(leaked).toThrow(/called after its decision had ended/)
  })

  it("45 a replay runs no hook, and guard slots give their recorded answers", () => {
    const ran: Array<string> = []
    const machine = Machine.make({ name: "letters", state: S, event: E, guards: Slot.Guards({ lucky: {} }), initial: a })
      .on(S.A, E.Go, [S.B, S.C], ({ state, guards }) => (guards.lucky() ? S.B(state) : S.C(state)))
      .exit(S.A, () => void ran.push("exit"))
      .enter([S.B, S.C], () => void ran.push("enter"))
      .build({
        lucky: () => {
          ran.push("guard")
          return false
        },
      })
    expect(Machine.replay(machine, a, E.Go(), 0, [true])).toMatchObject({ state: { _tag: "B" } })
    expect(ran).toEqual([])
    expect(Machine.decide(machine, a, E.Go())).toMatchObject({ state: { _tag: "C" }, guardAnswers: [false] })
    expect(ran).toEqual(["guard", "exit", "enter"])
  })

  it("45 and 151 a replay asks no inline guard, of an event or of an automatic transition", () => {
    let asked = 0
    const saying = (answers: ReadonlyArray<boolean>) =>
      base
        .on(S.A, E.Go, S.B, { guard: () => answers[asked++] === true })
        .always(S.B, () => answers[asked++] === true, S.A)
        .always(S.B, () => answers[asked++] === true, S.C)
    const decision = Machine.decide(saying([true, false, true]), a, E.Go())
    expect(decision).toMatchObject({ state: { _tag: "C" }, guardAnswers: [true, false, true] })
    asked = 0
    const answers = decision._tag === "Goto" ? decision.guardAnswers : []
    expect(Machine.replay(saying([false, true]), a, E.Go(), 0, answers)).toMatchObject({ state: { _tag: "C" }, through: [{ _tag: "B" }] })
    expect(asked).toBe(0)
  })

  it("records an inline guard by its own answer, not by those of the slots it asks", () => {
    const machine = Machine.make({ name: "letters", state: S, event: E, guards: Slot.Guards({ lucky: {} }), initial: a })
      .on(S.A, E.Go, [S.B, S.C], ({ state, guards }) => (guards.lucky() ? S.B(state) : S.C(state)), {
        guard: ({ guards }) => !guards.lucky() && !guards.lucky(),
      })
      .build({ lucky: () => false })
    expect(Machine.decide(machine, a, E.Go())).toMatchObject({ state: { _tag: "C" }, guardAnswers: [true, false] })
    expect(Machine.replay(machine, a, E.Go(), 0, [true, true])).toMatchObject({ state: { _tag: "B" } })
  })

  it("46 a beginning enters the initial state once, and may move on by itself", () => {
    const machine = base.enter(S.A, () => undefined).always(S.A, ({ state }) => state.n > 5, S.B)
    expect(Machine.begin(machine, undefined)).toMatchObject({ _tag: "Beginning", state: a, through: [] })
    expect(Machine.begin(machine, S.A({ n: 6 }))).toMatchObject({ state: { _tag: "B", n: 6 }, through: [{ _tag: "A", n: 6 }] })
    expect(
      Machine.begin(
        base.enter(S.A, () => {
          throw new Error("no")
        }),
        undefined,
      ),
    ).toMatchObject({ _tag: "Refused", error: { phase: "enter" } })
  })

  it("49 and 52 timeouts are decided like events, each by its name", () => {
    const machine = base
      .timeout(S.A, "1 minute", S.B)
      .timeout(S.A, "2 minutes", S.C, { name: "long" })
      .timeout(S.B, "1 minute", stop("too late"))
    expect(Machine.decide(machine, a, timeoutEvent("timeout"))).toMatchObject({ state: { _tag: "B" } })
    expect(Machine.decide(machine, a, timeoutEvent("long"))).toMatchObject({ state: { _tag: "C" } })
    expect(Machine.decide(machine, S.B({ n: 1 }), timeoutEvent("timeout"))).toMatchObject({ _tag: "Stop", reason: "too late" })
    expect(Machine.decide(machine, a, timeoutEvent("unknown"))).toMatchObject({ _tag: "Refused", error: { event: "(unknown)" } })
  })

  it("gives a decision the recorded time and no other", () => {
    const machine = base.on(S.A, E.Go, S.B, ({ at }) => S.B({ n: at }))
    expect(Machine.decide(machine, a, E.Go(), 77)).toMatchObject({ state: { n: 77 } })
    expect(Machine.decide(machine, a, E.Go())).toMatchObject({ state: { n: 0 } })
  })

  it.effect("returns an effectful decision as an Effect of one", () =>
    Effect.gen(function* () {
      const machine = base
        .on(S.A, E.Go, S.B, ({ state }) => Effect.delay(Effect.succeed(S.B(state)), 0))
        .on(S.A, E.Ask, stay, ({ state }) => Effect.succeed(reply(state.n)))
        .on(S.A, E.Boom, S.B, () => Effect.fail("no answer"))
      const decision = Machine.decide(machine, a, E.Ask())
      if (decision._tag !== "Deferred") return expect.fail("it is effectful")
      expect(yield* decision.effect as Effect.Effect<unknown>).toMatchObject({ _tag: "Stay", answer: 1 })
      const failing = Machine.decide(machine, a, E.Boom())
      if (failing._tag !== "Deferred") return expect.fail("it is effectful")
      expect(yield* failing.effect as Effect.Effect<unknown>).toMatchObject({
        _tag: "Refused",
        error: { _tag: "ActionFailed", phase: "decide", cause: "no answer" },
      })
    }),
  )

  it("35 says what is wrong with a value that is not an event", () => {
    const problem = (event: unknown) => Machine.checkEvent(base, event)?.message
    expect(problem(E.Add({ by: 1 }))).toBeUndefined()
    expect(problem({ _tag: "Add", by: "one" })).toBe("letters: Add cannot be accepted: by: Expected number")
    expect(problem({ _tag: "Add" })).toBe("letters: Add cannot be accepted: by is missing")
    expect(problem({ _tag: "Nope" })).toBe("letters: Nope cannot be accepted: the events are Go, Add, Ask, Boom, Later")
    for (const hostile of [undefined, null, 1, "Go", [], {}, { _tag: 1 }, { _tag: "__proto__" }, { _tag: "constructor" }]) {
      expect(problem(hostile), String(hostile)).toMatch(/cannot be accepted/)
    }
  })

  it.prop("a decision never changes the state or the event it was made from", [schemaOf(S), schemaOf(E)], ([state, event]) => {
    const machine = base.on([S.A, S.B], E.Add, S.A, ({ state, event }) => S.A({ n: state.n + event.by })).onAny(E.Go, S.End)
    const before = JSON.stringify([state, event])
    const first = Machine.decide(machine, state, event)
    expect(Machine.decide(machine, state, event)).toEqual(first)
    expect(JSON.stringify([state, event])).toBe(before)
  })
})
