/**
 * A query is a question whose decision stays and only answers. It changes nothing: it is not journaled, and final states
 * answer it too.
 */
import { decide } from "../decide/Decide.ts"
import type { Taken } from "../decision/Decision.ts"
import type { Compiled } from "../define/Compile.ts"
import { eventProblem } from "../Machine.ts"
import type { Tagged } from "../schema/Variant.ts"
import type { ActorState } from "./ActorState.ts"

/** Whether a decision that answers does nothing else. */
export const isQuery = ({ _tag, from, state, answer, requests, sends, hooks, delays }: Taken<Tagged, Tagged>): boolean =>
  answer !== undefined &&
  _tag === "Stay" &&
  state === from &&
  requests.length === 0 &&
  sends.length === 0 &&
  hooks.length === 0 &&
  delays.length === 0

/** The decision on a query; undefined where the event is not a query, or its decision does more than answer. */
export const queryIn = (compiled: Compiled, state: Tagged, event: Tagged, at: number): Taken<Tagged, Tagged> | undefined => {
  try {
    if (eventProblem(compiled, event) !== undefined) return undefined
    const decision = decide(compiled, state, event, at)
    return decision._tag === "Stay" && isQuery(decision) ? decision : undefined
  } catch {
    // A check or a getter of the event itself threw: it is not a query.
    return undefined
  }
}

/** The same for an actor in a final state; undefined in other states. */
export const queryAtEnd = (
  { compiled, currentState, environment, ending }: ActorState,
  event: Tagged,
): Taken<Tagged, Tagged> | undefined =>
  ending?._tag === "Final" ? queryIn(compiled, currentState, event, Math.floor(environment.clock.currentTimeMillisUnsafe())) : undefined
