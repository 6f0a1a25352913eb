import { Event, Machine, refuse, Slot, State, stay } from "@detent/machine"
import { explore, formatReport, problemsIn } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Counter, Lamp, Order, QueueEvent, QueueState, Session, start } from "./machines.ts"

const targetsOf = (report: ReturnType<typeof explore>, state: string, event: string) =>
  report.observedTargets
    .filter((one) => one.state === state && one.event === event)
    .flatMap((one) => one.targets.map(({ target }) => target))

describe("exploring a sound machine", () => {
  it("finds no problem in machines that have none", () => {
    for (const machine of [Order, Counter, Session, Lamp]) expect(problemsIn(explore(machine))).toBe(0)
  })

  it("reports where every event led; guards without an answer are answered both ways", () => {
    const report = explore(Order, { starts: [start] })
    expect(targetsOf(report, "Paid", "Ship")).toEqual(["Picking", "Cancelled"])
    expect(targetsOf(report, "Awaiting", "(timeout)")).toEqual(["Cancelled"])
    expect(targetsOf(report, "Picking", "Shutdown")).toEqual(["(stop)"])
    expect(report.notExplored).toEqual([])
  })

  it("answers several guards of one decision in every combination", () => {
    const S = State({ Asked: {}, Heard: { answers: Schema.String } })
    const E = Event({ Ask: {} })
    const heard = new Set<string>()
    const machine = Machine.make({
      name: "quiz",
      state: S,
      event: E,
      guards: Slot.Guards({ first: {}, second: {}, third: {} }),
      initial: S.Asked(),
    }).on(S.Asked, E.Ask, S.Heard, ({ guards }) => {
      const answers = [guards.first(), guards.second(), guards.third()].join()
      heard.add(answers)
      return S.Heard({ answers })
    })
    explore(machine)
    expect(heard.size).toBe(8)
  })

  it("gives the same report for the same seed, and makes other decisions for another", () => {
    expect(explore(Session, { seed: "a" })).toEqual(explore(Session, { seed: "a" }))
    expect(explore(Session, { seed: "a" })).not.toEqual(explore(Session, { seed: "b" }))
  })

  it("leaves the machine as it is", () => {
    const before = explore(Counter)
    Machine.decide(Counter, QueueState.Closed({ handled: [] }), QueueEvent.Open())
    expect(explore(Counter)).toEqual(before)
  })

  it("makes no more decisions than it is asked for", () => {
    const few = explore(Session, { samples: 2, rounds: 1 })
    expect(few.decisions).toBeLessThan(200)
  })

  it("says what it could not explore", () => {
    expect(explore(Lamp).notExplored.map(({ what }) => what)).toEqual(["Off × Check", "On × Check"])
    expect(explore(Order).notExplored.map(({ what }) => what)).toEqual(["the function that makes the initial state"])
  })
})

