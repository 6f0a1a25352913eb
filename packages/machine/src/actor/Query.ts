/**
 * A query is a question whose decision stays and only answers. It changes nothing, so that it is not journaled, and final states
 * answer it too.
 */
import { decide } from "../decide/Decide.ts"
import type { Taken } from "../decide/Decision.ts"
import { eventProblem } from "../define/Machine.ts"
import type { Tagged } from "../schema/Variant.ts"
import type { ActorState } from "./ActorState.ts"

/** Whether a decision that answers does nothing else. */
export const isQuery = ({ _tag, from, state, answer, requests, sends, hooks }: Taken<Tagged, Tagged>): boolean =>
  answer !== undefined && _tag === "Stay" && state === from && requests.length === 0 && sends.length === 0 && hooks.length === 0

/** The decision on a query in a final state; undefined where the actor is in none, or the event is no query. */
export const queryAtEnd = (
  { compiled, currentState, environment, ending }: ActorState,
  event: Tagged,
): Taken<Tagged, Tagged> | undefined => {
  if (ending?._tag !== "Final" || eventProblem(compiled, event) !== undefined) return undefined
  const decision = decide(compiled, currentState, event, Math.floor(environment.clock.currentTimeMillisUnsafe()))
  return decision._tag === "Stay" && isQuery(decision) ? decision : undefined
}
