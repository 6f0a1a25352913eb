/** The states that decisions lead to, with the bookkeeping that belongs to each. What is left out is not there at all. */
import type { AnyState, Pending } from "./EntityState.ts"
import type { PlannedTransition } from "./Plan.ts"

/** A transition somebody asked for has been taken. */
export const entered = (state: AnyState, to: string, entity: object): AnyState =>
  marked(state, state.runs === undefined ? { _tag: to, entity } : { _tag: to, entity, runs: state.runs })

/** A transition has been taken by itself: the chain of those goes on. */
export const stepped = (state: AnyState, to: string, entity: object): AnyState => {
  const { runs, chain } = state
  if (runs === undefined) return { _tag: to, entity }
  return chain === undefined ? { _tag: to, entity, runs } : { _tag: to, entity, runs, chain }
}

/** The same state again has to be entered anew, which the machine does only where it is told to. */
export const marked = (from: AnyState, to: AnyState): AnyState => (from._tag === to._tag ? { ...to, entering: true } : to)

/** The processors of a transition are to be run. */
export const started = (
  state: AnyState,
  transition: PlannedTransition,
  input: Omit<Pending<object>, "transition" | "run" | "updates">,
): AnyState => {
  const run = (state.runs ?? 0) + 1
  return { ...state, runs: run, pending: { transition: transition.name, run, ...input } }
}

/** The state without some of its bookkeeping. */
export const without = (state: AnyState, ...names: ReadonlyArray<"error" | "pending" | "tried" | "chain" | "entering">): AnyState => {
  if (names.every((name) => state[name] === undefined)) return state
  const left: { -readonly [K in keyof AnyState]: AnyState[K] } = { ...state }
  for (const name of names) delete left[name]
  return left
}
