/** Removes commands that ended long ago. Their keys are removed too: the same key then makes a new command. */
import type { PersistenceFailed } from "@detent/machine"
import { Commands } from "@detent/store"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { countOf, millisAtLeast } from "../runtime/Options.ts"

export interface PurgeOptions {
  /** Only commands that ended longer ago than this. */
  readonly olderThan: Duration.Input
  /** Their statuses. Default: completed, skipped and handled. Dead letters are removed only if `failed` is listed. */
  readonly statuses?: ReadonlyArray<"completed" | "skipped" | "handled" | "failed">
  /** How many are removed in one transaction, with a pause for others in between. Default: 1,000. */
  readonly batch?: number
}

/** Returns how many were removed. */
export const purge = (options: PurgeOptions): Effect.Effect<number, PersistenceFailed, Commands> =>
  Effect.gen(function* () {
    const commands = yield* Commands
    const { statuses = ["completed", "skipped", "handled"] } = options
    const batch = countOf("batch", options.batch ?? 1000)
    const before = Math.floor(yield* Clock.currentTimeMillis) - millisAtLeast(0, "olderThan", options.olderThan)
    let removed = 0
    for (;;) {
      const count = yield* commands.purge(statuses, before, batch)
      removed += count
      if (count < batch) return removed
      yield* Effect.yieldNow
    }
  })
