import { Machine } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { vi } from "vitest"
import { assign, type EventObject, fromPromise, initialTransition, setup, transition } from "xstate"
import { fromXState, type XStateMachine } from "../src/index.ts"

type Letter = { type: "a" } | { type: "b" } | { type: "c" } | { type: "d" } | { type: "e" } | { type: "f" }

const letters = ["a", "b", "c", "d", "e", "f"] as const

/** Plain moves beside a guard, an assign, regions that end together, and a history state. */
const everything = () =>
  setup({
    types: { context: {} as { n: number }, events: {} as Letter },
    guards: { even: ({ context }) => context.n % 2 === 0 },
  }).createMachine({
    id: "everything",
    context: { n: 0 },
    initial: "idle",
    states: {
      idle: { on: { a: "busy", b: { actions: assign({ n: ({ context }) => context.n + 1 }) }, e: "kept.last" } },
      busy: {
        type: "parallel",
        on: { f: "idle" },
        states: {
          left: {
            initial: "one",
            states: { one: { on: { a: "two", c: "three" } }, two: { on: { b: "one", d: "three" } }, three: { type: "final" } },
          },
          right: { initial: "one", states: { one: { on: { a: "two" } }, two: { on: { a: "one", d: "three" } }, three: { type: "final" } } },
        },
        onDone: { target: "kept", actions: assign({ n: ({ context }) => context.n + 1 }) },
      },
      kept: {
        initial: "x",
        states: { x: { on: { a: "y", d: { guard: "even", target: "z" } } }, y: { on: { b: "x" } }, z: {}, last: { type: "history" } },
        on: { c: "idle", f: "busy" },
      },
    },
  })

const begun = <S, E>(machine: Machine.Definition<S, E, void, never>): S => {
  const beginning = Machine.begin(machine, undefined)
  if (beginning._tag === "Refused") throw beginning.error
  return beginning.state
}

/** The state after an event. */
const after = <S, E>(machine: Machine.Definition<S, E, void, never>, state: S, type: Letter["type"]): S => {
  const decision = Machine.decide(machine, state, { type, _tag: type } as never)
  if (decision._tag !== "Goto" && decision._tag !== "Stay") throw new Error(decision._tag)
  return decision.state
}

describe("transitions that only move", () => {
  it("are worked out by XState once for each event and each combination of active states", () => {
    const chart = everything()
    const working = vi.spyOn(chart, "transition")
    const Chart = fromXState(chart)
    let state = begun(Chart)
    const send = (...types: ReadonlyArray<Letter["type"]>) => {
      for (const type of types) state = after(Chart, state, type)
    }
    send("a", "a", "b", "f")
    expect(working).toHaveBeenCalledTimes(4)
    send("a", "a", "b", "f")
    expect(working).toHaveBeenCalledTimes(4)
    // An assigner is called every time, though XState works the transition out once.
    send("b", "b")
    expect(working).toHaveBeenCalledTimes(5)
    expect(state).toMatchObject({ _tag: "idle", context: { n: 2 } })
    send("a")
    expect(working).toHaveBeenCalledTimes(5)
    expect(state).toMatchObject({ _tag: "busy", context: { n: 2 } })
  })

  it("are left to XState where an inner state has an output", () => {
    let calls = 0
    const chart = setup({ types: { events: {} as Letter } }).createMachine({
      id: "output",
      initial: "outer",
      states: {
        outer: {
          initial: "first",
          states: { first: { on: { a: "last" } }, last: { type: "final", output: () => ++calls } },
          onDone: "next",
        },
        next: { on: { b: "outer" } },
      },
    })
    const Output = fromXState(chart)
    let state = begun(Output)
    for (const type of ["a", "b", "a"] as const) state = after(Output, state, type)
    expect(state).toMatchObject({ _tag: "next" })
    expect(calls).toBe(2)
  })

  it.prop(
    "lead where XState leads, whatever was sent before",
    { types: Schema.Array(Schema.Literals(letters)) },
    ({ types }) => {
      for (const [chart, Chart] of charts) {
        let [snapshot] = initialTransition(chart)
        let state = begun(Chart)
        for (const type of types) {
          ;[snapshot] = transition(chart, snapshot, { type })
          state = after(Chart, state, type)
          expect(JSON.stringify(state.value)).toBe(JSON.stringify(snapshot.value))
          expect(state).toMatchObject({ context: snapshot.context, status: snapshot.status })
        }
      }
    },
    { arbitrary: { runs: 300 } },
  )
})

