/**
 * How an async handler of a command ends where it knows more than success or failure: `CommandResult`, thrown.
 *
 * ```ts
 * if (await warehouse.wasNotified(orderId)) HandlerResult.alreadyExecuted()
 * ```
 */
import { CommandResult } from "@detent/machine"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The work was done before: the command is skipped, and no event follows from it. */
export const alreadyExecuted = (reason?: string): never => Effect.runSync(CommandResult.alreadyExecuted(reason))

/** It failed, and trying again will not help. A value of the slot's failure schema reaches `onFailure` as it is. */
export const failForGood = (error: unknown): never => Effect.runSync(CommandResult.failForGood(error))

/** It failed, and should be tried again after this time instead of the policy's. It counts as an attempt. */
export const retryAfter = (delay: Duration.Input, reason?: unknown): never => Effect.runSync(CommandResult.retryAfter(delay, reason))
