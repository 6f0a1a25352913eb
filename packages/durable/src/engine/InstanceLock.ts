/**
 * Locks on instances, for nodes that share a store without a cluster: a lease per instance, with a fencing token that every
 * commit carries. The store refuses the commit of a node whose lock has been acquired by another node since.
 */
import { LockingFailed, type PersistenceFailed } from "@detent/machine"
import type { Fence, InstanceKey } from "@detent/store"
import { type Lease, Leases, type LeasesService } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import { LeaseHolder } from "../runtime/LeaseHolder.ts"

export interface LockConfig {
  /** How long a lock lasts without a heartbeat. */
  readonly duration: Duration.Input
  /** How long `acquire` waits for a lock that is held. */
  readonly acquireTimeout: Duration.Input
  /** How often `acquire` tries again. */
  readonly retryInterval: Duration.Input
  /** How often a held lock is extended. Default: a third of its duration. */
  readonly heartbeat?: Duration.Input
  /** Work under a lost lock is interrupted, or continues and is refused when it commits. */
  readonly onLost: "interrupt" | "continue"
  /** The name of the holder, in errors and lists. */
  readonly nodeId: string
}

const preset = (duration: Duration.Input, acquireTimeout: Duration.Input): LockConfig => ({
  duration,
  acquireTimeout,
  retryInterval: "100 millis",
  onLost: "interrupt",
  nodeId: "node",
})

/** A lock lasts 30 seconds. `acquire` waits for at most 10 seconds. */
export const defaultLock: LockConfig = preset("30 seconds", "10 seconds")
/** For quick operations. A lock lasts 10 seconds. `acquire` waits for at most 5 seconds. */
export const fastLock: LockConfig = preset("10 seconds", "5 seconds")
/** For batch jobs. A lock lasts 5 minutes. `acquire` waits for at most 30 seconds. */
export const longRunningLock: LockConfig = preset("5 minutes", "30 seconds")

/** An acquired lock. */
export interface HeldLock {
  readonly fence: Fence
  readonly release: Effect.Effect<boolean>
  /** Ends with an error when the lock is lost. */
  readonly lost: Effect.Effect<never, LockingFailed>
}

/** Acquires the lock of one instance. */
export interface LockHolder {
  readonly acquire: Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
}

export interface InstanceLockService {
  /** Acquires the lock if it is free. Fails with `busy`, the holder and the end of its lease otherwise. */
  readonly tryAcquire: (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
  /** Waits for the lock, for at most `acquireTimeout`. */
  readonly acquire: (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>
  /** Runs an Effect under the lock. Releases the lock however the Effect ends. */
  readonly withLock: <A, E, R>(
    key: InstanceKey,
    effect: Effect.Effect<A, E, R>,
  ) => Effect.Effect<A, E | LockingFailed | PersistenceFailed, R>
  /** The current holder. */
  readonly get: (key: InstanceKey) => Effect.Effect<Option.Option<Lease>, PersistenceFailed>
}

export const leaseName = ({ machine, id }: InstanceKey): string => `instance/${machine}/${id}`

/** The holder, for the error of a caller whose wait has timed out. */
const holderOf = ({ holder, until }: LockingFailed) => ({
  ...(holder === undefined ? {} : { holder }),
  ...(until === undefined ? {} : { until }),
})

const toMillis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

const make = (leases: LeasesService, config: LockConfig): InstanceLockService => {
  const request = {
    owner: config.nodeId,
    millis: toMillis(config.duration),
    ...(config.heartbeat === undefined ? {} : { heartbeatMillis: toMillis(config.heartbeat) }),
  }
  const pause = toMillis(config.retryInterval)
  const patience = toMillis(config.acquireTimeout)

  const tryAcquire = (key: InstanceKey): Effect.Effect<HeldLock, LockingFailed | PersistenceFailed> =>
    Effect.flatMap(LeaseHolder.tryHold(leases, { ...request, name: leaseName(key) }), (result) => {
      if (result._tag === "Busy") {
        const { owner, expiresAt } = result.holder
        return Effect.fail(new LockingFailed({ ...key, problem: "busy", holder: owner, until: expiresAt }))
      }
      const { lease, release, awaitLost } = result.held
      return Effect.succeed({
        fence: { lease: lease.name, token: lease.token },
        release,
        lost: Effect.andThen(awaitLost, Effect.fail(new LockingFailed({ ...key, problem: "lost" }))),
      })
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
