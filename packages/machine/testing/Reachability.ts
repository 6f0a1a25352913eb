/** Which states can be reached according to the declarations alone. */

import { eventLabel, timeoutEvent } from "../src/decision/Timeout.ts"
import type { Compiled, Transition } from "../src/define/Compile.ts"

export interface DeclaredEdge {
  readonly from: string
  /** The event's tag, `(name)` for a timeout, `(always)` for an automatic transition. */
  readonly event: string
  readonly transition: Transition
  readonly kind: "event" | "timeout" | "always"
}

/** All transitions out of a state: on events, timeouts and automatic ones. */
export const edgesFrom = (compiled: Compiled, from: string): ReadonlyArray<DeclaredEdge> => {
  const node = compiled.nodes.get(from)
  if (node === undefined) return []
  return [
    ...[...node.on].flatMap(([event, first]) => chainOf(first).map((transition) => ({ from, event, transition, kind: "event" as const }))),
    ...[...node.timeouts].map(([name, transition]) => ({
      from,
      event: eventLabel(timeoutEvent(name)),
      transition,
      kind: "timeout" as const,
    })),
    ...node.always.map((transition) => ({ from, event: "(always)", transition, kind: "always" as const })),
  ]
}

/** A transition and the transitions that it falls through to. */
const chainOf = (transition: Transition): ReadonlyArray<Transition> =>
  transition.next === undefined ? [transition] : [transition, ...chainOf(transition.next)]

export interface Hop {
  readonly event: string
  readonly to: string
}

/** The shortest paths from the given states to every state they can reach. The path to a given state itself is empty. */
export const declaredWays = (compiled: Compiled, from: Iterable<string>): ReadonlyMap<string, ReadonlyArray<Hop>> => {
  const ways = new Map<string, ReadonlyArray<Hop>>([...from].map((tag) => [tag, []]))
  // Iteration of a map includes entries added meanwhile, in the order of insertion: breadth first.
  for (const [tag, way] of ways) {
    for (const { event, transition } of edgesFrom(compiled, tag)) {
      for (const to of [...transition.targets.keys(), ...transition.histories.flatMap(({ states }) => states)]) {
        if (!ways.has(to)) ways.set(to, [...way, { event, to }])
      }
    }
  }
  return ways
}
