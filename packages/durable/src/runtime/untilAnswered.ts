/** Repeats a request to a failing store, at most 2 seconds apart, until it answers. For callers that cannot continue without the answer. */

import { LockingFailed, PersistenceFailed, SequenceConflict } from "@detent/machine"
import { retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

export const untilAnsweredBackoff = Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")])

const isUnanswered = (error: unknown): error is PersistenceFailed => error instanceof PersistenceFailed

export function untilAnswered<A>(effect: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A>
export function untilAnswered<A, E>(effect: Effect.Effect<A, PersistenceFailed | E>): Effect.Effect<A, E>
export function untilAnswered<A, E>(effect: Effect.Effect<A, PersistenceFailed | E>): Effect.Effect<A, E> {
  return Effect.catch(retryFailed(effect, { schedule: untilAnsweredBackoff, while: isUnanswered }), (error) =>
    isUnanswered(error) ? Effect.die(error) : Effect.fail(error),
  )
}

/** Whether an event failed because of the store, a lock or another node, and was neither accepted nor refused. */
export const isTransient = (result: unknown): boolean =>
  result instanceof PersistenceFailed || result instanceof LockingFailed || result instanceof SequenceConflict
