/**
 * Caches XState's snapshot with a state that was decided or restored in this process: restoring one costs more than most transitions.
 *
 * It is a private field of the state object, so that copies, comparisons and JSON do not see it, and it lives as long as its state. A
 * `WeakMap` does the same, but with an entry for each transition the garbage collector took 23% of the process's time instead of 10%.
 */
import type { AnyMachineSnapshot } from "xstate"
import type { AnyChartState } from "./ChartState.ts"

/** As a constructor it returns the object it is given: a class that extends it adds its private fields to that object. */
function given(object: object) {
  return object
}

class RememberedSnapshot extends (given as unknown as new (object: object) => object) {
  #snapshot: AnyMachineSnapshot

  constructor(state: AnyChartState, snapshot: AnyMachineSnapshot) {
    super(state)
    this.#snapshot = snapshot
  }

  static set(state: AnyChartState, snapshot: AnyMachineSnapshot) {
    if (#snapshot in state) state.#snapshot = snapshot
    else new RememberedSnapshot(state, snapshot)
  }

  static get(state: AnyChartState): AnyMachineSnapshot | undefined {
    return #snapshot in state ? state.#snapshot : undefined
  }
}

/** Returns the state. */
export const remember = (state: AnyChartState, snapshot: AnyMachineSnapshot): AnyChartState => {
  RememberedSnapshot.set(state, snapshot)
  return state
}

/** Undefined for a state that was read from a store. It may be a snapshot of another machine that decided on the same state. */
export const rememberedSnapshot = (state: AnyChartState): AnyMachineSnapshot | undefined => RememberedSnapshot.get(state)
