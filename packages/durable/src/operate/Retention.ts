/**
 * Removes instances that ended long ago, with their journals and timers: of machines with `.persist({ retention })` by a loop, of
 * any machine by `engine.purge`. Also removes leases that ended long ago.
 */
import type { PersistenceFailed } from "@detent/machine"
import { describe } from "@detent/machine/internal"
import type { JournalService, LeasesService } from "@detent/store"
import { forkLoop } from "@detent/store"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { MachineRegistry } from "../machine/MachineRegistry.ts"

/** How many instances one transaction removes. */
const batchSize = 500

/** How often the loop runs. */
const intervalMillis = 60_000

/** Leases are few: old ones are removed about every hour. */
const turnsPerLeasePurge = 60

/** Leases are kept for this long after their end. */
const leaseMillis = 24 * 60 * 60 * 1000

export interface PurgeOptions {
  /** The least time since their end, such as `"30 days"`. */
  readonly endedBefore: Duration.Input
  /** Only counts them. Default: false. */
  readonly dryRun?: boolean
}

/** Removes instances of a machine that ended longer ago than this. Returns how many. */
export const purgeEnded = (journal: JournalService, machine: string, options: PurgeOptions): Effect.Effect<number, PersistenceFailed> =>
  Effect.gen(function* () {
    const millis = millisOf(machine, options)
    if (options.dryRun === true) return yield* journal.countEnded(machine, millis)
    for (let removed = 0; ; ) {
      const count = yield* journal.purgeEnded(machine, millis, batchSize)
      removed += count
      if (count < batchSize) return removed
      yield* Effect.yieldNow
    }
  })

/** JavaScript callers have no types that prevent a wrong option. */
const millisOf = (machine: string, options: Partial<PurgeOptions> | undefined): number => {
  // NaN would become 0, which removes everything.
  const isGiven = options?.endedBefore !== undefined && !Number.isNaN(options.endedBefore)
  const ended = isGiven ? Duration.fromInput(options.endedBefore) : Option.none()
  if (Option.isSome(ended)) return Duration.toMillis(ended.value)
  const given = options?.endedBefore === undefined ? "it is missing" : `not ${describe(options.endedBefore)}`
  throw new TypeError(`purge of ${machine}: endedBefore is a duration such as { endedBefore: "30 days" }; ${given}`)
}

/** A machine, or the machine of a workflow, whose ended instances are removed. */
export interface Retained {
  readonly machine: string
  readonly retention: Duration.Input
}

/** Pauses for about a minute, then removes all instances that ended longer ago than their retention. */
export const purgeTurn = (journal: JournalService, retained: () => Iterable<Retained>): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    yield* Effect.sleep(intervalMillis * (0.8 + 0.4 * (yield* Random.next)))
    for (const { machine, retention } of retained()) yield* purgeEnded(journal, machine, { endedBefore: retention })
  })

/** Removes ended instances by the retention of their machines, for as long as the scope lasts. */
export const startRetention = (
  journal: JournalService,
  leases: LeasesService,
  registry: MachineRegistry,
): Effect.Effect<void, never, Scope.Scope> => {
  let turns = 0
  const retained = () =>
    registry.all.flatMap((machine): ReadonlyArray<Retained> => {
      const retention = registry.retentionOf(machine)
      return retention === undefined ? [] : [{ machine: machine.name, retention }]
    })
  const purging = purgeTurn(journal, retained)
  const turn = Effect.gen(function* () {
    yield* purging
    if (++turns % turnsPerLeasePurge === 0) yield* leases.purge(leaseMillis, batchSize)
  })
  return forkLoop("retention", turn)
}
