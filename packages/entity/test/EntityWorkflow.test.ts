import { InvalidTransition, Machine, TransitionRefused } from "@detent/machine"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { EntityWorkflow } from "../src/index.ts"
import { makeRegistry, ticket, World } from "./tickets.ts"

const registry = makeRegistry(new World())

describe("automatic transitions", () => {
  const Sorting = EntityWorkflow.make(registry, {
    name: "sorting",
    states: ["new", "small", "big", "other", "checked"],
    initial: "new",
    transitions: [
      { name: "is_small", from: "new", to: "small", criteria: ["small"], processors: ["a", "b"] },
      { name: "is_big", from: "new", to: "big", criteria: ["big"] },
      { name: "check", from: "small", to: "checked", processors: ["double"] },
      { name: "divert", from: ["new", "big"], to: "other", manual: true },
    ],
  })

  it("are taken in one decision with the start, and the path has them", () => {
    const { path, state } = simulate(Sorting.machine, ticket(3), [])
    expect(path).toEqual(["new", "small", "checked"])
    expect(state).toEqual({ _tag: "checked", entity: { amount: 6, log: ["a", "b"] } })
  })

  it("leave the entity where it is as long as no criteria hold", () => {
    expect(simulate(Sorting.machine, ticket(50), []).path).toEqual(["new"])
  })

  it("are tried again whenever the entity changes", () => {
    const { path } = simulate(Sorting.machine, ticket(50), [Sorting.update({ amount: 60 }), Sorting.update({ amount: 100 })])
    expect(path).toEqual(["new", "big"])
  })

  it("are tried in the order of the definition: the first whose criteria hold is taken", () => {
    const both = (first: "x" | "y") =>
      EntityWorkflow.make(registry, {
        name: "order",
        states: ["new", "x", "y"],
        initial: "new",
        transitions: [
          { name: "first", from: "new", to: first, criteria: ["small"] },
          { name: "second", from: "new", to: first === "x" ? "y" : "x", criteria: ["small"] },
        ],
      })
    expect(simulate(both("x").machine, ticket(), []).path).toEqual(["new", "x"])
    expect(simulate(both("y").machine, ticket(), []).path).toEqual(["new", "y"])
  })

  it("that never end are refused with the path, and nothing has changed", () => {
    const Loop = EntityWorkflow.make(registry, {
      name: "loop",
      states: ["rest", "x", "y"],
      initial: "rest",
      transitions: [
        { name: "go", from: "rest", to: "x", manual: true },
        { name: "forth", from: "x", to: "y", criteria: ["small"] },
        { name: "back", from: "y", to: "x", criteria: ["small"] },
      ],
    })
    const decision = Machine.decide(Loop.machine, { _tag: "rest", entity: ticket() }, Loop.trigger("go"))
    expect(decision).toMatchObject({ _tag: "Refused", error: { _tag: "EndlessTransition", path: ["x", "y", "x", "y", "x", "y"] } })
  })

  it("from any state leave alone the state they lead to, and ends", () => {
    const Watched = EntityWorkflow.make(registry, {
      name: "watched",
      states: ["open", "alarm", "closed"],
      initial: "open",
      ends: ["closed"],
      transitions: [
        { name: "raise", from: "*", to: "alarm", criteria: ["big"], processors: ["a"] },
        { name: "close", from: "*", to: "closed", manual: true },
      ],
    })
    const { path, state, refusals } = simulate(Watched.machine, ticket(), [
      Watched.update({ amount: 100 }),
      Watched.trigger("close"),
      Watched.update({ amount: 1 }),
    ])
    expect(path).toEqual(["open", "alarm", "closed"])
    expect(state.entity.log).toEqual(["a"])
    expect(refusals.map(({ error }) => error._tag)).toEqual(["MachineStopped"])
  })
})