describe("exploring finds", () => {
  const S = State({ A: { count: Schema.Int }, B: { count: Schema.Int }, C: { count: Schema.Int } })
  const E = Event({ Go: {}, Back: {}, Unused: {} })
  const base = Machine.make({ name: "m", state: S, event: E, initial: S.A({ count: 0 }) })

  it("38 decisions that throw, with the state and event they threw on", () => {
    const machine = base.on(S.A, E.Go, S.B).on(S.B, E.Back, S.A, ({ state }) => {
      if (state.count !== 0) throw new Error("only zero comes back")
      return S.A(state)
    })
    const [found, ...others] = explore(machine).throwing
    expect(others).toEqual([])
    expect(found).toMatchObject({ state: "B", event: "Back", phase: "decide", message: "only zero comes back", reached: false })
    expect(found?.sample.state).not.toEqual(S.B({ count: 0 }))
  })

  it("durations that throw whatever can be thrown", () => {
    const S = State({ A: {} })
    const E = Event({ Go: {} })
    const machine = Machine.make({ name: "odd", state: S, event: E, initial: S.A() })
      .on(S.A, E.Go, stay)
      .timeout(
        S.A,
        () => {
          throw Object.create(null)
        },
        stay,
      )
    expect(explore(machine).throwing.map(({ phase, message }) => `${phase}: ${message}`)).toContain(
      "duration: a value that cannot be shown",
    )
  })

  it("throwing hooks and timeout durations, and decisions that return what they do not declare", () => {
    const machine = base
      .on(S.A, E.Go, S.B)
      .on(S.B, E.Back, S.A, () => S.C({ count: 1 }) as never)
      .enter(S.B, () => {
        throw new Error("no entry")
      })
      .timeout(
        S.C,
        () => {
          throw new Error("no time")
        },
        S.A,
      )
    const found = explore(machine).throwing.map(({ state, event, phase, message }) => `${state} × ${event} ${phase}: ${message}`)
    expect(found).toContain("A × Go enter: no entry")
    expect(found).toContain("B × (start) enter: no entry")
    expect(found).toContain("B × Back decide: the decision returned C, declared are A")
    expect(found).toContain("C × (timeout) duration: no time")
  })

  it("a mistake the machine really runs into is shown with a state reached from the start", () => {
    const machine = base.on(S.A, E.Go, [S.A, S.B], ({ state }) => {
      if (state.count === 3) throw new Error("three")
      return S.A({ count: state.count + 1 })
    })
    expect(explore(machine).throwing).toMatchObject([{ reached: true, sample: { state: S.A({ count: 3 }) } }])
  })

  it("37 endless chains of automatic transitions", () => {
    const machine = base
      .on(S.A, E.Go, S.B)
      .always(S.B, () => true, S.C)
      .always(S.C, () => true, S.B)
    const { endlessAlways } = explore(machine)
    expect(endlessAlways).toHaveLength(1)
    expect(new Set(endlessAlways[0]?.path)).toEqual(new Set(["B", "C"]))
  })

  it("states that are never reached: for certain, or as far as was seen", () => {
    const machine = base.on(S.A, E.Go, [S.A, S.B], ({ state }) => (state.count > 10 ? S.B(state) : S.A(state))).on(S.C, E.Back, S.A)
    expect(explore(machine).unreachable).toEqual([
      { state: "B", certain: false },
      { state: "C", certain: true },
    ])
  })

  it("states that need many events to be reached are not called unreachable", () => {
    const machine = base.on(S.A, E.Go, [S.A, S.B], ({ state }) => (state.count > 10 ? S.B(state) : S.A({ count: state.count + 1 })))
    expect(explore(machine).unreachable.map(({ state }) => state)).toEqual(["C"])
  })

  it("dead ends that are not final, also where the declared way out is never taken", () => {
    const machine = base
      .on(S.A, E.Go, [S.B, S.C], ({ state, at }) => (at > 0 ? S.B(state) : S.C(state)))
      .on(S.C, E.Back, [S.A, stay], () => stay)
    expect(explore(machine).deadEnds).toEqual([
      { state: "B", certain: true },
      { state: "C", certain: false },
    ])
    const final = machine.final(S.B).on(S.C, E.Back, S.A, { override: true })
    expect(explore(final).deadEnds).toEqual([])
  })

  it("events no state handles; postponing alone is not a handling", () => {
    const machine = base.on(S.A, E.Go, S.B).on(S.B, E.Go, S.A).postpone(S.A, E.Back)
    expect(explore(machine).unhandledEvents).toEqual(["Back", "Unused"])
  })

  it("targets that are declared but never produced, once per declaration", () => {
    const machine = base.on([S.A, S.B], E.Go, [S.A, S.B, S.C], ({ state }) => (state._tag === "A" ? S.B(state) : S.A(state)))
    expect(explore(machine).neverProduced).toEqual([{ states: ["A", "B"], events: ["Go"], target: "C" }])
  })

  it("an automatic transition that stands behind one that always holds", () => {
    const machine = base
      .on(S.A, E.Go, S.B)
      .always(S.B, () => true, S.A)
      .always(S.B, () => true, S.C)
    expect(explore(machine).neverProduced).toEqual([{ states: ["B"], events: ["(always)"], target: "C" }])
  })

  it("guards that never vary, slots as well as those of a transition", () => {
    const guards = Slot.Guards({ isOpen: {}, isEven: { count: Schema.Int }, isForgotten: {} })
    const machine = Machine.make({ name: "m", state: S, event: E, guards, initial: S.A({ count: 0 }) })
      .on(S.A, E.Go, S.B, ({ state, guards }) => (guards.isOpen() && guards.isEven({ count: state.count }) ? S.B(state) : refuse("no")))
      .on(S.B, E.Back, S.A, { guard: ({ state }) => Number.isInteger(state.count), guardName: "isWhole" })
      .on(S.B, E.Go, S.C, { guard: ({ state }) => state.count > 3 })
    const built = machine.build({ isOpen: () => true, isEven: ({ count }) => count % 2 === 0, isForgotten: () => true })
    const found = explore(built).constantGuards
    expect(found.map(({ guard, answer }) => [guard, answer])).toEqual([
      ["isOpen", true],
      ["isForgotten", undefined],
      ["isWhole of B × Back", true],
    ])
    expect(explore(machine).constantGuards.map(({ guard }) => guard)).toEqual(["isWhole of B × Back"])
  })

  it("slots that are used and not declared, which diagrams do not show", () => {
    const report = explore(Order)
    expect(report.undeclaredSlots).toEqual([
      { where: "Paid × Ship", slots: ["inStock", "notifyWarehouse"] },
      { where: "enter of Paid", slots: ["chargeCard"] },
    ])
    expect(formatReport(report)).toContain("– Slots used but not declared\n    Paid × Ship: inStock, notifyWarehouse\n")
  })

  it("what cannot be generated is not explored, and is reported as such", () => {
    const Odd = State({ Start: {}, Held: { handle: Schema.declare((_): _ is symbol => false) } })
    const machine = Machine.make({ name: "odd", state: Odd, event: E, initial: Odd.Start() })
      .on(Odd.Start, E.Go, Odd.Held, () => Odd.Held({ handle: Symbol("handle") }))
      .on(Odd.Held, E.Back, Odd.Start)
    const report = explore(machine)
    expect(report.notExplored.map(({ what }) => what)).toEqual(["state Held"])
    expect(report.unreachable).toEqual([])
    expect(targetsOf(report, "Held", "Back")).toEqual(["Start"])
  })

  it("events about the same thing as the state they come to", () => {
    const Doc = State({ Draft: { id: Schema.String }, Signed: { id: Schema.String } })
    const Sign = Event({ Sign: { id: Schema.String } })
    const machine = Machine.make({ name: "document", state: Doc, event: Sign, initial: Doc.Draft({ id: "d-1" }) })
      .on(Doc.Draft, Sign.Sign, Doc.Signed, { guard: ({ state, event }) => state.id === event.id, guardName: "isSame" })
      .final(Doc.Signed)
    const report = explore(machine)
    expect([problemsIn(report), report.constantGuards]).toEqual([0, []])
  })

  it("a start that fails, without giving up on the others", () => {
    const machine = Machine.make({
      name: "picky",
      state: S,
      event: E,
      initial: (count: number) => {
        if (count < 0) throw new Error("negative")
        return S.A({ count })
      },
    })
    const { notExplored, unreachable } = explore(machine, { starts: [-1, 1] })
    expect(notExplored).toEqual([{ what: "start 1", why: "initial failed: negative" }])
    expect(unreachable.map(({ state }) => state)).toEqual(["B", "C"])
  })

  it("a start whose state does not fit its schema", () => {
    const machine = Machine.make({ name: "m", state: S, event: E, initial: S.A }).on(S.A, E.Go, S.B)
    expect(explore(machine, { starts: [{ count: "one" } as never] }).throwing).toMatchObject([
      { state: "A", event: "(start)", phase: "initial", reached: true },
    ])
  })

  it("nothing that would need effects to run", () => {
    let ran = 0
    const effects = Slot.Effects({ mail: {} })
    const machine = Machine.make({ name: "m", state: S, event: E, effects, initial: S.A({ count: 0 }) })
      .on(S.A, E.Go, S.B, ({ state, effects }) => {
        effects.mail()
        return S.B(state)
      })
      .enter(S.B, () => Effect.sync(() => ran++))
      .spawn(S.B, () => Effect.sync(() => ran++))
      .build({ mail: () => Effect.sync(() => void ran++) })
    explore(machine)
    expect(ran).toBe(0)
  })
})

