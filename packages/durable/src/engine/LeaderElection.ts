/**
 * Leader election: of all nodes that name the same lease, one holds it and leads. A leader that cannot extend its lease in time
 * steps down by its own clock, even while the store does not answer.
 */
import { DefinitionError } from "@detent/machine"
import { forkLoop, Leases } from "@detent/store"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { LeaseHolder } from "../runtime/LeaseHolder.ts"

export interface LeaderConfig {
  /** The name of the election. Nodes that use the same name elect one leader. */
  readonly name: string
  readonly nodeId: string
  /** How long a leader that no longer renews stays the leader. Default: 30 seconds. */
  readonly lease?: Duration.Input
  /** How often the leader renews its lease and the other nodes try to acquire it. Must be shorter than the lease. Default: 10 seconds. */
  readonly renewal?: Duration.Input
}

export interface Leader {
  /** Whether this node leads now. False from the moment its lease may have ended, even if the store answers later that it was extended. */
  readonly isLeader: Effect.Effect<boolean>
  /** Steps down and takes no further part in the election. */
  readonly resign: Effect.Effect<void>
}

/** Takes part in the election until the scope closes or the node resigns. A node that resigned never leads again. */
export const makeLeader = (config: LeaderConfig): Effect.Effect<Leader, never, Leases | Scope.Scope> =>
  Effect.gen(function* () {
    const leases = yield* Leases
    const millis = Duration.toMillis(Duration.fromInputUnsafe(config.lease ?? "30 seconds"))
    const heartbeatMillis = Duration.toMillis(Duration.fromInputUnsafe(config.renewal ?? "10 seconds"))
    if (heartbeatMillis >= millis) {
      return yield* Effect.die(
        new DefinitionError({
          problem: `a renewal every ${heartbeatMillis} ms cannot keep a lease of ${millis} ms`,
          nextStep: "renew at most every third of the lease",
        }),
      )
    }
    let leading: LeaseHolder | undefined
    let hasResigned = false
    const term = (works: Effect.Effect<void>) =>
      LeaseHolder.withLease(
        leases,
        { name: config.name, owner: config.nodeId, millis, heartbeatMillis },
        (held) => {
          leading = held
          return Effect.andThen(works, Effect.never)
        },
        () => Effect.sleep(heartbeatMillis),
      )
    const campaign = yield* forkLoop(`the election of ${config.name}`, term, heartbeatMillis)
    return {
      isLeader: Effect.sync(() => !hasResigned && leading?.isHeld() === true),
      resign: Effect.suspend(() => {
        hasResigned = true
        return Fiber.interrupt(campaign)
      }),
    }
  })
