/**
 * Results of an async command handler besides success and failure: throws a `CommandResult`.
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

/** The command failed, and a retry will not help. A value of the slot's failure schema reaches `onFailure` as it is. */
export const failForGood = (error: unknown): never => Effect.runSync(CommandResult.failForGood(error))

/** The command failed and is retried after this time instead of the policy's delay. It counts as an attempt. */
export const retryAfter = (delay: Duration.Input, reason?: unknown): never => Effect.runSync(CommandResult.retryAfter(delay, reason))