describe("the report as text", () => {
  it("gives the verdict first, then what to do", () => {
    const S = State({ A: { pin: State.sensitive(Schema.String) }, B: {}, C: {} })
    const E = Event({ Go: {}, Never: {} })
    const machine = Machine.make({ name: "vault", state: S, event: E, initial: S.A({ pin: "0000" }) }).on(S.A, E.Go, [S.B, stay], () => {
      throw new Error("jammed")
    })
    expect(formatReport(explore(machine, { samples: 5, rounds: 2 }))).toMatchInlineSnapshot(`
      "vault (version 1): 7 problems found, 2 hints
      14 decisions made; repeat them with { seed: 1 }

      ✗ Functions that throw
          A × Go: decide failed 13 times: jammed
            on A {"pin":"•••"} × Go {}
            reached from the start
        Handle these values, or narrow the schemas so that they cannot occur.

      ✗ States never reached from the start
          B: declared transitions lead there, but none was taken
          C: no declared transition leads there
        Add a transition that leads there, remove the state, or pass { starts } it is reached from.

      ✗ States that cannot be left and are not final
          A: ways out are declared, but none was taken
          B: nothing leads out
          C: nothing leads out
        Add a way out, or declare the state final.

      ✗ Events no state handles
          Never
        Add a transition, or remove the event.

      ? Targets declared but never produced
          A × Go → B
          A × Go → (stay)
        Remove the target, or check what the decision depends on: generated values may never produce it.
      "
    `)
  })
})
