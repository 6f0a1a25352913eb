/** Removes what ended long ago. A key that is removed is forgotten: the same key after that is a new command. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Commands } from "../store/Commands.ts"
import { millisOf } from "./WorkerConfig.ts"

export interface PurgeOptions {
  /** Only what ended longer ago than this. */
  readonly olderThan: Duration.Input
  /** Which of those that ended; completed and skipped unless told. Dead letters are kept unless they are named. */
  readonly statuses?: ReadonlyArray<"completed" | "skipped" | "failed">
  /** How many are removed in one transaction; 1,000 unless told. Others get their turn in between. */
  readonly batch?: number
}

/** Returns how many were removed. */
export const purge = (options: PurgeOptions): Effect.Effect<number, PersistenceFailed, Commands> =>
  Effect.gen(function* () {
    const commands = yield* Commands
    const { statuses = ["completed", "skipped"], batch = 1000 } = options
    const before = Math.floor(yield* Clock.currentTimeMillis) - millisOf(options.olderThan)
    let removed = 0
    for (;;) {
      const count = yield* commands.purge(statuses, before, batch)
      removed += count
      if (count < batch) return removed
      yield* Effect.yieldNow
    }
  })
