/**
 * How often a command that failed is retried, and the delays between attempts. Plain data, so that it can be shown and tested.
 * With N attempts the command runs N times.
 *
 * ```ts
 * RetryPolicy.exponential({ initialDelay: "1 second", maxDelay: "5 minutes", maxAttempts: 5 })
 * ```
 */
import type * as Duration from "effect/Duration"
import { durationMillis } from "../decision/Timeout.ts"
import { describe } from "../error/MachineError.ts"
import { DefinitionError } from "../schema/DefinitionError.ts"

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

/** No retry: the command runs once. */
export const none: RetryPolicy = { _tag: "None" }

/** The same delay before every attempt but the first. */
export const fixed = ({ delay, maxAttempts }: { readonly delay: Duration.Input; readonly maxAttempts: number }): RetryPolicy => {
  checkAttempts(maxAttempts)
  return { _tag: "Fixed", delayMillis: millisOf("delay", delay), maxAttempts }
}

export interface ExponentialOptions {
  /** Delay before the second attempt. Default: 1 second. */
  readonly initialDelay?: Duration.Input
  /** The longest delay. Default: 5 minutes. */
  readonly maxDelay?: Duration.Input
  /** Each delay is the previous one times this. Default: 2. */
  readonly multiplier?: number
  /** Shortens each delay at random by up to this share, so that commands that failed together are not retried together. Default: 0. */
  readonly jitter?: number
  /** How often it runs at most. Default: 5. */
  readonly maxAttempts?: number
}

/** Exponential backoff: each delay is longer than the one before, up to a limit. */
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
 * Milliseconds until the next attempt, after `attempts` have failed; undefined when none remains. `random`, between 0 and 1,
 * is the source of the jitter.
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
  return Number.isFinite(millis) && millis >= 0 ? millis : refuse(`a ${what} of ${millis} ms`, "use a finite time of 0 or more")
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

/**
 * The policy of commands, steps and timers where none is given: 36 attempts in about a day. The second follows after
 * 1 second; each delay is twice the one before, up to an hour, and up to a tenth shorter at random.
 */
export const standard: RetryPolicy = exponential({ maxDelay: "1 hour", jitter: 0.1, maxAttempts: 36 })

/** A policy in words, such as "36 attempts in about 1 day, with pauses of 1 second to 1 hour". */
export const summary = (policy: RetryPolicy): string => {
  const attempts = maxAttempts(policy)
  if (attempts === 1) return "1 attempt"
  const pauses = Array.from({ length: attempts - 1 }, (_, index) => delayAfter(policy, index + 1, 0) ?? 0)
  const total = roughly(pauses.reduce((sum, pause) => sum + pause, 0))
  const [first, last] = [roughly(Math.min(...pauses)), roughly(Math.max(...pauses))]
  return `${attempts} attempts in about ${total}, with pauses of ${first === last ? first : `${first} to ${last}`}`
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const

/** The time in its largest unit of which there is at least one, rounded. */
const roughly = (millis: number): string => {
  const [unit, size] = units.find(([, each]) => millis >= each) ?? (["millisecond", 1] as const)
  const count = Math.round(millis / size)
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}
