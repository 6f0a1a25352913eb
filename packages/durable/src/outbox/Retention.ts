/**
 * Removes commands that ended long ago, by a loop of each worker whose options have a retention, or by `purge`. Their keys are removed too:
 * the same key then makes a new command.
 */
import type { PersistenceFailed } from "@detent/machine"
import { Commands, type CommandsService, forkLoop } from "@detent/store"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { countOf, millisAtLeast } from "../runtime/Options.ts"
import type { CommandRetention } from "./WorkerConfig.ts"

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
  Effect.flatMap(Commands, (commands) => purgeFrom(commands, options))

const purgeFrom = (commands: CommandsService, options: PurgeOptions): Effect.Effect<number, PersistenceFailed> =>
  Effect.gen(function* () {
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

/** How often the loop runs. */
const intervalMillis = 60_000

/** Removes ended commands for as long as the scope lasts. Starts no loop where all are kept. */
export const startRetention = (
  commands: CommandsService,
  { finishedMillis, deadLetterMillis }: CommandRetention,
): Effect.Effect<void, never, Scope.Scope> => {
  const purges = [
    ...(finishedMillis === undefined ? [] : [purgeFrom(commands, { olderThan: finishedMillis })]),
    ...(deadLetterMillis === undefined ? [] : [purgeFrom(commands, { olderThan: deadLetterMillis, statuses: ["failed"] })]),
  ]
  if (purges.length === 0) return Effect.void
  const turn = Effect.gen(function* () {
    yield* Effect.sleep(intervalMillis * (0.8 + 0.4 * (yield* Random.next)))
    yield* Effect.all(purges, { discard: true })
  })
  return forkLoop("the retention of commands", turn)
}
