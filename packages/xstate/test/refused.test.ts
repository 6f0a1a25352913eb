import { Engine } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assign, createMachine, enqueueActions, fromPromise, fromTransition, setup, spawnChild } from "xstate"
import { fromXState } from "../src/index.ts"
import { withEngine } from "./support/engine.ts"

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

  it("names in parentheses, which are those of instances", () => {
    const machine = createMachine({ id: "m", initial: "a", states: { a: { on: { "(go)": "(error)" } }, "(error)": {} } })
    const problem = problemOf(() => fromXState(machine))
    expect(problem).toContain("m.(error): names in parentheses are reserved; (go): names in parentheses are reserved")
  })

  it("a machine without a name", () => {
    expect(problemOf(() => fromXState(createMachine({})))).toContain("without an id")
  })

  it("spawnChild of logic without a name, without an implementation, and without an id", () => {
    const work = fromPromise(async () => 1)
    const machine = createMachine({
      id: "m",
      initial: "a",
      states: {
        a: {
          entry: [spawnChild(work, { id: "w" }), spawnChild("missing", { id: "x" })] as never,
          on: { GO: { actions: spawnChild("work") as never } },
        },
      },
    }).provide({ actors: { work } as never })
    const problem = problemOf(() => fromXState(machine))
    expect(problem).toContain("m.a.entry[0]: spawn of logic without a name")
    expect(problem).toContain("m.a.entry[1]: the actor missing has no implementation")
    expect(problem).toContain('m.a.on["GO"].actions[0]: spawn of work without an id')
    expect(problem).toContain("pass { id }")
  })
})

/** As code without types spawns. */
type AnySpawn = (logic: unknown, options?: { readonly id: string }) => unknown

describe("what only shows when a transition is decided refuses that event, and nothing changes", () => {
  const work = fromPromise(async () => 1)
  const machine = setup({
    types: {
      context: {} as { value: unknown },
      events: {} as { type: "inline" } | { type: "spawn" } | { type: "nameless" } | { type: "class" } | { type: "go" },
    },
    actors: { work },
  }).createMachine({
    id: "m",
    context: { value: 0 },
    on: {
      inline: { actions: enqueueActions(({ enqueue }) => enqueue(() => undefined)) },
      spawn: { actions: assign({ value: ({ spawn }) => (spawn as AnySpawn)(work, { id: "w" }) }) },
      nameless: { actions: assign({ value: ({ spawn }) => (spawn as AnySpawn)("work") }) },
      class: { actions: assign({ value: () => ({ since: new Date(0) }) }) },
      go: { actions: assign({ value: 1 }) },
    },
  })

  it.live.each([
    ["inline", "name it in setup({ actions })"],
    ["spawn", "name it in setup({ actors }) and spawn it by that name"],
    ["nameless", "spawn of work without an id; pass { id }"],
    ["class", "context.value.since holds an instance of Date"],
  ] as const)("%s", ([type, problem]) =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const instance = yield* engine.start(fromXState(machine), type)
        const error = yield* Effect.flip(instance.send({ type }))
        expect(`${error.message} ${"cause" in error ? String(error.cause) : ""}`).toContain(problem)
        yield* instance.send({ type: "go" })
        expect((yield* instance.state).context).toEqual({ value: 1 })
        expect(yield* instance.lastSequence).toBe(1)
      }),
    ),
  )

  it.live("a context that an assign changed in place", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const add = ({ context: { list } }: { readonly context: { readonly list: Array<unknown> } }) => {
          list.push(new Date(0))
          return list
        }
        const chart = setup({ types: { context: {} as { list: Array<unknown> }, events: {} as { type: "add" } } }).createMachine({
          id: "changed",
          context: { list: [] },
          on: { add: { actions: assign({ list: add }) } },
        })
        const instance = yield* engine.start(fromXState(chart), "one")
        const error = yield* Effect.flip(instance.send({ type: "add" }))
        expect(`${error.message} ${"cause" in error ? String(error.cause) : ""}`).toContain("its field context holds an instance of Date")
        expect(yield* instance.lastSequence).toBe(0)
      }),
    ),
  )

  it.live("a context that is made at the start is checked then", () =>
    withEngine(
      Effect.gen(function* () {
        const engine = yield* Engine
        const Late = fromXState(createMachine({ id: "late", context: () => ({ close: () => undefined }) }))
        const error = yield* Effect.flip(engine.start(Late, "one"))
        expect(`${error.message} ${"cause" in error ? String(error.cause) : ""}`).toContain("context.close holds a function")
      }),
    ),
  )
})
