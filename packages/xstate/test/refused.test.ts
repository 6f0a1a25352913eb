import { describe, expect, it } from "vitest"
import { createMachine, fromTransition, setup } from "xstate"
import { fromXState } from "../src/index.ts"

const problemOf = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error("nothing was refused")
}

describe("what cannot be durable is refused when the machine is given", () => {
  it("an inline action, with its path", () => {
    const machine = createMachine({
      id: "m",
      initial: "a",
      states: { a: { entry: () => undefined, on: { GO: { target: "b", actions: () => undefined } } }, b: {} },
    })
    const problem = problemOf(() => fromXState(machine))
    expect(problem).toContain("m.a.entry[0]")
    expect(problem).toContain('m.a.on["GO"].actions[0]')
    expect(problem).toContain("setup({ actions })")
  })

  it("a function in the context", () => {
    const machine = createMachine({ id: "m", context: { user: { close: () => undefined } } })
    expect(problemOf(() => fromXState(machine))).toContain("context.user.close holds a function")
  })

  it("an instance of a class in the context", () => {
    const machine = createMachine({ id: "m", context: { since: new Date(0) } })
    expect(problemOf(() => fromXState(machine))).toContain("context.since holds an instance of Date")
  })

  it("names without an implementation", () => {
    const machine = createMachine({
      id: "m",
      initial: "a",
      states: { a: { entry: "shout", invoke: { src: "work" }, after: { SOON: "b" }, on: { GO: { guard: "may", target: "b" } } }, b: {} },
    })
    const problem = problemOf(() => fromXState(machine))
    for (const text of ["the action shout", "the actor work", "the delay SOON", "the guard may"]) expect(problem).toContain(text)
  })

  it("logic whose state only its process knows, and actors that are named for a system", () => {
    const machine = setup({ actors: { count: fromTransition((n: number) => n + 1, 0) } }).createMachine({
      id: "m",
      initial: "a",
      states: { a: { invoke: { src: "count", systemId: "counter" } } },
    })
    const problem = problemOf(() => fromXState(machine))
    expect(problem).toContain("actors.count")
    expect(problem).toContain("systemId")
  })

  it("a machine without a name", () => {
    expect(problemOf(() => fromXState(createMachine({})))).toContain("without an id")
  })
})
