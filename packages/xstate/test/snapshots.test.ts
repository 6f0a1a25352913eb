import { Machine } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import { vi } from "vitest"
import { setup } from "xstate"
import { fromXState } from "../src/index.ts"

type Go = { type: "go" }

/** From `a`, one event leads to the target and from there back. */
const leadingTo = (target: "b" | "c") =>
  setup({ types: { events: {} as Go } }).createMachine({
    id: "turns",
    initial: "a",
    states: { a: { on: { go: target } }, b: { on: { go: "a" } }, c: { on: { go: "a" } } },
  })

const begun = <S, E>(machine: Machine.Definition<S, E, void, never>): S => {
  const beginning = Machine.begin(machine, undefined)
  if (beginning._tag === "Refused") throw beginning.error
  return beginning.state
}

const after = <S, E>(machine: Machine.Definition<S, E, void, never>, state: S): S => {
  const decision = Machine.decide(machine, state, { type: "go", _tag: "go" } as never)
  if (decision._tag !== "Goto") throw new Error(decision._tag)
  return decision.state
}

describe("the snapshot of XState behind a state", () => {
  it("is restored once for a state that was stored, and never for one that was decided", () => {
    const chart = leadingTo("b")
    const restoring = vi.spyOn(chart, "resolveState")
    const Turns = fromXState(chart)
    const decided = after(Turns, after(Turns, begun(Turns)))
    after(Turns, decided)
    expect(restoring).not.toHaveBeenCalled()
    const stored: typeof decided = JSON.parse(JSON.stringify(decided))
    after(Turns, after(Turns, stored))
    after(Turns, stored)
    expect(restoring).toHaveBeenCalledTimes(1)
  })

  it("is not part of the state: keys, copies, comparisons and JSON are those of the data", () => {
    const Turns = fromXState(leadingTo("b"))
    const state = after(Turns, begun(Turns))
    const data = { _tag: "b", value: "b", context: {}, status: "active" }
    expect(Reflect.ownKeys(state)).toEqual(Object.keys(data))
    expect(state).toStrictEqual(data)
    expect({ ...state }).toStrictEqual(data)
    expect(structuredClone(state)).toStrictEqual(data)
    expect(JSON.stringify(state)).toBe(JSON.stringify(data))
  })

  it("is that of the chart that decides, also where a state comes from another chart", () => {
    const First = fromXState(leadingTo("b"))
    const Second = fromXState(leadingTo("c"))
    const state = begun(First)
    expect(after(First, state)).toMatchObject({ value: "b" })
    expect(after(Second, state)).toMatchObject({ value: "c" })
    expect(after(First, state)).toMatchObject({ value: "b" })
  })
})