describe("criteria", () => {
  it("judge the entity before the processors, or with criteriaAfter what the processors made", () => {
    const make = (criteriaAfter: boolean) =>
      EntityWorkflow.make(registry, {
        name: "judged",
        states: ["new", "done"],
        initial: "new",
        transitions: [{ name: "go", from: "new", to: "done", criteria: ["big"], criteriaAfter, processors: ["double"] }],
      })
    expect(simulate(make(false).machine, ticket(60), []).path).toEqual(["new"])
    const after = simulate(make(true).machine, ticket(60), [])
    expect(after.state).toEqual({ _tag: "done", entity: { amount: 120, log: [] } })
    expect(simulate(make(true).machine, ticket(40), []).state).toEqual({ _tag: "new", entity: ticket(40) })
  })

  it("get the recorded time, and a replay uses their recorded answers", () => {
    const Late = EntityWorkflow.make(registry, {
      name: "late",
      states: ["new", "done"],
      initial: "new",
      transitions: [{ name: "go", from: "new", to: "done", criteria: ["late"] }],
    })
    const state = { _tag: "new", entity: ticket() } as const
    expect(Machine.decide(Late.machine, state, Late.update({}), 999)).toMatchObject({ _tag: "Stay", guardAnswers: [false] })
    expect(Machine.decide(Late.machine, state, Late.update({}), 1000)).toMatchObject({ _tag: "Goto", guardAnswers: [true] })
    expect(Machine.replay(Late.machine, state, Late.update({}), 999, [true])).toMatchObject({ _tag: "Goto" })
  })
})

describe("manual transitions", () => {
  const Desk = EntityWorkflow.make(registry, {
    name: "desk",
    states: ["new", "open", "closed"],
    initial: "new",
    transitions: [
      { name: "open", from: "new", to: "open", manual: true, processors: ["argue"] },
      { name: "raise", from: "new", to: "open", manual: true, criteria: ["big"] },
      { name: "again", from: "open", to: "open", manual: true, processors: ["a"] },
      { name: "close", from: "open", to: "closed", manual: true },
    ],
  })
  const fresh = { _tag: "new", entity: ticket(5) } as const

  it("are refused from another state, with those that are accepted named", () => {
    const decision = Machine.decide(Desk.machine, fresh, Desk.trigger("close"))
    expect(decision).toMatchObject({ _tag: "Refused", error: { accepted: ["open", "raise", "update"] } })
    expect((decision as { readonly error: Error }).error).toBeInstanceOf(InvalidTransition)
  })

  it("are refused where a criterion does not hold, which is named", () => {
    const decision = Machine.decide(Desk.machine, fresh, Desk.trigger("raise"))
    expect(decision).toMatchObject({ error: { reason: "big does not hold" } })
    expect((decision as { readonly error: Error }).error).toBeInstanceOf(TransitionRefused)
  })

  it("start from the entity with the patch they bring, and hand their argument to processors", () => {
    const raised = Machine.decide(Desk.machine, fresh, Desk.trigger("raise", { patch: { amount: 200 } }))
    expect(raised).toMatchObject({ _tag: "Goto", state: { _tag: "open", entity: { amount: 200 } } })
    const opened = Machine.decide(Desk.machine, fresh, Desk.trigger("open", { argument: { by: "ada" } }))
    expect(opened).toMatchObject({ state: { entity: { log: ['{"by":"ada"}'] } } })
  })

  it("may lead back to their own state, which is then entered again", () => {
    const decision = Machine.decide(Desk.machine, { _tag: "open", entity: ticket() }, Desk.trigger("again"))
    expect(decision).toMatchObject({ _tag: "Goto", state: { _tag: "open", entity: { amount: 0, log: ["a"] } } })
  })

  it("and updates are checked against the entity's schema", () => {
    const wrong = { amount: "much" } as never
    expect(Machine.checkEvent(Desk.machine, Desk.update(wrong))?.message).toContain("patch.amount: Expected number")
    expect(Machine.checkEvent(Desk.machine, Desk.trigger("open", { patch: wrong }))?._tag).toBe("InvalidEvent")
    expect(Machine.checkEvent(Desk.machine, { _tag: "unheard" })?.message).toContain("open, raise, again, close, update")
  })

  it("prefer the one that names the state to the one from any state", () => {
    const Two = EntityWorkflow.make(registry, {
      name: "two",
      states: ["x", "y", "special", "usual"],
      initial: "x",
      transitions: [
        { name: "go", from: "*", to: "usual", manual: true },
        { name: "go", from: "x", to: "special", manual: true },
        { name: "side", from: "x", to: "y", manual: true },
        { name: "back", from: "y", to: "x", manual: true },
      ],
    })
    expect(simulate(Two.machine, ticket(), [Two.trigger("go")]).path).toEqual(["x", "special"])
    expect(simulate(Two.machine, ticket(), [Two.trigger("side"), Two.trigger("go")]).path).toEqual(["x", "y", "usual"])
  })
})

