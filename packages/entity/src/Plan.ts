/** A definition with its names resolved: the transitions of each state. */
import type * as Schema from "effect/Schema"
import type { Processor } from "./Processor.ts"
import { anyState, endsOf, processorName, type RetryPolicy, sourcesOf, type WorkflowDefinition } from "./WorkflowDefinition.ts"

/** A registry without its types. */
export interface UntypedRegistry {
  readonly entity: Schema.Struct<Schema.Struct.Fields>
  readonly processors: { readonly [name: string]: Processor<object> }
  readonly criteria: { readonly [name: string]: (entity: object, context: { readonly at: number }) => boolean }
}

/** One processor of one transition. */
export interface Step {
  readonly name: string
  readonly processor: Processor<object>
  readonly retry: RetryPolicy
}

export interface PlannedTransition {
  readonly name: string
  readonly to: string
  readonly manual: boolean
  readonly criteria: ReadonlyArray<string>
  readonly criteriaAfter: boolean
  readonly steps: ReadonlyArray<Step>
  /** Whether one of its processors has effects. Then all of them run after a separate commit. */
  readonly effectful: boolean
  /** Whether the entity is in the target while the processors run. */
  readonly inTarget: boolean
}

/** The transitions of a state. */
export interface StatePlan {
  readonly state: string
  /** In the order in which they are tried. */
  readonly automatic: ReadonlyArray<PlannedTransition>
  readonly manual: ReadonlyArray<PlannedTransition>
  readonly failure: PlannedTransition | undefined
  /** Whether processors may run in the state. */
  readonly works: boolean
  /** All transitions that leave the state, by name. */
  readonly byName: ReadonlyMap<string, PlannedTransition>
  /** Transitions to this state whose processors run in it. */
  readonly arriving: ReadonlyMap<string, PlannedTransition>
}

export interface Plan {
  readonly definition: WorkflowDefinition
  readonly registry: UntypedRegistry
  readonly ends: ReadonlySet<string>
  /** The states that are not ends. */
  readonly states: ReadonlyMap<string, StatePlan>
  readonly transitions: ReadonlyArray<PlannedTransition>
}

/** Plans a checked definition. */
export const plan = (definition: WorkflowDefinition, registry: UntypedRegistry): Plan => {
  const ends = endsOf(definition)
  const transitions = definition.transitions.map((transition) => {
    const { name, to, manual = false, criteria = [], criteriaAfter = false, processors = [], processIn } = transition
    const steps = processors.map((reference): Step => {
      const processor = registry.processors[processorName(reference)] as Processor<object>
      const registered = processor._tag === "Effect" ? processor.retry : { attempts: 1 }
      return { name: processorName(reference), processor, retry: typeof reference === "string" ? registered : reference.retry }
    })
    const effectful = steps.some((step) => step.processor._tag === "Effect")
    return { name, to, manual, criteria, criteriaAfter, steps, effectful, inTarget: effectful && processIn === "target" }
  })
  const leaving = transitionsByState(definition, transitions)
  const arriving = Map.groupBy(
    transitions.filter((one) => one.inTarget),
    (one) => one.to,
  )
  const states = definition.states.filter((state) => !ends.has(state))
  return {
    definition,
    registry,
    ends,
    transitions,
    states: new Map(states.map((state) => [state, statePlan(state, leaving(state), arriving.get(state) ?? [], definition.failure)])),
  }
}

const statePlan = (
  state: string,
  leaving: ReadonlyArray<PlannedTransition>,
  arriving: ReadonlyArray<PlannedTransition>,
  failureName: string | undefined,
): StatePlan => {
  const failure = leaving.find((one) => one.name === failureName)
  // A transition that an older definition began here may still be pending, so both count.
  const works = arriving.length > 0 || leaving.some((one) => one.effectful)
  const byName = new Map(leaving.map((one) => [one.name, one]))
  return {
    state,
    automatic: leaving.filter((one) => !one.manual && one !== failure),
    manual: leaving.filter((one) => one.manual),
    failure,
    works,
    byName,
    arriving: new Map(arriving.map((one) => [one.name, one])),
  }
}

/** The transition whose processors run in a state. Undefined where the workflow no longer has it. */
export const pendingTransition = (
  here: StatePlan | undefined,
  { transition, arrived }: { readonly transition: string; readonly arrived?: true },
): PlannedTransition | undefined => (arrived === true ? here?.arriving : here?.byName)?.get(transition)

/** Transitions of a state, in the order of the definition. One that names the state replaces one of the same name from any state. */
const transitionsByState = ({ transitions, failure }: WorkflowDefinition, planned: ReadonlyArray<PlannedTransition>) => {
  const named = new Map<string, Array<number>>()
  const wild: Array<number> = []
  for (const [index, transition] of transitions.entries()) {
    const sources = sourcesOf(transition)
    if (sources === anyState) wild.push(index)
    else {
      for (const source of sources) {
        const known = named.get(source)
        if (known === undefined) named.set(source, [index])
        else known.push(index)
      }
    }
  }
  return (state: string): ReadonlyArray<PlannedTransition> => {
    const own = named.get(state) ?? []
    const ownNames = new Set(own.map((index) => transitions[index]?.name))
    const others = wild.filter((index) => {
      const one = transitions[index]
      // An automatic transition from any state is excluded in its own target, where it would repeat endlessly.
      const circular = one?.to === state && one.manual !== true && one.name !== failure
      return !circular && !ownNames.has(one?.name)
    })
    return [...own, ...others].sort((a, b) => a - b).flatMap((index) => planned[index] ?? [])
  }
}
