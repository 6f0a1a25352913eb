/** How a claimed command is executed, whoever knows how: a machine's slot, or the handler of a queue. */
import type { RetryPolicy, SlotSettings } from "@detent/machine"
import { type CommandOutcome, failed, retryDelay } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type { ClaimedCommand, Verdict } from "../store/Commands.ts"
import { problemOf } from "./Problem.ts"

export interface Executable {
  readonly timeoutMillis: number
  readonly maxAttempts: number
  /** Starts something with the services of whoever knows. */
  readonly run: <A>(effect: Effect.Effect<A, never, unknown>) => Fiber.Fiber<A, never>
  readonly execute: Effect.Effect<Verdict, never, unknown>
  /** What follows when it did not come to an end by itself. */
  readonly conclude: (failure: Failure) => Effect.Effect<Verdict, never, unknown>
}

export type Failure = Extract<CommandOutcome, { readonly _tag: "Failed" }>

/** A claimed command, and until when it is surely this worker's. */
export interface Held extends ClaimedCommand {
  validUntil: number
}

/** Undefined where nobody here knows the command. */
export type FindExecutable = (command: Held) => Executable | undefined

type Slot = Parameters<typeof retryDelay>[2]

/** Whether a failed execution is tried again, and when. */
export const verdictOn = (
  failure: Failure,
  settings: Pick<SlotSettings<object, unknown, unknown, { readonly _tag: string }>, "retryable">,
  slot: Slot,
  policy: RetryPolicy.RetryPolicy,
  attempts: number,
): Effect.Effect<Verdict> =>
  Effect.map(Random.next, (random): Verdict => {
    const problem = problemOf(failure, slot)
    const delayMillis = retryDelay(failure, settings, slot, policy, attempts, random)
    return delayMillis === undefined ? { _tag: "Failed", problem } : { _tag: "Retry", problem, delayMillis }
  })

/** It was stopped, and not by its worker: that it did itself. */
export const selfInterrupted: Failure = failed(new Error("it interrupted itself"), true)

export const tookTooLong = (millis: number): Failure => failed(new Error(`it took longer than the ${millis} ms it is given`), true)

/** Whoever had it died each time: of it, or of another that it had claimed with it. */
export const neverEnded = (attempts: number): Failure => {
  const executions = `${attempts} ${attempts === 1 ? "execution" : "executions"}`
  return failed(
    new Error(`${executions} never came to an end, or did not begin before their process was killed: find out, then retry`),
    false,
  )
}