/** Assigns of states that are left and entered again, in the order of the calls, each with the event that it got. */
const noting = () => {
  const noted = (notes: ReadonlyArray<string>, text: string, event: EventObject) => [...notes.slice(-9), `${text} ${event.type}`]
  const definition = setup({
    types: { context: {} as { notes: ReadonlyArray<string>; n: number }, events: {} as Letter },
    guards: {
      early: ({ context }, { below }: { below: number }) => context.n < below,
      odd: ({ context }) => context.n % 2 === 1,
    },
    actions: { count: assign(({ context }) => ({ n: context.n + 1 })) },
  })
  const note = (text: string) => definition.assign({ notes: ({ context, event }) => noted(context.notes, text, event) })
  return definition.createMachine({
    id: "noting",
    context: { notes: [], n: 0 },
    initial: "outer",
    entry: note("enter root"),
    states: {
      outer: {
        initial: "one",
        entry: note("enter outer"),
        exit: note("leave outer"),
        on: { a: { target: "outer", actions: "count" }, b: { target: "outer", reenter: true }, f: "regions" },
        states: {
          one: {
            entry: [note("enter one"), "count"],
            exit: note("leave one"),
            on: {
              c: [
                { guard: { type: "early", params: { below: 5 } }, target: "two", actions: note("early") },
                { guard: "odd", target: "last" },
                { target: "two", actions: "count" },
              ],
            },
          },
          two: { exit: note("leave two"), on: { c: "one", d: "last", e: { actions: ["count", note("stay")] } } },
          last: { type: "final", entry: note("enter last") },
        },
        onDone: { target: "regions", actions: assign({ notes: ({ context, event }) => noted(context.notes, "done", event) }) },
      },
      regions: {
        type: "parallel",
        on: { f: "outer" },
        states: {
          left: { initial: "one", states: { one: { on: { a: "two" } }, two: { type: "final", entry: note("left is done") } } },
          right: { initial: "one", states: { one: { on: { a: "two", b: { target: "two", actions: "count" } } }, two: { type: "final" } } },
        },
        onDone: { target: "outer", actions: [assign({ notes: ({ context, event }) => noted(context.notes, "both", event) }), "count"] },
      },
    },
  })
}

const charts = [everything(), noting()].map((chart) => [chart, fromXState(chart as never)] as const) as unknown as ReadonlyArray<
  readonly [ReturnType<typeof everything>, XStateMachine<ReturnType<typeof everything>>]
>

describe("known transitions with guards and assigners", () => {
  it("follow the answers that guards give to each event, also where these change by themselves", () => {
    let answer = () => true
    const chart = setup({ types: { events: {} as Letter }, guards: { isOpen: () => answer() } }).createMachine({
      id: "opening",
      initial: "outside",
      states: {
        outside: { on: { a: [{ guard: "isOpen", target: "inside" }, { target: "waiting" }], b: { guard: "isOpen", target: "inside" } } },
        inside: {},
        waiting: {},
      },
    })
    const Opening = fromXState(chart)
    const tagAfter = (type: Letter["type"]) => after(Opening, begun(Opening), type)._tag
    // The first answer selects the transition that is looked for; XState asks again, and takes the other one.
    let asked = 0
    answer = () => asked++ % 2 === 0
    expect(tagAfter("a")).toBe("waiting")
    for (let again = 0; again < 2; again++) {
      answer = () => true
      expect([tagAfter("a"), tagAfter("b")]).toEqual(["inside", "inside"])
      answer = () => false
      expect([tagAfter("a"), tagAfter("b")]).toEqual(["waiting", "outside"])
    }
  })

  it("call assigners that get parameters by XState", () => {
    const chart = setup({
      types: { context: {} as { n: number }, events: {} as Letter },
      actions: { add: assign({ n: ({ context }, { by }: { by: number }) => context.n + by }) },
    }).createMachine({
      id: "parameters",
      context: { n: 1 },
      on: { a: { actions: { type: "add", params: ({ context }) => ({ by: context.n }) } } },
    })
    const Parameters = fromXState(chart)
    let state = begun(Parameters)
    for (let doubled = 0; doubled < 4; doubled++) state = after(Parameters, state, "a")
    expect(state.context).toEqual({ n: 16 })
  })

  it("fail with the error of an assigner, and leave the state as it was", () => {
    const chart = setup({ types: { context: {} as { n: number }, events: {} as Letter } }).createMachine({
      id: "throwing",
      context: { n: 0 },
      on: {
        a: {
          actions: assign({
            n: ({ context }) => {
              if (context.n === 2) throw new Error("two is enough")
              return context.n + 1
            },
          }),
        },
      },
    })
    const Throwing = fromXState(chart)
    let state = begun(Throwing)
    for (let n = 0; n < 2; n++) state = after(Throwing, state, "a")
    const decision = Machine.decide(Throwing, state, { type: "a", _tag: "a" } as never)
    expect(decision).toMatchObject({ _tag: "Refused", error: { cause: { message: "two is enough" } } })
    expect(state.context).toEqual({ n: 2 })
  })

  it("let XState start an actor that an assigner spawns only sometimes", () => {
    const child = fromPromise(async () => 1)
    const chart = setup({
      types: { context: {} as { n: number; child: unknown }, events: {} as Letter },
      actors: { child },
    }).createMachine({
      id: "spawning",
      context: { n: 0, child: null },
      on: {
        a: {
          actions: assign(({ context, spawn }) => ({
            n: context.n + 1,
            child: context.n === 2 ? spawn("child", { id: "third" }) : context.child,
          })),
        },
      },
    })
    const Spawning = fromXState(chart)
    let state = begun(Spawning)
    for (let n = 0; n < 4; n++) state = after(Spawning, state, "a")
    expect(state).toMatchObject({ context: { n: 4, child: { id: "third" } }, children: { third: { src: "child" } } })
    const again = Array.from({ length: 4 }).reduce<typeof state>((last) => after(Spawning, last, "a"), begun(Spawning))
    expect(again).toMatchObject({ context: { n: 4, child: { id: "third" } }, children: { third: { src: "child" } } })
  })
})
