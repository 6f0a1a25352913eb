/**
 * Bounds the automatic steps of one transition. XState follows `always` transitions and raised events until none is left, in one
 * synchronous call: a cycle of them would never return, and nothing else would run in the process.
 */
import * as Schema from "effect/Schema"
import type { AnyActorScope, AnyMachineSnapshot, StateValue } from "xstate"

/** More steps than a chart takes that ends. They take about a tenth of a second. */
const mostSteps = 10_000

/** Of so many latest steps the states are kept, in order to name the cycle. */
const keptSteps = 100

/** A transition whose `always` transitions or raised events form a cycle. Nothing of it is stored. */
export class EndlessTransition extends Schema.TaggedError<EndlessTransition>()("EndlessTransition", {
  chart: Schema.String,
  /** The states of the cycle, in the order in which the chart enters them. */
  states: Schema.Array(Schema.String),
  steps: Schema.Int,
}) {
  override get message() {
    const cycle = [...this.states, ...this.states.slice(0, 1)].join(" → ")
    return `a transition of chart ${this.chart} does not end: after ${this.steps} automatic steps it is still in the cycle ${cycle}; give one of the always transitions or raised events of these states a guard that ends the cycle`
  }
}

type System = AnyActorScope["system"]

interface Inspected {
  readonly type: string
  readonly snapshot?: AnyMachineSnapshot
}

/** A system that counts the steps of one transition and throws `EndlessTransition` after too many. XState reports each step to it. */
export const boundedSystem = (system: System, chart: string): System => {
  let steps = 0
  const latest: Array<string> = []
  const bounded = Object.create(system) as { _sendInspectionEvent: (event: Inspected) => void }
  bounded._sendInspectionEvent = ({ type, snapshot }) => {
    if (type !== "@xstate.microstep" || ++steps <= mostSteps - keptSteps) return
    latest.push(nameOf(snapshot?.value ?? {}))
    if (steps >= mostSteps) throw new EndlessTransition({ chart, states: cycleIn(latest), steps })
  }
  return bounded as unknown as System
}

/** The states from the last visit of the last state on. */
const cycleIn = (visited: ReadonlyArray<string>): ReadonlyArray<string> => {
  const last = visited.length - 1
  const before = visited.lastIndexOf(visited[last] ?? "", last - 1)
  return visited.slice(Math.max(before, 0), last)
}

/** As in `Open.Paying`; of parallel regions `Open.(Paying & Packing)`. */
const nameOf = (value: StateValue): string => {
  if (typeof value === "string") return value
  const names = Object.entries(value).map(([name, inner]) => {
    const below = inner === undefined ? "" : nameOf(inner)
    return below === "" ? name : `${name}.${below}`
  })
  return names.length > 1 ? `(${names.join(" & ")})` : names.join("")
}
