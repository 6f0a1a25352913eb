/**
 * How a handler ends the execution of a command. Success completes it; a failure, a defect or a time-out is retried by the
 * retry policy. A handler that knows more ends with one of these:
 *
 * ```ts
 * if (yield* warehouse.wasNotified(orderId)) return yield* CommandResult.alreadyExecuted()
 * ```
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { durationMillis } from "../decision/Timeout.ts"
import { failed, Verdict } from "./Command.ts"

export { CommandFailed } from "./Command.ts"

/** The work was done before: the command is skipped, and no event follows from it. */
export const alreadyExecuted = (reason = "already executed"): Effect.Effect<never> =>
  Effect.die(new Verdict({ _tag: "AlreadyExecuted", reason }))

/** The command failed, and a retry will not help. A value of the slot's failure schema reaches `onFailure` as it is. */
export const failForGood = (error: unknown): Effect.Effect<never> => Effect.die(new Verdict(failed(error, false)))

/**
 * The command failed, and is retried after this delay instead of the policy's. The failure counts as an attempt. An invalid or
 * infinite delay is a defect, which the policy retries.
 */
export const retryAfter = (delay: Duration.Input, reason: unknown = "the handler asked for a later retry"): Effect.Effect<never> =>
  Effect.suspend(() => {
    const millis = durationMillis(delay)
    if (millis === Number.POSITIVE_INFINITY) throw new RangeError("retryAfter would wait forever; use failForGood")
    return Effect.die(new Verdict({ ...failed(reason, true), afterMillis: Math.max(0, millis) }))
  })
