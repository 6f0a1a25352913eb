/** The arithmetic of retry policies. */
import * as Duration from "effect/Duration"
import type { RetryPolicy } from "./WorkflowDefinition.ts"

/** The time between a failed attempt, counted from 1, and the next one. */
export const delayAfter = (policy: RetryPolicy, attempt: number): Duration.Duration => {
  const first = millisOf(policy.delay ?? "1 second")
  const grown = policy.backoff === "exponential" ? first * (policy.factor ?? 2) ** (attempt - 1) : first
  const longest = policy.longest === undefined ? Number.MAX_SAFE_INTEGER : millisOf(policy.longest)
  return Duration.millis(Math.min(grown, longest))
}

// The definition's schema has checked the text.
const millisOf = (given: string | number): number => Duration.toMillis(Duration.fromInputUnsafe(given as Duration.Input))
