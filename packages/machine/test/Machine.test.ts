import { DefinitionError, Event, Machine, refuse, reply, Slot, State, stay, stop } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({
  Open: { title: Schema.String },
  Working: State.group({
    Building: { title: Schema.String },
    Checking: State.group({ Testing: { title: Schema.String }, Linting: { title: Schema.String } }),
  }),
  Done: { title: Schema.String, by: Schema.String },
  Dropped: { title: Schema.String },
})
const E = Event({
  Start: {},
  Finish: { by: Schema.String },
  Drop: {},
  Input: Event.group({ Click: {}, Tap: {} }),
  GetTitle: Event.reply({}, Schema.String),
})
const open = S.Open({ title: "a" })
const base = Machine.make({ name: "work", state: S, event: E, initial: open })
interface Untyped {
  readonly [method: string]: (...args: ReadonlyArray<unknown>) => Untyped
}
/** As a caller in plain JavaScript sees it. */
const untyped = base as unknown as Untyped

const target = <I>(machine: Machine.Definition<typeof S.Type, typeof E.Type, I, never>, state: typeof S.Type, event: typeof E.Type) => {
  const decision = Machine.decide(machine, state, event)
  return decision._tag === "Refused" ? decision.error._tag : "state" in decision ? `${decision._tag} ${decision.state._tag}` : decision._tag
}

