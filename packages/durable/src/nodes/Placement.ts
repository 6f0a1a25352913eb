/**
 * Placement decides which node runs an instance: its state work, and the runs of an Effect workflow. A node is one run of one
 * process. The commit that enters a state with work writes the node as owner into the instance's row, and only the owner runs
 * the work.
 *
 * `Placement.leases` is the default: a node proves that it is alive by a lease with a heartbeat. When the lease ends, other nodes
 * take over its instances by compare-and-set, and the fencing token refuses its late commits.
 *
 *     alive -> lost            the lease ended: the listeners of `onLost` stop all work, synchronously
 *     lost -> alive            the node holds a lease again, as a new node with a new owner name
 *     lost -> superseded       another process was started under the same node id: this one never owns anything again
 */

import { PersistenceFailed } from "@detent/machine"
import { explainWithFrames } from "@detent/machine/internal"
import type { Fence } from "@detent/store"
import { forkLoop, type Lease, Leases, type LeasesService } from "@detent/store"
import { monotonicMillis } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { checkedNodeId, millisAtLeast } from "../runtime/Options.ts"
import { untilAnswered } from "../runtime/untilAnswered.ts"
import { LeaseHolder } from "./LeaseHolder.ts"
import { hasEnded, processName } from "./ProcessName.ts"
import type { Routing } from "./Routing.ts"

export interface PlacementService {
  /** The current name of this node, which commits write as owner. A node that lost its lease continues under another name. */
  readonly node: () => string
  /** The fence of commits: proof that this node holds its lease. Undefined without a lease: nothing may be committed as owner. */
  readonly fence: () => Fence | undefined
  /** Whether the owner is a node that is alive. The store's answer is cached for 250 milliseconds. */
  readonly isAlive: (owner: string) => Effect.Effect<boolean>
  /**
   * The milliseconds until the first of the leases that `isAlive` found held ends, if it is not extended. Undefined where none is
   * known.
   */
  readonly nextEnd?: () => number | undefined
  /**
   * Makes sure that a node whose lease has ended can no longer commit, before its instances are taken over. False where it is still
   * alive.
   */
  readonly fenceDead: (owner: string) => Effect.Effect<boolean>
  /**
   * Calls the listener when this node has lost its lease, before anything else happens: the work that it runs must stop. Returns
   * the function that unsubscribes.
   */
  readonly onLost: (listener: () => void) => () => void
  /** Called when this node has a lease again, under a new name. */
  readonly onRegained: (listener: () => void) => () => void
  /** How instances are divided between nodes. Undefined where they are not. */
  readonly routing?: Routing | undefined
}

export interface LeasePlacementOptions {
  /**
   * The name of this node: the same after every restart, and used by one process at a time. With a fixed name, a process that was
   * killed resumes its work as soon as it is back; otherwise when its former lease has ended. Default: a name by which processes on
   * the same host detect that this process has ended: they take over immediately, other hosts when the lease has ended.
   */
  readonly nodeId?: string
  /** How long a lease lasts. A node that does not extend it counts as dead. It is extended after each third. Default: 10 seconds. */
  readonly lease?: Duration.Input
}

export class Placement extends Context.Service<Placement, PlacementService>()("@detent/durable/Placement") {
  /** Takes part as a node until the scope closes, which releases the lease. */
  static readonly make = (options: LeasePlacementOptions = {}): Effect.Effect<PlacementService, never, Leases | Scope.Scope> =>
    makeLeasePlacement(options)

  /** The placement in the context. If there is none, makes one with these options for the caller alone. */
  static readonly inContextOrMake = (options: LeasePlacementOptions = {}): Effect.Effect<PlacementService, never, Leases | Scope.Scope> =>
    Effect.flatMap(
      Effect.serviceOption(Placement),
      Option.match({ onNone: () => makeLeasePlacement(options), onSome: (placement) => Effect.succeed(placement) }),
    )

  /** One node for all engines of a process. */
  static readonly leases = (options: LeasePlacementOptions = {}): Layer.Layer<Placement, never, Leases> =>
    Layer.effect(Placement, makeLeasePlacement(options))
}

/** A lease that ends before the store has confirmed it would never be held, and no work would ever run. */
export const shortestLease = 50

export const defaultLease = "10 seconds"

