import { Machine } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { vi } from "vitest"
import { assign, initialTransition, setup, transition } from "xstate"
import { fromXState } from "../src/index.ts"

type Letter = { type: "a" } | { type: "b" } | { type: "c" } | { type: "d" } | { type: "e" } | { type: "f" }

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
    // An assign is a function: it is called every time, and what it leads to is not confused with a move.
    send("b", "b")
    expect(working).toHaveBeenCalledTimes(6)
    expect(state).toMatchObject({ _tag: "idle", context: { n: 2 } })
    send("a")
    expect(working).toHaveBeenCalledTimes(6)
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

  const chart = everything()
  const Chart = fromXState(chart)

  it.prop(
    "lead where XState leads, whatever was sent before",
    { types: Schema.Array(Schema.Literals(["a", "b", "c", "d", "e", "f"])) },
    ({ types }) => {
      let [snapshot] = initialTransition(chart)
      let state = begun(Chart)
      for (const type of types) {
        ;[snapshot] = transition(chart, snapshot, { type })
        state = after(Chart, state, type)
        expect(JSON.stringify(state.value)).toBe(JSON.stringify(snapshot.value))
        expect(state).toMatchObject({ context: snapshot.context, status: snapshot.status })
      }
    },
    { arbitrary: { runs: 300 } },
  )
})
