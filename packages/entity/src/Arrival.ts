/** The states that decisions lead to, with the bookkeeping of each. Fields that do not apply are absent. */
import type { AnyState, Pending } from "./EntityState.ts"
import type { PlannedTransition } from "./Plan.ts"

/** A manual transition has been taken. */
export const entered = (state: AnyState, to: string, entity: object): AnyState =>
  marked(state, state.runs === undefined ? { _tag: to, entity } : { _tag: to, entity, runs: state.runs })

/** An automatic transition has been taken: the chain of automatic transitions continues. */
export const stepped = (state: AnyState, to: string, entity: object): AnyState => {
  const { runs, chain } = state
  if (runs === undefined) return { _tag: to, entity }
  return chain === undefined ? { _tag: to, entity, runs } : { _tag: to, entity, runs, chain }
}

/** Marks a state that was reached from itself to be entered again: the machine would otherwise stay in it. */
export const marked = (from: AnyState, to: AnyState): AnyState => (from._tag === to._tag ? { ...to, entering: true } : to)

/** The processors of a transition are to be run: where the entity is, or in the target of the transition. */
export const started = (
  state: AnyState,
  { name, to, inTarget }: PlannedTransition,
  input: Omit<Pending<object>, "transition" | "run" | "updates" | "arrived">,
): AnyState => {
  const run = (state.runs ?? 0) + 1
  if (!inTarget) return { ...state, runs: run, pending: { transition: name, run, ...input } }
  const { entity, error, chain } = state
  const kept = { ...(error === undefined ? {} : { error }), ...(chain === undefined ? {} : { chain }) }
  return { _tag: to, entity, ...kept, runs: run, pending: { transition: name, run, arrived: true, ...input } }
}

/** The state without some of its bookkeeping. */
export const without = (state: AnyState, ...names: ReadonlyArray<"error" | "pending" | "tried" | "chain" | "entering">): AnyState => {
  if (names.every((name) => state[name] === undefined)) return state
  const left: { -readonly [K in keyof AnyState]: AnyState[K] } = { ...state }
  for (const name of names) delete left[name]
  return left
}