/**
 * How long an answer about another node is cached. It is shorter than the pause between two checks for dead owners: an answer that
 * outlasted a check would delay the takeover until the next one.
 */
const believedMillis = 250

/**
 * How often the watchdog checks the clock, so that work which waits is stopped as well. Work that continues is stopped by `LeaseCheck`,
 * before its next operation. It is a timer of the runtime, not a fiber: it does not wait for fibers that are due.
 */
const watchdogMillis = 50

/** A node without a lease tries to get one at least this often, because it may run nothing meanwhile. */
const longestPauseMillis = 1000

/** How many fenced owners are remembered, so that a node is not fenced again for each of its instances. */
const rememberedOwners = 1000

/** The prefix of the lease names of nodes. */
export const nodeLeasePrefix = "workflow/node/"

/** Whether this owner can no longer commit: no node is the owner, or the node is dead, and fenced by this. */
export const isGone = ({ isAlive, fenceDead }: PlacementService, owner: string | undefined): Effect.Effect<boolean> =>
  owner === undefined
    ? Effect.succeed(true)
    : Effect.flatMap(isAlive(owner), (isStillAlive) => (isStillAlive ? Effect.succeed(false) : fenceDead(owner)))

const leaseNameOf = (owner: string): string => `${nodeLeasePrefix}${nodeIdOf(owner)}`

const nodeIdOf = (owner: string): string => owner.slice(0, owner.lastIndexOf("/"))

const makeLeasePlacement = (options: LeasePlacementOptions): Effect.Effect<PlacementService, never, Leases | Scope.Scope> =>
  Effect.gen(function* () {
    const leases = yield* Leases
    const millis = millisAtLeast(shortestLease, "lease", options.lease ?? defaultLease)
    const nodeId = checkedNodeId(options.nodeId ?? processName(yield* randomName))
    const context = yield* Effect.context<never>()
    const report = (cause: unknown) =>
      Effect.runForkWith(context)(Effect.logError(`a listener of node ${nodeId} failed: ${explainWithFrames(cause)}`))
    const lost = new Listeners(report)
    const regained = new Listeners(report)
    const registered = Latch.makeUnsafe(false)
    let name = `${nodeId}/${yield* randomName}`
    let life: LeaseHolder | undefined
    let isSuperseded = false
    /** All names of this process so far: the store may still hold the lease for a name whose request got no answer, or a late one. */
    const ownNames = new Set<string>()

    const live = (works: Effect.Effect<void>) => (held: LeaseHolder) =>
      Effect.suspend(() => {
        const isFirst = life === undefined
        life = held
        held.onLost(lost.call)
        registered.openUnsafe()
        if (!isFirst) regained.call()
        return Effect.andThen(works, Effect.never)
      })

    /** Only for its first lease does a process take the name over: the other process must have ended, and is fenced if it has not. */
    const makeRoom = (holder: Lease) =>
      Effect.suspend(() => {
        if (life === undefined || ownNames.has(holder.owner)) return leases.release(holder)
        isSuperseded = true
        return Effect.logError(`${nodeId} was started again elsewhere: this process no longer runs work that has an owner`)
      })

    const oneLife = (works: Effect.Effect<void>) =>
      Effect.gen(function* () {
        if (isSuperseded) return yield* Effect.andThen(works, Effect.never)
        if (life !== undefined) name = `${nodeId}/${yield* randomName}`
        ownNames.add(name)
        yield* LeaseHolder.withLease(leases, { name: leaseNameOf(name), owner: name, millis }, live(works), makeRoom)
      })
    yield* forkLoop(`the lease of node ${nodeId}`, oneLife, Math.min(longestPauseMillis, millis / 3))

    const ask = asking(millis)
    const clock = yield* Clock.Clock
    const known = new KnownOwners(leases, ask, clock, () => (life?.isHeld() ? life.lease.owner : undefined))
    // A timer of the runtime, see watchdogMillis.
    // @effect-diagnostics-next-line globalTimersInEffect:off
    const watchdog = setInterval(() => life?.isHeld(), watchdogMillis)
    watchdog.unref()
    yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(watchdog)))
    yield* registered.await

    return {
      node: () => name,
      fence: () => (life?.isHeld() ? { lease: life.lease.name, token: life.lease.token } : undefined),
      isAlive: (owner) => known.isAlive(owner),
      nextEnd: () => known.nextEnd(),
      fenceDead: makeFenceDead(leases, ask),
      onLost: lost.add,
      onRegained: regained.add,
    }
  })

