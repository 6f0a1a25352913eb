/**
 * How often a command that failed is tried again, and how long that waits. Data, so that it can be shown and tested; with N
 * attempts it runs N times.
 *
 * ```ts
 * RetryPolicy.exponential({ initialDelay: "1 second", maxDelay: "5 minutes", maxAttempts: 5 })
 * ```
 */
import type * as Duration from "effect/Duration"
import { durationMillis } from "../decide/Timeout.ts"
import { DefinitionError, describe } from "../MachineError.ts"

export type RetryPolicy =
  | { readonly _tag: "None" }
  | { readonly _tag: "Fixed"; readonly delayMillis: number; readonly maxAttempts: number }
  | {
      readonly _tag: "Exponential"
      readonly initialMillis: number
      readonly maxMillis: number
      readonly multiplier: number
      readonly jitter: number
      readonly maxAttempts: number
    }

/** It runs once. */
export const none: RetryPolicy = { _tag: "None" }

/** The same pause before every attempt but the first. */
export const fixed = ({ delay, maxAttempts }: { readonly delay: Duration.Input; readonly maxAttempts: number }): RetryPolicy => {
  checkAttempts(maxAttempts)
  return { _tag: "Fixed", delayMillis: millisOf("delay", delay), maxAttempts }
}

export interface ExponentialOptions {
  /** Before the second attempt; 1 second unless told. */
  readonly initialDelay?: Duration.Input
  /** No pause is longer; 5 minutes unless told. */
  readonly maxDelay?: Duration.Input
  /** Each pause is so many times the one before; 2 unless told. */
  readonly multiplier?: number
  /** Up to this share of a pause is left out at random, so that those who failed together do not come back together; 0 unless told. */
  readonly jitter?: number
  /** How often it runs at most; 5 unless told. */
  readonly maxAttempts?: number
}

/** Pauses that grow. */
export const exponential = (options: ExponentialOptions = {}): RetryPolicy => {
  const { initialDelay = "1 second", maxDelay = "5 minutes", multiplier = 2, jitter = 0, maxAttempts = 5 } = options
  checkAttempts(maxAttempts)
  if (!(multiplier >= 1 && Number.isFinite(multiplier))) refuse(`a multiplier of ${multiplier}`, "use 1 or more")
  if (!(jitter >= 0 && jitter <= 1)) refuse(`a jitter of ${jitter}`, "use a share between 0 and 1")
  return {
    _tag: "Exponential",
    initialMillis: millisOf("initial delay", initialDelay),
    maxMillis: millisOf("longest delay", maxDelay),
    multiplier,
    jitter,
    maxAttempts,
  }
}

/** How often a command runs at most. */
export const maxAttempts = (policy: RetryPolicy): number => (policy._tag === "None" ? 1 : policy.maxAttempts)

/**
 * Milliseconds until the next attempt, once so many have failed; undefined when none is left. `random`, between 0 and 1, is
 * what jitter is made from.
 */
export const delayAfter = (policy: RetryPolicy, attempts: number, random: number): number | undefined => {
  if (attempts >= maxAttempts(policy)) return undefined
  switch (policy._tag) {
    case "None":
      return undefined
    case "Fixed":
      return policy.delayMillis
    case "Exponential": {
      const { initialMillis, maxMillis, multiplier, jitter } = policy
      const pause = Math.min(maxMillis, initialMillis * multiplier ** (Math.max(1, attempts) - 1))
      return pause * (1 - jitter * random)
    }
  }
}

const checkAttempts = (attempts: number) => {
  if (!Number.isSafeInteger(attempts) || attempts < 1) refuse(`${attempts} attempts`, "use a whole number from 1 on")
}

const millisOf = (what: string, duration: Duration.Input): number => {
  const millis = millisOrProblem(duration)
  if (typeof millis === "string") return refuse(`${what}: ${millis}`, 'write it like "5 seconds"')
  return Number.isFinite(millis) && millis >= 0 ? millis : refuse(`a ${what} of ${millis} ms`, "use a time that passes")
}

const millisOrProblem = (duration: Duration.Input): number | string => {
  try {
    return durationMillis(duration)
  } catch (cause) {
    return describe(cause)
  }
}

const refuse = (problem: string, nextStep: string): never => {
  throw new DefinitionError({ problem: `a retry policy with ${problem}`, nextStep })
}
