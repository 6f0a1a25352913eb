/** Commands that failed for good: to be inspected, and then retried or skipped. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { type CommandFilter, type CommandPage, Commands, type StoredCommand } from "../store/Commands.ts"

type DeadFilter = Omit<CommandFilter, "status">
type Answer<A> = Effect.Effect<A, PersistenceFailed, Commands>

/** In the order they were enqueued, in pages; `after` is `next` of the page before. */
export const list = (filter: DeadFilter = {}, limit = 100, after?: number): Answer<CommandPage> =>
  Effect.flatMap(Commands, (commands) => commands.list({ ...filter, status: "failed" }, limit, after))

/** Keys are unique within their queue: without one, the operation is about all commands with the key. */
export interface KeyScope {
  readonly queue?: string
}

/** A command by its key, in any status; without a queue, the first that was enqueued. */
export const get = (key: string, { queue }: KeyScope = {}): Answer<Option.Option<StoredCommand>> =>
  Effect.flatMap(Commands, (commands) => commands.get(key, queue))

/** Retries one, with all its attempts. False where it has not failed. */
export const retry = (key: string, scope: KeyScope = {}): Answer<boolean> => Effect.map(retrying({ ...scope, key }), (count) => count > 0)

/** Retries all that match. Returns how many; with `dryRun` it only counts them. */
export const retryAll = (filter: DeadFilter, options: { readonly dryRun?: boolean } = {}): Answer<number> =>
  options.dryRun === true ? Effect.flatMap(Commands, (commands) => commands.countRetries(filter)) : retrying(filter)

/** Skips a failed or pending command, for a reason that is kept with it. False where it is being executed, or over. */
export const skip = (key: string, reason: string, { queue }: KeyScope = {}): Answer<boolean> =>
  Effect.flatMap(Commands, (commands) =>
    Effect.tap(commands.skip(key, reason, queue), (isSkipped) =>
      Effect.sync(() => {
        // An ordered command may have waited for this one.
        if (isSkipped) commands.signal.announce(undefined)
      }),
    ),
  )

const retrying = (filter: DeadFilter & { readonly key?: string }): Answer<number> =>
  Effect.flatMap(Commands, (commands) =>
    Effect.tap(commands.retry(filter), (count) =>
      Effect.sync(() => {
        if (count > 0) commands.signal.announce(filter.queue === undefined ? undefined : new Set([filter.queue]))
      }),
    ),
  )