const randomName = Effect.map(Random.nextIntBetween(0, 2 ** 31), (number) => number.toString(36))

/** A listener that throws is reported, and does not keep the others from stopping their work. */
class Listeners {
  readonly #listeners = new Set<() => void>()
  readonly #report: (cause: unknown) => void

  constructor(report: (cause: unknown) => void) {
    this.#report = report
  }

  readonly add = (listener: () => void) => {
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  readonly call = () => {
    for (const listener of [...this.#listeners]) {
      try {
        listener()
      } catch (cause) {
        this.#report(cause)
      }
    }
  }
}

type Ask = <A>(request: Effect.Effect<A, PersistenceFailed>) => Effect.Effect<A>

/** Asks the store until it answers. A request without an answer within the time of a lease is repeated: its connection may be lost. */
const asking =
  (millis: number): Ask =>
  (request) =>
    untilAnswered(
      Effect.timeoutOrElse(request, {
        duration: millis,
        orElse: () => {
          const cause = new Error(`the store did not answer within ${millis} ms`)
          return Effect.fail(new PersistenceFailed({ machine: "lease", operation: "read", cause }))
        },
      }),
    )

interface KnownOwner {
  readonly isAlive: boolean
  /** When the answer expires. By the monotonic clock, in milliseconds. */
  readonly until: number
  /** When the lease of the owner ends, by the same clock. Infinity where no lease is held. */
  readonly endsAt: number
}

/** Cached answers about other owners. The store is asked once for all instances of one owner. */
class KnownOwners {
  readonly #leases: LeasesService
  readonly #ask: Ask
  readonly #clock: Clock.Clock
  readonly #self: () => string | undefined
  readonly #known = new Map<string, KnownOwner>()

  constructor(leases: LeasesService, ask: Ask, clock: Clock.Clock, self: () => string | undefined) {
    this.#leases = leases
    this.#ask = ask
    this.#clock = clock
    this.#self = self
  }

  isAlive(owner: string): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      if (owner === this.#self()) return true
      const now = this.#now
      const believed = this.#known.get(owner)
      if (believed !== undefined && believed.until > now) return believed.isAlive
      for (const [name, { until }] of this.#known) if (until <= now) this.#known.delete(name)
      const held = hasEnded(owner) ? undefined : Option.getOrUndefined(yield* this.#ask(this.#leases.get(leaseNameOf(owner))))
      const isAlive = held !== undefined && held.owner === owner
      const endsAt = isAlive ? now + (held.remainingMillis ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
      this.#known.set(owner, { isAlive, until: Math.min(now + believedMillis, endsAt), endsAt })
      return isAlive
    })
  }

  nextEnd(): number | undefined {
    const now = this.#now
    let next: number | undefined
    for (const { endsAt } of this.#known.values()) {
      const remaining = endsAt - now
      if (remaining > 0 && Number.isFinite(remaining) && (next === undefined || remaining < next)) next = remaining
    }
    return next
  }

  get #now(): number {
    return monotonicMillis(this.#clock)
  }
}

/** A fenced owner never holds its lease again: its name is used once. */
const makeFenceDead = (leases: LeasesService, ask: Ask) => {
  const fencedOwners = new Set<string>()
  const fenceOnce = (owner: string): Effect.Effect<boolean, PersistenceFailed> =>
    Effect.gen(function* () {
      for (;;) {
        if (yield* leases.fenceHolder(leaseNameOf(owner), hasEnded(owner) ? owner : undefined)) return true
        const holder = yield* leases.get(leaseNameOf(owner))
        // Another holder than the owner has a newer token. A lease that has ended since is fenced at the next try.
        if (Option.isSome(holder)) return holder.value.owner !== owner
      }
    })
  return (owner: string): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      if (fencedOwners.has(owner)) return true
      const isFenced = yield* ask(fenceOnce(owner))
      if (!isFenced) return false
      fencedOwners.add(owner)
      if (fencedOwners.size > rememberedOwners) for (const oldest of fencedOwners) return fencedOwners.delete(oldest)
      return true
    })
}