describe("pure processors", () => {
  it("get the recorded time, so that a replay makes the same", () => {
    const Stamped = EntityWorkflow.make(registry, {
      name: "stamped",
      states: ["new", "done"],
      initial: "new",
      transitions: [{ name: "go", from: "new", to: "done", manual: true, processors: ["stamp"] }],
    })
    const state = { _tag: "new", entity: ticket() } as const
    const decided = Machine.decide(Stamped.machine, state, Stamped.trigger("go"), 77)
    expect(decided).toMatchObject({ state: { entity: { log: ["at 77"] } } })
    expect(Machine.replay(Stamped.machine, state, Stamped.trigger("go"), 77)).toMatchObject({ state: { entity: { log: ["at 77"] } } })
  })

  it.each(["throwing", "garbage", "trap"] as const)("that fail (%s) leave the entity as it was, with the error", (processor) => {
    const Failing = EntityWorkflow.make(registry, {
      name: "failing",
      states: ["new", "done"],
      initial: "new",
      transitions: [{ name: "go", from: "new", to: "done", processors: ["a", processor] }],
    })
    const { state, path } = simulate(Failing.machine, ticket(), [])
    expect(path.at(-1)).toBe("new")
    expect(state.entity).toEqual(ticket())
    expect(state.error).toMatchObject({ transition: "go", processor, attempts: 1 })
    expect(state.error?.message).toMatch(
      { throwing: /^cannot$/, garbage: /not a valid entity.*\n?.*amount/s, trap: /it cannot be read/ }[processor],
    )
  })

  it("that fail are not tried again before the entity changes", () => {
    let runs = 0
    const counting = {
      ...registry,
      processors: {
        once: {
          _tag: "Pure" as const,
          run: () => {
            runs++
            throw new Error("no")
          },
        },
      },
    }
    const Once = EntityWorkflow.make(counting, {
      name: "once",
      states: ["new", "done", "aside"],
      initial: "new",
      transitions: [
        { name: "go", from: "new", to: "done", processors: ["once"] },
        { name: "ask", from: "new", to: "aside", manual: true, criteria: ["never"] },
      ],
    })
    simulate(Once.machine, ticket(), [Once.trigger("ask"), Once.trigger("ask")])
    expect(runs).toBe(1)
    runs = 0
    simulate(Once.machine, ticket(), [Once.update({ amount: 1 })])
    expect(runs).toBe(2)
  })

  it("that fail lead where the failure transition leads, whose processors get the error", () => {
    const Failing = EntityWorkflow.make(registry, {
      name: "failing",
      states: ["new", "done", "failed"],
      initial: "new",
      failure: "fail",
      transitions: [
        { name: "go", from: "new", to: "done", processors: ["a", "throwing"] },
        { name: "fail", from: "*", to: "failed", manual: true, processors: ["explain"] },
        { name: "retry", from: "failed", to: "new", manual: true },
      ],
    })
    const { path, state } = simulate(Failing.machine, ticket(), [])
    expect(path).toEqual(["new", "failed"])
    expect(state.entity).toEqual({ amount: 0, log: [], reason: "throwing: cannot" })
    expect(state.error).toMatchObject({ transition: "go", processor: "throwing" })
    // The first decision of the start and then the same again.
    expect(simulate(Failing.machine, ticket(), [Failing.trigger("retry")]).path).toEqual(["new", "failed", "new", "failed"])
  })
})
