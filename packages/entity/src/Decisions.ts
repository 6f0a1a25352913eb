/**
 * The pure decisions of the machine that a workflow is compiled to, on events and criteria. A decision does not run processors with
 * effects: the state records that they are pending, the work of the state runs them after the commit, and sends their result as an
 * event.
 */
import { refuse } from "@detent/machine"
import type { EntityError } from "./EntityError.ts"
import type { FailedEvent, ProcessedEvent, TransitionInput } from "./EntityEvent.ts"
import type { AnyState, Pending } from "./EntityState.ts"
import { type Ask, type EntityCheck, firstUnmet, type Judge, makeJudge, type Verdict } from "./Judge.ts"
import { type Plan, type PlannedTransition, pendingTransition, type StatePlan } from "./Plan.ts"

/** The input of a decision. */
export interface Context<E = unknown> {
  readonly state: AnyState
  readonly event: E
  readonly at: number
  readonly guards: { readonly [criterion: string]: ((parameters: { readonly entity: object }) => boolean) | undefined }
}

/** More automatic transitions with effects in a row count as endless. The machine limits those without effects. */
const chainLimit = 1000

/** The value of `tried` when every automatic transition has been tried. */
const allTried = Number.MAX_SAFE_INTEGER

type Refusal = ReturnType<typeof refuse>

export class Decisions {
  readonly #plan: Plan
  readonly #check: EntityCheck
  readonly #judge: Judge
  /** The verdict of `isDue`, which `automatic` reuses: the machine calls both with the same context. */
  #due: { readonly context: Context; readonly verdict: Verdict } | undefined = undefined

  constructor(plan: Plan, check: EntityCheck) {
    this.#plan = plan
    this.#check = check
    this.#judge = makeJudge(check)
  }

  /** A manual transition is requested. */
  manual(transition: PlannedTransition, context: Context<TransitionInput<object>>): AnyState | Refusal {
    const { state, event, at } = context
    const { patch, argument } = event
    // A second request while the transition runs is refused.
    if (state.pending?.transition === transition.name) return refuse(`${transition.name} is running already`)
    const entity = patch === undefined ? state.entity : { ...state.entity, ...patch }
    const problem = patch === undefined ? undefined : this.#check(entity)
    if (problem !== undefined) return refuse(`the patch does not fit: ${problem}`)
    const verdict = this.#judge(transition, entity, asking(context), { at, argument, error: undefined })
    switch (verdict._tag) {
      case "Unmet":
        return refuse(`${verdict.criterion} does not hold`)
      case "Failed":
        return this.#giveUp(context, state, transition, errorOf(transition, verdict, at))
      case "Taken":
        return entered(state, transition.to, verdict.entity)
      case "Work": {
        const input = { ...(patch === undefined ? {} : { patch }), ...(argument === undefined ? {} : { argument }) }
        return marked(state, started(without(state, "error", "chain"), transition, input))
      }
    }
  }

  /** Changes the entity. The automatic transitions of its state are then tried again. */
  update({ state, event }: Context<{ readonly patch: object }>): AnyState | Refusal {
    const entity = { ...state.entity, ...event.patch }
    const problem = this.#check(entity)
    if (problem !== undefined) return refuse(`the patch does not fit: ${problem}`)
    const changed = { ...without(state, "tried", "chain"), entity }
    const { pending } = state
    return pending === undefined ? changed : { ...changed, pending: { ...pending, updates: { ...pending.updates, ...event.patch } } }
  }

  /** Whether an automatic transition is taken now. */
  isDue(transition: PlannedTransition, position: number, context: Context): boolean {
    const { state, at } = context
    if (state.pending !== undefined || (state.tried ?? 0) > position) return false
    const verdict = this.#judge(transition, state.entity, asking(context), { at, argument: undefined, error: undefined })
    this.#due = verdict._tag === "Unmet" ? undefined : { context, verdict }
    return this.#due !== undefined
  }

  /** The state that a due automatic transition leads to. */
  automatic(transition: PlannedTransition, context: Context): AnyState {
    const { state, at } = context
    // A replay does not call `isDue`: the journal records that the transition was taken, so all its criteria held.
    const verdict =
      this.#due?.context === context
        ? this.#due.verdict
        : this.#judge(transition, state.entity, () => true, { at, argument: undefined, error: undefined })
    this.#due = undefined
    switch (verdict._tag) {
      case "Taken":
        return stepped(state, transition.to, verdict.entity)
      case "Failed":
        return this.#giveUp(context, state, transition, errorOf(transition, verdict, at))
      case "Work": {
        const chain = (state.chain ?? 0) + 1
        if (chain <= chainLimit) return { ...started(without(state, "error"), transition, {}), chain }
        const message = `${chain} automatic transitions in a row: they do not end; let a criterion stop them`
        return { ...state, error: { transition: transition.name, message, attempts: 0, at }, tried: allTried }
      }
      case "Unmet":
        throw new Error(`${transition.name} was taken without being due`)
    }
  }

