/**
 * Locks on instances, for nodes that share them without a cluster: a lease per instance, with a fencing token that every
 * commit carries. A node that wakes up late finds its token outdated and is refused before anything happens.
 */
import { LockingFailed, type PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { Fence, InstanceKey } from "../store/Commit.ts"
import { type Lease, Leases, type LeasesService } from "../store/Leases.ts"

export interface LockConfig {
  /** How long a lock is held without a sign of life. */
  readonly duration: Duration.Input
  /** How long to wait for a lock that another holds. */
  readonly acquireTimeout: Duration.Input
  /** How often to try meanwhile. */
  readonly retryInterval: Duration.Input
  /** How often a held lock is prolonged; a third of its duration unless said otherwise. */
  readonly heartbeat?: Duration.Input
  /** What happens to work under a lock that was lost: it is interrupted, or goes on and is refused when it commits. */
  readonly onLost: "interrupt" | "continue"
  /** Who holds it, in errors and lists. */
  readonly nodeId: string
}

const preset = (duration: Duration.Input, acquireTimeout: Duration.Input): LockConfig => ({
  duration,
  acquireTimeout,
  retryInterval: "100 millis",
  onLost: "interrupt",
  nodeId: "node",
})

/** 30 seconds, waiting 10. */
export const defaultLock: LockConfig = preset("30 seconds", "10 seconds")
/** For quick operations: 10 seconds, waiting 5. */
export const fastLock: LockConfig = preset("10 seconds", "5 seconds")
/** For batch jobs: 5 minutes, waiting 30 seconds. */
export const longRunningLock: LockConfig = preset("5 minutes", "30 seconds")

/** A lock in hand. */
export interface HeldLock {
  readonly fence: Fence
  readonly release: Effect.Effect<boolean>
  /** Ends with an error when the lock is lost. */
  readonly lost: Effect.Effect<never, LockingFailed>
}

/** The way to the lock of one instance. */
export interface LockHolder {
  readonly acquire: Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
}

export interface InstanceLockService {
  /** Takes the lock if it is free; `busy` with holder and time otherwise. */
  readonly tryAcquire: (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
  /** Waits for the lock, as long as the configuration allows. */
  readonly acquire: (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
  /** Runs an Effect under the lock, and gives it back however that ends. */
  readonly withLock: <A, E, R>(
    key: InstanceKey,
    effect: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E | LockingFailed | PersistenceFailed, R>
  /** Who holds it now. */
  readonly get: (key: InstanceKey) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
}

export const leaseName = ({ machine, id }: InstanceKey): string => `instance/${machine}/${id}`

/** Who has it, for an error that tells of waiting in vain. */
const holderOf = ({ holder, until }: LockingFailed) => ({
  ...(holder === undefined ? {} : { holder }),
  ...(until === undefined ? {} : { until }),
})

const make = (leases: LeasesService, config: LockConfig): InstanceLockService => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(config.duration))
  const heartbeat = config.heartbeat === undefined ? Duration.millis(millis / 3) : Duration.fromInputUnsafe(config.heartbeat)

  const pause = Duration.toMillis(Duration.fromInputUnsafe(config.retryInterval))
  const patience = Duration.toMillis(Duration.fromInputUnsafe(config.acquireTimeout))

  const tryAcquire = (key: InstanceKey): Effect.Effect<HeldLock, LockingFailed | PersistenceFailed> =>
    // Between having the lease and keeping it alive nobody interrupts: it would be held for nobody.
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(leases.acquire(leaseName(key), config.nodeId, millis)), (result) =>
        result._tag === "Acquired"
          ? hold(key, result.lease)
          : Effect.fail(new LockingFailed({ ...key, problem: "busy", holder: result.holder.owner, until: result.holder.expiresAt })),
      ),
    )

  const hold = (key: InstanceKey, lease: Lease): Effect.Effect<HeldLock> =>
    Effect.gen(function* () {
      const lost = new LockingFailed({ ...key, problem: "lost" })
      let alive = yield* Clock.currentTimeMillis
      const beat = Effect.gen(function* () {
        const asked = yield* Clock.currentTimeMillis
        const extended = yield* Effect.result(leases.extend(lease, millis))
        if (extended._tag === "Success" && Option.isNone(extended.success)) return yield* Effect.fail(lost)
        if (extended._tag === "Success") alive = asked
        // A store that is away for longer than the lease lasts has given it to somebody else, for all this node knows.
        else if (asked - alive >= millis) return yield* Effect.fail(lost)
      })
      const beating = yield* Effect.forkDetach(Effect.repeat(Effect.delay(beat, heartbeat), Schedule.forever))
      return {
        fence: { lease: lease.name, token: lease.token },
        // A lock that cannot be given back ends by itself; the store's failure changes nothing about that.
        release: Effect.andThen(
          Fiber.interrupt(beating),
          Effect.orElseSucceed(leases.release(lease), () => false),
        ),
        lost: Effect.andThen(Fiber.join(beating), Effect.never),
      }
    })

  const acquire = (key: InstanceKey): Effect.Effect<HeldLock, LockingFailed | PersistenceFailed> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        for (;;) {
          const result = yield* Effect.result(restore(tryAcquire(key)))
          if (result._tag === "Success") return result.success
          if (result.failure._tag !== "LockingFailed" || result.failure.problem !== "busy") return yield* Effect.fail(result.failure)
          const left = began + patience - (yield* Clock.currentTimeMillis)
          if (left <= 0) return yield* Effect.fail(new LockingFailed({ ...key, problem: "timed out", ...holderOf(result.failure) }))
          yield* restore(Effect.sleep(Math.min(left, pause)))
        }
      }),
    )

  return {
    tryAcquire,
    acquire,
    withLock: (key, effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(acquire(key)), (held) =>
          Effect.onExit(restore(config.onLost === "interrupt" ? Effect.raceFirst(effect, held.lost) : effect), () => held.release),
        ),
      ),
    get: (key) => leases.get(leaseName(key)),
  }
}

export class InstanceLock extends Context.Service<InstanceLock, InstanceLockService>()("@detent/durable/InstanceLock") {
  static readonly layer = (config: LockConfig): Layer.Layer<InstanceLock, never, Leases> =>
    Layer.effect(
      InstanceLock,
      Effect.map(Leases, (leases) => make(leases, config)),
    )
}
