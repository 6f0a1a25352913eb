/** Repeats an operation that failed because of a lost connection or a conflict in the database, for a moment. */

import { retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** 20, 40, 80, 160 and 320 ms: longer than a new connection takes. */
const patience = { schedule: Schedule.exponential("20 millis", 2), times: 5 }

/**
 * A repeated attempt must find out which part is already stored. It is also repeated after a unique violation: an earlier attempt was
 * stored after the later one had checked.
 */
export const retryTransient = <A, E, R>(attempt: (isRepeated: boolean) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let attempts = 0
    return retryFailed(
      Effect.suspend(() => attempt(attempts++ > 0)),
      { ...patience, while: (error) => isTransient(error) || (attempts > 1 && isRepetition(error)) },
    )
  })

/** Without lock timeouts: the caller has waited as long as the database is configured to. */
const transient = new Set(["ConnectionError", "DeadlockError", "SerializationError"])

/** Includes connections and servers that are shut down from outside, which the driver does not classify. */
export const isTransient = (error: unknown): error is SqlError => {
  if (!isSqlError(error)) return false
  const { _tag, cause } = error.reason
  return transient.has(_tag) || (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(08|57P)/.test(cause.code))
}

const isRepetition = (error: unknown): boolean => isSqlError(error) && error.reason._tag === "UniqueViolation"