  /** The processors are done: checks criteria that apply afterwards, and stores the draft. */
  processed(context: Context<ProcessedEvent>): AnyState | Refusal {
    const { state, event, at } = context
    const { pending } = state
    if (pending?.run !== event.run) return overRun(event.run)
    const here = this.#plan.states.get(state._tag)
    const transition = pendingTransition(here, pending)
    if (here === undefined || transition === undefined) return removed(state, pending, at)
    const entity = { ...event.entity, ...pending.updates }
    const criterion = transition.criteriaAfter ? firstUnmet(transition, entity, asking(context)) : undefined
    if (criterion !== undefined) return unmet(state, pending, here, transition, criterion, at)
    const isAutomatic = pending.arrived === true ? !transition.manual && pending.error === undefined : here.automatic.includes(transition)
    const reached = isAutomatic ? stepped(state, transition.to, entity) : entered(state, transition.to, entity)
    return marked(state, pending.error === undefined ? reached : { ...reached, error: pending.error })
  }

  /** A processor failed: records the error and, after the last attempt, takes the failure transition. */
  failed(context: Context<FailedEvent>): AnyState | Refusal {
    const { state, event, at } = context
    const { pending } = state
    if (pending?.run !== event.run) return overRun(event.run)
    const transition = pendingTransition(this.#plan.states.get(state._tag), pending)
    if (transition === undefined) return removed(state, pending, at)
    const { processor, message, cause, attempts, last } = event
    const known = { ...(processor === "" ? {} : { processor }), ...(cause === undefined ? {} : { cause }) }
    const error: EntityError = { transition: transition.name, ...known, message, attempts, at }
    if (!last) return { ...state, error }
    const rested = without(state, "pending")
    if (pending.error === undefined) return this.#giveUp(context, rested, transition, error, pending.updates !== undefined)
    return { ...rested, error: alsoFailed(pending.error, transition, message) }
  }

  /** The state without the mark `entering`. */
  reentered(state: AnyState): AnyState {
    return without(state, "entering")
  }

  /** The transition has failed permanently. Automatic transitions are not tried again until the entity changes. */
  #giveUp(context: Context, state: AnyState, transition: PlannedTransition, error: EntityError, changed = false): AnyState {
    const here = this.#plan.states.get(state._tag)
    const failure = here?.failure
    const wasTaken = here?.automatic.includes(transition) === true || here?.arriving.get(transition.name) === transition
    const isOver = !changed && wasTaken
    const rested = { ...state, error, ...(isOver ? { tried: allTried } : {}) }
    if (failure === undefined || failure === transition) return rested
    const verdict = this.#judge(failure, state.entity, asking(context), { at: context.at, argument: undefined, error })
    switch (verdict._tag) {
      case "Unmet":
      case "Failed":
        return rested
      case "Taken":
        return { ...entered(state, failure.to, verdict.entity), error }
      case "Work":
        return marked(state, started(rested, failure, { error }))
    }
  }
}

/** Criteria are guards of the machine: their answers are recorded with the event, and a replay uses the recorded answers. */
const asking = (context: Context): Ask => {
  let guards: Context["guards"] | undefined
  return (criterion, entity) => {
    guards ??= context.guards
    return guards[criterion]?.({ entity }) === true
  }
}

const errorOf = (transition: PlannedTransition, failed: Extract<Verdict, { readonly _tag: "Failed" }>, at: number): EntityError => ({
  transition: transition.name,
  processor: failed.processor,
  message: failed.message,
  attempts: 1,
  at,
})

const overRun = (run: number): Refusal => refuse(`run ${run} of its processors has ended`)

/** The failure transition failed too: the entity keeps the first error, with the second message added. */
const alsoFailed = (error: EntityError, { name }: PlannedTransition, message: string): EntityError => ({
  ...error,
  message: `${error.message}; then ${name} failed as well: ${message}`,
})

/** Drops the draft. If the entity has not changed meanwhile, only the automatic transitions after this one are tried. */
const unmet = (
  state: AnyState,
  pending: Pending<object>,
  here: StatePlan,
  transition: PlannedTransition,
  criterion: string,
  at: number,
): AnyState => {
  const message = `${criterion} does not hold for the result of the processors`
  const error: EntityError =
    pending.error === undefined
      ? { transition: transition.name, criterion, message, attempts: 0, at }
      : alsoFailed(pending.error, transition, message)
  const rested = { ...without(state, "pending"), error }
  const position = here.automatic.indexOf(transition)
  return position < 0 || pending.updates !== undefined ? rested : { ...rested, tried: position + 1 }
}

/** The workflow no longer has the pending transition: the transitions of the new definition are tried. */
const removed = (state: AnyState, pending: Pending<object>, at: number): AnyState => {
  const message = `${state._tag} no longer has the transition ${pending.transition}`
  return { ...without(state, "pending", "tried"), error: { transition: pending.transition, message, attempts: 0, at } }
}

// The states that decisions lead to, with their bookkeeping. Fields that do not apply are absent.

/** The state after a manual transition. */
export const entered = (state: AnyState, to: string, entity: object): AnyState =>
  marked(state, state.runs === undefined ? { _tag: to, entity } : { _tag: to, entity, runs: state.runs })

/** The state after an automatic transition, which continues the chain of automatic transitions. */
export const stepped = (state: AnyState, to: string, entity: object): AnyState => {
  const { runs, chain } = state
  if (runs === undefined) return { _tag: to, entity }
  return chain === undefined ? { _tag: to, entity, runs } : { _tag: to, entity, runs, chain }
}

/** Marks a state that is its own target, so that the machine enters it again instead of staying. */
export const marked = (from: AnyState, to: AnyState): AnyState => (from._tag === to._tag ? { ...to, entering: true } : to)

/** The state in which the processors of a transition run: the current state, or the target of the transition. */
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
