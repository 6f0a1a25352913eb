/**
 * Assertions on the path of a machine. On failure they throw an Error that shows the path taken; on success they return the
 * simulation, so that a test can check requests and data too.
 */

import type { EventOf } from "../src/contract/MachineType.ts"
import { eventLabel } from "../src/decision/Timeout.ts"
import { compiledOf, initialState } from "../src/Machine.ts"
import { declaredWays } from "./Reachability.ts"
import { type Advance, type SimulateOptions, type Simulation, type SimulationOf, simulate } from "./Simulate.ts"
import type { AnyMachine, StartOf, StateTag } from "./Subject.ts"

/** The machine visits exactly these states, in this order. */
export const assertPath = <M extends AnyMachine>(
  machine: M,
  start: StartOf<M>,
  events: ReadonlyArray<EventOf<M> | Advance>,
  expected: ReadonlyArray<StateTag<M>>,
  options?: SimulateOptions<M>,
): SimulationOf<M> => {
  const simulation = simulate(machine, start, events, options)
  const taken: ReadonlyArray<string> = simulation.path
  const parts = Math.max(taken.length, expected.length)
  const same = Array.from({ length: parts }, (_, index) => taken[index] === expected[index])
  if (!same.includes(false)) return simulation
  const parting = same.indexOf(false)
  const visits = visitsOf(simulation)
  const lines = [
    ...visits.slice(0, parting).map((visit) => `    ${visit}`),
    ...expected.slice(parting).map((tag) => `  - ${tag}`),
    ...visits.slice(parting).map((visit) => `  + ${visit}`),
  ]
  throw new Error([`${machine.name} did not take the expected path (- expected, + taken)`, ...lines, ...endingOf(simulation)].join("\n"))
}

/** The machine visits the state on these events or, without events, its declarations lead there. */
export const assertReaches: {
  <M extends AnyMachine>(machine: M, start: StartOf<M>, state: StateTag<M>): void
  <M extends AnyMachine>(
    machine: M,
    start: StartOf<M>,
    events: ReadonlyArray<EventOf<M> | Advance>,
    state: StateTag<M>,
    options?: SimulateOptions<M>,
  ): SimulationOf<M>
} = <M extends AnyMachine>(machine: M, start: StartOf<M>, ...rest: Rest<M>) => {
  if (!isSimulated(rest)) {
    if (declaredWay(machine, start, rest[0]) !== undefined) return undefined as never
    throw new Error(`${machine.name} cannot reach ${rest[0]} from its start: no declared transitions lead there`)
  }
  const [events, state, options] = rest
  const simulation = simulate(machine, start, events, options)
  if (simulation.path.includes(state)) return simulation
  const lines = [...visitsOf(simulation).map((visit) => `    ${visit}`), `  - ${state}`, ...endingOf(simulation)]
  throw new Error([`${machine.name} did not reach ${state}`, ...lines].join("\n"))
}

/** The machine never enters the state on these events or, without events, no declaration leads there. */
export const assertNeverReaches: typeof assertReaches = <M extends AnyMachine>(machine: M, start: StartOf<M>, ...rest: Rest<M>) => {
  if (!isSimulated(rest)) {
    const way = declaredWay(machine, start, rest[0])
    if (way === undefined) return undefined as never
    throw new Error([`${machine.name} can reach ${rest[0]} by declared transitions`, ...way.map((visit) => `  + ${visit}`)].join("\n"))
  }
  const [events, state, options] = rest
  const simulation = simulate(machine, start, events, options)
  const reached = simulation.path.indexOf(state)
  if (reached < 0) return simulation
  const lines = visitsOf(simulation).map((visit, index) => `  ${index === reached ? "+" : " "} ${visit}`)
  throw new Error([`${machine.name} reached ${state}, which it must not`, ...lines, ...endingOf(simulation)].join("\n"))
}

type Rest<M> =
  | readonly [state: StateTag<M>]
  | readonly [events: ReadonlyArray<EventOf<M> | Advance>, state: StateTag<M>, options?: SimulateOptions<M> | undefined]

const isSimulated = <M>(rest: Rest<M>): rest is Extract<Rest<M>, { readonly 1: unknown }> => Array.isArray(rest[0])

/** How the declarations lead from the start to a state, one line per state; undefined when they do not. */
const declaredWay = <M extends AnyMachine>(machine: M, start: StartOf<M>, state: string): ReadonlyArray<string> | undefined => {
  const compiled = compiledOf(machine)
  const initial = initialState(compiled, start)._tag
  const way = declaredWays(compiled, [initial]).get(state)
  if (way === undefined) return undefined
  return linesOf([initial, ...way.map(({ to }) => to)], [undefined, ...way.map(({ event }) => event)])
}

/** The states visited, one line each, with the event that led there. */
const visitsOf = ({ trace, path }: { readonly trace: Simulation<unknown, unknown>["trace"]; readonly path: ReadonlyArray<string> }) => {
  const entered = trace.steps.flatMap((step) => {
    const states = [...step.through, step.to]
    const moves = step.outcome === "Goto" || step.to !== step.from
    return moves ? states.map((_, index) => (index === 0 ? step.event : "(always)")) : []
  })
  const events = [...path.slice(entered.length).map((_, index) => (index === 0 ? undefined : "(always)")), ...entered]
  return linesOf(path, events)
}

const linesOf = (path: ReadonlyArray<string>, events: ReadonlyArray<string | undefined>): ReadonlyArray<string> => {
  const width = Math.max(...path.map((tag) => tag.length))
  return path.map((tag, index) => (events[index] === undefined ? tag : `${tag.padEnd(width)}    on ${events[index]}`))
}

const endingOf = ({ refusals, postponed, stopped }: Simulation<unknown, unknown>): ReadonlyArray<string> => [
  ...refusals.map(({ event, error }) => `  refused ${eventLabel(event as { readonly _tag: string })}: ${error.message}`),
  ...(postponed.length === 0 ? [] : [`  still postponed: ${postponed.map((event) => eventLabel(event as never)).join(", ")}`]),
  ...(stopped === undefined ? [] : [`  stopped: ${stopped}`]),
]
