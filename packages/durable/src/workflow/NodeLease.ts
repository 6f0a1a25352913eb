/**
 * The name of this process among those who share a store, and proof that it is alive: one lease for all it runs, prolonged by
 * a heartbeat. Whose lease is over is taken over by the others; whoever comes back too late is refused by the journal.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Lease, Leases, type LeasesService } from "../store/Leases.ts"
import { patiently } from "./Reading.ts"

export interface NodeLease {
  /** The name of the node and of this life of it. */
  readonly owner: string
  readonly isAlive: (owner: string) => Effect.Effect<boolean>
}

export interface NodeOptions {
  /** Undefined: one of its own for every process. */
  readonly nodeId: string | undefined
  readonly leaseMillis: number
  /** Another process has taken this node's name: this one must not go on. */
  readonly superseded: Effect.Effect<void>
}

/** How long what is known of another node is believed before the store is asked again. */
const believedMillis = 500

/**
 * Takes the name. A node that comes back under the name it had does not wait for the lease of its former life: that one must
 * have ended, and is refused if it has not.
 */
export const makeNodeLease = ({ nodeId, leaseMillis, superseded }: NodeOptions): Effect.Effect<NodeLease, never, Leases | Scope.Scope> =>
  Effect.gen(function* () {
    const leases = yield* Leases
    const life = (yield* Random.nextIntBetween(0, 2 ** 31)).toString(36)
    const name = nodeId ?? `node-${(yield* Random.nextIntBetween(0, 2 ** 31)).toString(36)}`
    const owner = `${name}/${life}`
    let held = yield* patiently(takeOver(leases, leaseName(owner), owner, leaseMillis))
    let isSuperseded = false
    const beat = Effect.gen(function* () {
      if (isSuperseded) return
      const extended = yield* leases.extend(held, leaseMillis)
      if (Option.isSome(extended)) return
      // The store was away for longer than the lease: unless somebody else has taken the name, nothing is lost by that.
      const result = yield* leases.acquire(held.name, owner, leaseMillis)
      if (result._tag === "Acquired") held = result.lease
      else {
        isSuperseded = true
        yield* Effect.logError(`${name} was started again elsewhere: this process stops running executions`)
        yield* superseded
      }
    })
    const told = Effect.catch(beat, (error) => Effect.logWarning(`${name} could not prolong its lease`, error.message))
    yield* Effect.forkScoped(Effect.repeat(told, Schedule.spaced(Math.ceil(leaseMillis / 3))))
    // A store that does not answer must not keep a process from stopping: the lease ends by itself.
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(leases.release(held), leaseMillis)))
    return { owner, isAlive: livelihood(leases) }
  })

const leaseName = (owner: string): string => `workflow/node/${owner.slice(0, owner.lastIndexOf("/"))}`

const takeOver = (leases: LeasesService, name: string, owner: string, millis: number): Effect.Effect<Lease, PersistenceFailed> =>
  Effect.flatMap(leases.acquire(name, owner, millis), (result) =>
    result._tag === "Acquired"
      ? Effect.succeed(result.lease)
      : Effect.andThen(leases.release(result.holder), takeOver(leases, name, owner, millis)),
  )

/** Of many executions of one node the store is asked once. */
const livelihood = (leases: LeasesService) => {
  const known = new Map<string, { readonly isAlive: boolean; readonly until: number }>()
  return (owner: string): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const believed = known.get(owner)
      if (believed !== undefined && believed.until > now) return believed.isAlive
      const lease = yield* patiently(leases.get(leaseName(owner)))
      const isAlive = Option.isSome(lease) && lease.value.owner === owner
      known.set(owner, { isAlive, until: now + believedMillis })
      return isAlive
    })
}
