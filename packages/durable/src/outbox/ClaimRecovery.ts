/**
 * The claims of a killed worker expire by themselves. A worker on the same host can see that the process has ended, and ends its claims
 * immediately.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { CommandsService } from "@detent/store"
import * as Effect from "effect/Effect"
import { hasEnded } from "../nodes/ProcessName.ts"

/** Returns the queues in which commands can be claimed again. */
export const recoverClaims = (commands: CommandsService, queues: Iterable<string>): Effect.Effect<ReadonlySet<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const freed = new Set<string>()
    for (const queue of queues)
      for (const [worker, claims] of yield* commands.claims(queue)) {
        if (!hasEnded(worker)) continue
        yield* commands.renew(worker, claims, 0)
        freed.add(queue)
      }
    return freed
  })
