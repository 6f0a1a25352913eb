/**
 * The path of a trace through a machine, as single hops: a diagram checks for each of its edges whether it was taken. Automatic
 * transitions are hops of their own, without an event.
 */
import type { Trace, TraceStep } from "../actor/Trace.ts"
import { type TargetBlueprint, type TransitionBlueprint, timeoutLabel } from "../contract/Blueprint.ts"
import { isOwnEvent } from "../decision/Timeout.ts"

interface Hop {
  readonly from: string
  readonly event: string | undefined
  readonly target: TargetBlueprint
}

export type Mark = "current" | "visited" | undefined

export interface Path {
  readonly mark: (state: string) => Mark
  /** Whether the transition was taken to this target. A fallback serves every state but those in `handledBy`. */
  readonly took: (transition: TransitionBlueprint, target: TargetBlueprint, handledBy?: ReadonlySet<string>) => boolean
}

/** Without a trace nothing is marked. */
export const none: Path = { mark: () => undefined, took: () => false }

export const make = (trace: Trace): Path => {
  const hops = trace.steps.flatMap((step) => hopsOf(step, trace.stopped))
  const visited = new Set([trace.initial, ...trace.steps.flatMap(statesOf)])
  const current = new Set(trace.active ?? [trace.current])
  return {
    mark: (state) => (current.has(state) ? "current" : visited.has(state) ? "visited" : undefined),
    took: (transition, target, handledBy) =>
      hops.some(
        (hop) =>
          (handledBy === undefined ? hop.from === transition.from : !handledBy.has(hop.from)) &&
          isCause(hop, transition) &&
          (isSameTarget(hop.target, target) || isUpdate(hop, transition, target)),
      ),
  }
}

const statesOf = ({ from, through, to, active }: TraceStep): ReadonlyArray<string> =>
  active === undefined ? [from, ...through, to] : [...active.from, ...active.to]

const hopsOf = (step: TraceStep, stopped: string | undefined): ReadonlyArray<Hop> => {
  if (step.active !== undefined) return hopsBetween(step, step.active)
  if (step.outcome === "Stay") return [{ from: step.from, event: step.event, target: { _tag: "Stay" } }]
  const states = [step.from, ...step.through]
  const targets: ReadonlyArray<TargetBlueprint> = [
    ...step.through.map((state) => ({ _tag: "State" as const, state })),
    step.outcome === "Stop" ? { _tag: "Stop", reason: stopped } : { _tag: "State", state: step.to },
  ]
  return targets.map((target, index) => ({ from: states[index] ?? step.from, event: index === 0 ? step.event : undefined, target }))
}

/** With several active states, any may have led to any: of these hops, only those with an edge in the diagram are drawn. */
const hopsBetween = ({ event }: TraceStep, active: NonNullable<TraceStep["active"]>): ReadonlyArray<Hop> =>
  active.from.flatMap((from) => [
    { from, event, target: { _tag: "Stay" as const } },
    ...active.to.map((state) => ({ from, event, target: { _tag: "State" as const, state } })),
  ])

/** New data in the same state: the transition leads to the state it is in, and the state is not left. */
const isUpdate = ({ from, target: taken }: Hop, transition: TransitionBlueprint, target: TargetBlueprint): boolean =>
  taken._tag === "Stay" && target._tag === "State" && target.state === from && !(transition._tag === "Event" && transition.reenter)

/** In a machine of another notation, an event of the machine's own matches any labelled transition with the same ends. */
const isCause = ({ event }: Hop, transition: TransitionBlueprint): boolean =>
  event === eventOf(transition) ||
  // The name in the journal from before the timeout belonged to the group.
  (transition._tag === "Timeout" && transition.group !== undefined && event === `(${transition.name})`) ||
  (transition.label !== undefined && event !== undefined && isOwnEvent(event))

const eventOf = (transition: TransitionBlueprint): string | undefined => {
  switch (transition._tag) {
    case "Event":
    case "Postpone":
      return transition.event
    case "Timeout":
      return timeoutLabel(transition)
    case "Always":
      return undefined
  }
}

/** Whether the step was a timeout rather than an event. */
export const isTimeout = (step: TraceStep): boolean => step.label === undefined && step.event.startsWith("(") && step.event.endsWith(")")

const isSameTarget = (taken: TargetBlueprint, drawn: TargetBlueprint): boolean => {
  if (taken._tag === "State" && drawn._tag === "State")
    return taken.state === drawn.state || drawn.history?.states.includes(taken.state) === true
  // A reason computed by the decision is not in the blueprint.
  if (taken._tag === "Stop" && drawn._tag === "Stop") return drawn.reason === undefined || drawn.reason === taken.reason
  return taken._tag === drawn._tag
}
