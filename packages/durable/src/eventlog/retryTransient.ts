/** Goes on when the database did not answer or undid something because of others: for a moment, then it tells. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"

/** 20, 40, 80, 160 and 320 ms: longer than a connection takes to be made anew, shorter than anybody likes to wait. */
const patience = { schedule: Schedule.exponential("20 millis", 2), times: 5 }

/**
 * What is tried is told whether it was before: then it cannot know what of it is stored already, and has to look. A row that
 * turns up twice is such a case: the first attempt was stored between the look and the second.
 */
export const insisting = <A, E, R>(attempt: (isRepeated: boolean) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let attempts = 0
    return Effect.retry(
      Effect.suspend(() => attempt(attempts++ > 0)),
      { ...patience, while: (error) => isPassing(error) || (attempts > 1 && isRepetition(error)) },
    )
  })

/** Not the wait for a lock: who waited for it as long as the database was told to has waited enough. */
const passing = new Set(["ConnectionError", "DeadlockError", "SerializationError"])

/** Besides those: a connection or a server that is ended from outside, which the driver does not classify. */
export const isPassing = (error: unknown): error is SqlError => {
  if (!isSqlError(error)) return false
  const { _tag, cause } = error.reason
  return passing.has(_tag) || (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^(08|57P)/.test(cause.code))
}

const isRepetition = (error: unknown): boolean => isSqlError(error) && error.reason._tag === "UniqueViolation"
