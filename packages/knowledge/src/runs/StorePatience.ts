/**
 * A database that is away for a moment, because it starts anew or a connection was cut, is asked again: nothing a run has found is
 * given up for that. One that stays away is given up after a while, and what was under way can be resumed.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { RunStoreFailed } from "./RunFailed.ts"

/** Longer than a database takes to start, or its standby to take over. */
export const defaultPatience: Duration.Input = "30 seconds"

/** Soon at first, and every two seconds in the end. */
export const patienceOf = (limit: Duration.Input) =>
  Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")]).pipe(Schedule.upTo({ duration: limit }))

/** However many callers wait, an outage is logged once at its start and once at its end. */
export const storePatience = (limit: Duration.Input) => {
  const schedule = patienceOf(limit)
  const goesOn = `the database is asked again for up to ${Duration.format(Duration.fromInputUnsafe(limit))}`
  let isAway = false

  const away = ({ problem, retryable }: RunStoreFailed) =>
    Effect.suspend(() => {
      if (isAway || !retryable) return Effect.void
      isAway = true
      return Effect.logWarning(`${problem}; ${goesOn}`)
    })

  const back = Effect.suspend(() => {
    if (!isAway) return Effect.void
    isAway = false
    return Effect.logInfo("the database of runs is there again")
  })

  return <A, R>(effect: Effect.Effect<A, RunStoreFailed, R>): Effect.Effect<A, RunStoreFailed, R> =>
    effect.pipe(
      Effect.tapError(away),
      Effect.retry({ schedule, while: ({ retryable }) => retryable }),
      Effect.tap(() => back),
    )
}