describe("a definition", () => {
  it("1 leads from a state on an event to the target, with fields carried", () => {
    const machine = base.on(S.Open, E.Start, S.Building).on(S.Building, E.Finish, S.Done)
    expect(Machine.decide(machine, open, E.Start())).toMatchObject({ _tag: "Goto", from: open, state: { _tag: "Building", title: "a" } })
    const finished = Machine.decide(machine, S.Building({ title: "b" }), E.Finish({ by: "me" }))
    expect(finished).toMatchObject({ state: { _tag: "Done", title: "b", by: "me" } })
  })

  it("2 matches by tag, whatever the data", () => {
    const machine = base.on(S.Open, E.Start, S.Building)
    for (const title of ["", "a", "🙂"]) expect(target(machine, S.Open({ title }), E.Start())).toBe("Goto Building")
  })

  it("3 a group as source means every leaf in it, nested ones too", () => {
    const machine = base.on(S.Working, E.Drop, S.Dropped)
    for (const state of [S.Building, S.Testing, S.Linting]) expect(target(machine, state({ title: "a" }), E.Drop())).toBe("Goto Dropped")
    expect(target(machine, open, E.Drop())).toBe("InvalidTransition")
  })

  it("4 a list as source means only those in it", () => {
    const machine = base.on([S.Open, S.Testing], E.Drop, S.Dropped)
    expect(target(machine, open, E.Drop())).toBe("Goto Dropped")
    expect(target(machine, S.Testing({ title: "a" }), E.Drop())).toBe("Goto Dropped")
    expect(target(machine, S.Linting({ title: "a" }), E.Drop())).toBe("InvalidTransition")
  })

  it("5 several states and several events mean the product", () => {
    const machine = base.on([S.Open, S.Checking], E.Input, S.Building)
    for (const state of [S.Open, S.Testing, S.Linting]) {
      for (const event of [E.Click(), E.Tap()]) expect(target(machine, state({ title: "a" }), event)).toBe("Goto Building")
    }
  })

  it("6 refuses the same pair twice, also through lists and groups, and names both places", () => {
    const twice = [
      () => untyped["on"]?.(S.Open, E.Start, S.Building)?.["on"]?.(S.Open, E.Start, S.Testing),
      () => untyped["on"]?.(S.Testing, E.Drop, S.Dropped)?.["on"]?.([S.Open, S.Testing], E.Drop, S.Dropped),
      () => untyped["on"]?.(S.Linting, E.Drop, S.Dropped)?.["on"]?.(S.Working, E.Drop, S.Dropped),
      () => untyped["on"]?.(S.Open, E.Tap, stay)?.["on"]?.(S.Open, E.Input, stay),
      () => untyped["on"]?.(S.Open, E.Tap, stay)?.["postpone"]?.(S.Open, E.Tap),
      () => untyped["timeout"]?.(S.Open, "1 minute", stay)?.["timeout"]?.(S.Open, "2 minutes", stay),
      () => untyped["onAny"]?.(E.Tap, stay)?.["onAny"]?.(E.Input, stay),
    ]
    for (const declare of twice) {
      expect(declare).toThrow(DefinitionError)
      expect(declare).toThrow(/declared twice: first at Machine\.test\.ts:\d+:\d+, again at Machine\.test\.ts:\d+:\d+/)
    }
  })

  it("7 an override replaces the old transition entirely", () => {
    const effects = Slot.Effects({ mail: {} })
    const machine = Machine.make({ name: "work", state: S, event: E, effects, initial: open })
      .on(S.Working, E.Drop, S.Dropped, ({ state, effects }) => {
        effects.mail()
        return S.Dropped.derive(state)
      })
      .timeout(S.Testing, "1 minute", S.Dropped)
      .on(S.Testing, E.Drop, S.Open, { override: true })
      .timeout(S.Testing, "2 minutes", S.Open, ({ state }) => S.Open.derive(state), { override: true })
      .build({ mail: () => Effect.void })
    const decision = Machine.decide(machine, S.Testing({ title: "a" }), E.Drop())
    expect(decision).toMatchObject({ state: { _tag: "Open" }, requests: [] })
    const fromTesting = machine.blueprint.transitions.filter((one) => one.from === "Testing")
    expect(fromTesting.map((one) => [one._tag, one.targets, one.requests])).toEqual([
      ["Event", [{ _tag: "State", state: "Open" }], []],
      ["Timeout", [{ _tag: "State", state: "Open" }], []],
    ])
    expect(fromTesting[1]).toMatchObject({ after: "2 minutes" })
    expect(target(machine, S.Linting({ title: "a" }), E.Drop())).toBe("Goto Dropped")
  })

  it("8 refuses an override of nothing", () => {
    expect(() => untyped["on"]?.(S.Open, E.Start, S.Building, { override: true })).toThrow(/overrides nothing/)
    expect(() => untyped["timeout"]?.(S.Open, "1 minute", stay, { override: true })).toThrow(/overrides nothing/)
  })

  it("9 refuses a target that is missing or foreign, and a duration that is none", () => {
    const Other = State({ Elsewhere: {} })
    for (const to of [undefined, null, Other.Elsewhere, S.Working, "Open"]) {
      expect(() => untyped["timeout"]?.(S.Open, "1 minute", to)).toThrow(DefinitionError)
      expect(() => untyped["on"]?.(S.Open, E.Start, to)).toThrow(DefinitionError)
    }
    expect(() => untyped["on"]?.(Other.Elsewhere, E.Start, S.Open)).toThrow(/not a state of this machine/)
    expect(() => untyped["timeout"]?.(S.Open, "soon", stay)).toThrow(/not a duration/)
  })

  it("10 final states accept no outgoing transition", () => {
    expect(() => untyped["final"]?.(S.Done)?.["on"]?.(S.Done, E.Start, S.Open)).toThrow(/final/)
    expect(() => untyped["on"]?.(S.Done, E.Start, S.Open)?.["final"]?.(S.Done)).toThrow(/final/)
    const machine = base.onAny(E.Drop, S.Dropped).final(S.Done)
    expect(target(machine, S.Done({ title: "a", by: "me" }), E.Drop())).toBe("MachineStopped")
  })

  it("12 is immutable: building on it twice gives two machines", () => {
    const stem = base.on(S.Open, E.Start, S.Building)
    const one = stem.on(S.Open, E.Drop, S.Dropped)
    const two = stem.on(S.Open, E.Drop, S.Testing)
    expect(target(stem, open, E.Drop())).toBe("InvalidTransition")
    expect(target(one, open, E.Drop())).toBe("Goto Dropped")
    expect(target(two, open, E.Drop())).toBe("Goto Testing")
  })

  it("13 a specific transition beats the fallback", () => {
    const machine = base.onAny(E.Drop, S.Dropped).on(S.Testing, E.Drop, S.Open).postpone(S.Linting, E.Drop)
    expect(target(machine, open, E.Drop())).toBe("Goto Dropped")
    expect(target(machine, S.Testing({ title: "a" }), E.Drop())).toBe("Goto Open")
    expect(target(machine, S.Linting({ title: "a" }), E.Drop())).toBe("Postponed")
  })

  it("14 refuses a question that a transition leaves unanswered", () => {
    expect(() => untyped["on"]?.(S.Open, E.GetTitle, stay)).toThrow(/requires a reply/)
    const machine = base.on(S.Open, E.GetTitle, stay, ({ state }) => reply(state.title))
    expect(Machine.decide(machine, open, E.GetTitle())).toMatchObject({ _tag: "Stay", answer: "a" })
  })

  it("says what is wrong with a machine that lacks a part", () => {
    const make = Machine.make as (options: object) => unknown
    expect(() => make({ name: "", state: S, event: E, initial: open })).toThrow(/needs a name/)
    expect(() => make({ name: "x", event: E, initial: open })).toThrow(/states are missing/)
    expect(() => make({ name: "x", state: S, initial: open })).toThrow(/events are missing/)
    expect(() => make({ name: "x", state: S, event: E, initial: { _tag: "Nowhere" } })).toThrow(/initial state/)
    expect(() => untyped["on"]?.(S.Open, E.Start, [S.Open, S.Done])).toThrow(/2 targets and no decision/)
    expect(() => untyped["always"]?.(S.Open, undefined, S.Done)).toThrow(/no guard/)
    expect(() => untyped["on"]?.(S.Open, E.Start, S.Building)?.["total"]?.()).toThrow(/no state handles Finish, Drop, Click, Tap, GetTitle/)
  })

  it("11 refuses missing fields and unknown options from plain JavaScript too", () => {
    expect(() => untyped["on"]?.(S.Open, E.Start, S.Done)).toThrow(/Open × Start → Done: nothing gives by/)
    expect(() => untyped["onAny"]?.(E.Start, S.Done)).toThrow(/nothing gives by/)
    expect(() => untyped["on"]?.(S.Open, E.Start, S.Building, { gaurd: () => true })).toThrow(/gaurd is not an option/)
    expect(() => untyped["on"]?.(S.Open, E.Start, S.Working)).toThrow(
      /Working is a group.*name one of its states: Building, Testing, Linting/,
    )
    expect(() => untyped["on"]?.("Open", E.Start, S.Building)).toThrow(/give the state itself, as S\.Open, not the text "Open"/)
    expect(() => untyped["on"]?.(S.Open, "Start", S.Building)).toThrow(/give the event itself, as E\.Start, not the text "Start"/)
    expect(() => untyped["on"]?.(S.Open, E.Start, "Building")).toThrow(/give the state itself, as S\.Building, not the text "Building"/)
    expect(() => untyped["final"]?.("Done")).toThrow(/as S\.Done, not the text "Done"/)
    expect(() => untyped["on"]?.("Opne", E.Start, S.Building)).toThrow(/Opne is not a state of this machine; .* the states are Open, /)
    expect(() => untyped["timeout"]?.(S.Open, "1 minute", stay)?.["timeout"]?.(S.Open, "2 minutes", stay)).toThrow(/\{ name: "..." \}/)
    expect(() => State({ Odd: { n: Number } as never })).toThrow(/the field n of Odd has no schema/)
  })

  it("refuses a slot left out at build, and one that is not a slot", () => {
    const slotted = Machine.make({
      name: "work",
      state: S,
      event: E,
      guards: Slot.Guards({ may: {} }),
      effects: Slot.Effects({ mail: {} }),
      initial: open,
    })
    const build = slotted.build as (handlers: object) => unknown
    expect(() => build.call(slotted, { may: () => true })).toThrow(/build leaves out mail/)
    expect(() => build.call(slotted, { may: () => true, mail: () => Effect.void, male: () => Effect.void })).toThrow(
      /male, for which there is no slot/,
    )
    expect(() =>
      Machine.make({
        name: "x",
        state: S,
        event: E,
        guards: Slot.Guards({ mail: {} }),
        effects: Slot.Effects({ mail: {} }),
        initial: open,
      }),
    ).toThrow(/both a guard and an effect/)
  })

  it("keeps what a durable engine will ask for", () => {
    const machine = base.persist({ snapshot: { _tag: "EveryN", transitions: 10 } })
    expect(target(machine.on(S.Open, E.Start, S.Building), open, E.Start())).toBe("Goto Building")
  })

  it("stays, stops and refuses as its decisions say", () => {
    const machine = base
      .on(S.Open, E.Start, stay)
      .on(S.Open, E.Drop, stop("no longer wanted"))
      .on(S.Open, E.Finish, S.Done, () => refuse("not started"))
    expect(Machine.decide(machine, open, E.Start())).toMatchObject({ _tag: "Stay", state: open })
    expect(Machine.decide(machine, open, E.Drop())).toMatchObject({ _tag: "Stop", reason: "no longer wanted" })
    expect(Machine.decide(machine, open, E.Finish({ by: "me" }))).toMatchObject({
      _tag: "Refused",
      error: { _tag: "TransitionRefused", reason: "not started" },
    })
  })
})
