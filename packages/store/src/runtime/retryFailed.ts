/**
 * As `Effect.retry`, for requests that nearly always succeed. The state of a schedule takes 3 kB, so it is made only after the first
 * failure.
 */
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"

export interface RetryOptions<E> {
  readonly schedule: Schedule.Schedule<unknown>
  readonly times?: number
  readonly while?: (error: E) => boolean
}

export const retryFailed = <A, E, R>(effect: Effect.Effect<A, E, R>, options: RetryOptions<E>): Effect.Effect<A, E, R> =>
  Effect.catch(effect, (error) => {
    if (options.while?.(error) === false) return Effect.fail(error)
    let isFirst = true
    // The first attempt has failed: the schedule begins with its error.
    const again = Effect.suspend((): Effect.Effect<A, E, R> => {
      if (!isFirst) return effect
      isFirst = false
      return Effect.fail(error)
    })
    return Effect.retry(again, options)
  })
