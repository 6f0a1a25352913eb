import { Event, Machine, refuse, State, stay } from "@detent/machine"
import { Dot, Mermaid, Model, Svg } from "@detent/machine/diagram"
import { explore, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { finalOutcome } from "../src/internal.ts"

const S = State({ Open: { count: Schema.Int }, Busy: { count: Schema.Int }, Done: {}, Failed: {}, Lost: {} })
const E = Event({ Add: { by: Schema.Int }, Finish: {}, Fail: {}, Lose: {}, Switch: {} })
const counter = Machine.make({ name: "counter", state: S, event: E, initial: S.Open({ count: 0 }) })

describe("a final state of failure", () => {
  const machine = counter
    .on(S.Open, E.Finish, S.Done)
    .on(S.Open, E.Fail, S.Failed)
    .on(S.Open, E.Lose, S.Lost)
    .final(S.Done)
    .final([S.Failed, S.Lost], { outcome: "failure" })

  it("is final like any other, and known as a failure", () => {
    expect(simulate(machine, undefined, [E.Fail()]).status).toBe("final")
    expect(["Done", "Failed", "Lost", "Open"].map((tag) => finalOutcome(machine, tag))).toEqual([
      undefined,
      "failure",
      "failure",
      undefined,
    ])
    expect(machine.blueprint.states.flatMap(({ tag, outcome }) => (outcome === undefined ? [] : [tag]))).toEqual(["Failed", "Lost"])
  })

  it.effect("is drawn differently, and is in the model for other tools", () =>
    Effect.gen(function* () {
      expect(Mermaid.stateDiagram(machine)).toContain("class Failed,Lost failure")
      expect(Mermaid.flowchart(machine)).toContain("class Failed,Lost failure")
      expect(Dot.structure(machine)).toMatch(/Failed.*color="#b3261e"/)
      expect(yield* Svg.render(machine)).toContain("#b3261e")
      expect((yield* Model.parse(Model.json(machine))).states).toEqual(machine.blueprint.states)
    }),
  )

  it("refuses other options", () => {
    expect(() => counter.final(S.Done, { outcome: "success" as "failure" })).toThrow('the only one is { outcome: "failure" }')
  })
})

describe("a transition that keeps each of several states", () => {
  const add = counter.on(
    [S.Open, S.Busy],
    E.Add,
    [S.Open, S.Busy, stay],
    ({ state, event }) => (event.by === 0 ? stay : { ...state, count: state.count + event.by }),
    { sameState: true },
  )
  const machine = add.on(S.Open, E.Switch, S.Busy).on(S.Busy, E.Finish, S.Done).final(S.Done)

  it("leads to no other state in blueprint and diagram", () => {
    const targets = machine.blueprint.transitions.filter((one) => one._tag === "Event" && one.event === "Add").map(({ targets }) => targets)
    expect(targets).toEqual([
      [{ _tag: "State", state: "Open" }, { _tag: "Stay" }],
      [{ _tag: "State", state: "Busy" }, { _tag: "Stay" }],
    ])
    expect(Mermaid.stateDiagram(machine)).not.toMatch(/-->.*Add/)
  })

  it("is explored without targets that are never produced", () => {
    expect(explore(machine).neverProduced).toEqual([])
  })

  it("refuses a decision that returns another one of them", () => {
    const wrong = counter.on([S.Open, S.Busy], E.Add, [S.Open, S.Busy], () => S.Busy({ count: 1 }), { sameState: true })
    const { refusals, state } = simulate(wrong, undefined, [E.Add({ by: 1 })])
    expect(state._tag).toBe("Open")
    expect(refusals[0]?.error.message).toContain("the decision returned Busy, declared are Open")
  })

  it("must name each of its states as a target", () => {
    expect(() => counter.on([S.Open, S.Busy], E.Add, S.Open, ({ state }) => S.Open(state), { sameState: true })).toThrow(
      "Busy stays in the same state, which is not among its targets",
    )
  })
})

describe("an automatic transition", () => {
  it("may refuse the event that led to it, and then nothing changes", () => {
    const machine = counter
      .on(S.Open, E.Add, S.Busy, ({ state, event }) => S.Busy({ count: state.count + event.by }))
      .always(
        S.Busy,
        ({ state }) => state.count > 5,
        S.Done,
        ({ state }) => (state.count > 10 ? refuse(`${state.count} is too much`) : S.Done()),
      )
      .final(S.Done)
    const refused = simulate(machine, undefined, [E.Add({ by: 11 })])
    expect(refused.state).toEqual(S.Open({ count: 0 }))
    expect(refused.refusals[0]?.error.message).toContain("state Open refused event Add: 11 is too much")
    expect(simulate(machine, undefined, [E.Add({ by: 6 })]).state).toEqual(S.Done())
  })
})

describe("a timeout", () => {
  it("is drawn with its name", () => {
    const machine = counter.timeout(S.Open, "3 days", S.Lost, { name: "reminder" }).timeout(S.Busy, "1 hour", S.Lost)
    const drawn = Mermaid.stateDiagram(machine)
    expect(drawn).toContain("after 3 days (reminder)")
    expect(drawn).toContain("after 1 hour\n")
  })
})
