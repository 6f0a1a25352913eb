/** When to try again: only what can succeed, after waits that double, are spread by chance, and are never shorter than asked for. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { ExtractionFailed } from "../ExtractionFailed.ts"

export interface RetryPolicy {
  /** How often a call is made at most. */
  readonly attempts: number
  /** The first wait is at most this long, the next twice that, and so on. */
  readonly firstWait: Duration.Input
  readonly longestWait: Duration.Input
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 5, firstWait: "1 second", longestWait: "1 minute" }

/** The wait after a failed attempt, counted from 1. Half of it is chance, so that callers who failed together part. */
export const waitAfter = (policy: RetryPolicy, attempt: number, chance: number): number => {
  const first = Duration.toMillis(Duration.fromInputUnsafe(policy.firstWait))
  const longest = Duration.toMillis(Duration.fromInputUnsafe(policy.longestWait))
  const whole = Math.min(longest, first * 2 ** (attempt - 1))
  return whole / 2 + (whole / 2) * chance
}

export const retried = <A, R>(call: Effect.Effect<A, ExtractionFailed, R>, policy: RetryPolicy): Effect.Effect<A, ExtractionFailed, R> => {
  const attempt = (number: number): Effect.Effect<A, ExtractionFailed, R> =>
    Effect.catch(call, (error) =>
      Effect.gen(function* () {
        if (!error.retryable || number >= policy.attempts) return yield* error
        const wait = waitAfter(policy, number, yield* Random.next)
        yield* Effect.sleep(Math.max(wait, error.retryAfterMillis ?? 0))
        return yield* attempt(number + 1)
      }),
    )
  return attempt(1)
}
