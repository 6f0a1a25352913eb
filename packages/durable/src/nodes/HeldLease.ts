/**
 * A lease by name: of all processes that take the same one, one holds it at a time. Elects a leader, or keeps a job from running twice.
 *
 * ```ts
 * const lead = Effect.scoped(
 *   Effect.gen(function* () {
 *     const lease = yield* holdLease("nightly-report", { ...defaultLock, acquireTimeout: "Infinity" })
 *     yield* Effect.raceFirst(report, lease.lost)
 *   }),
 * )
 * yield* forkLoop("the nightly report", lead)
 * ```
 *
 * A holder that cannot extend its lease in time has lost it by its own clock, even while the store does not answer. It never gets the
 * lease back by itself: it takes it again, under a newer fencing token.
 */

import { DefinitionError, LockingFailed, type PersistenceFailed } from "@detent/machine"
import { type Fence, type InstanceKey, Leases, type LeasesService } from "@detent/store"
import { monotonicMillis } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { LeaseHolder } from "./LeaseHolder.ts"
import { processName } from "./ProcessName.ts"

export interface LockConfig {
  /** How long a lock lasts without a heartbeat. */
  readonly duration: Duration.Input
  /** How long to wait for a lock that is held. 0: fails immediately. `Infinity`: waits until it is free. */
  readonly acquireTimeout: Duration.Input
  /** How often to try again while waiting. */
  readonly retryInterval: Duration.Input
  /** How often a held lock is extended. Must be shorter than its duration. Default: a third of it. */
  readonly heartbeat?: Duration.Input
  /** The name of the holder, in errors and lists. Default: the `nodeId` of the engine, or a name of this process. */
  readonly nodeId?: string
}

const preset = (duration: Duration.Input, acquireTimeout: Duration.Input): LockConfig => ({
  duration,
  acquireTimeout,
  retryInterval: "100 millis",
})

/** A lock lasts 30 seconds, and is waited for at most 10 seconds. */
export const defaultLock: LockConfig = preset("30 seconds", "10 seconds")
/** For quick operations. A lock lasts 10 seconds, and is waited for at most 5 seconds. */
export const fastLock: LockConfig = preset("10 seconds", "5 seconds")
/** For batch jobs. A lock lasts 5 minutes, and is waited for at most 30 seconds. */
export const longRunningLock: LockConfig = preset("5 minutes", "30 seconds")

/** A lease is held by another process, or was lost. */
export class LeaseNotHeld extends Schema.TaggedError<LeaseNotHeld>()("LeaseNotHeld", {
  name: Schema.String,
  problem: Schema.Literals(["busy", "timed out", "lost"]),
  holder: Schema.optionalKey(Schema.String),
  /** When the lease of the holder expires, in milliseconds since 1970. */
  until: Schema.optionalKey(Schema.Number),
}) {
  override get message() {
    if (this.problem === "lost") return `the lease ${this.name} was lost: take it again`
    const held = `${this.holder ?? "another process"} holds the lease ${this.name}`
    const until = this.until === undefined ? "" : ` until ${DateTime.formatIso(DateTime.makeUnsafe(this.until))}`
    return `${held}${until}; try again when it is released, or raise acquireTimeout`
  }
}

/** A lease that this process holds. */
export interface HeldLease<Error = LeaseNotHeld> {
  /** Proof that the lease is held: a store refuses a commit with the fence of a lease that another process has taken since. */
  readonly fence: Fence
  /** Whether it is held now. False from the moment it may have ended, even if the store answers later that it was extended. */
  readonly isHeld: Effect.Effect<boolean>
  /** Ends with an error when it is lost. */
  readonly lost: Effect.Effect<never, Error>
  /** Releases it. False where it is no longer held. */
  readonly release: Effect.Effect<boolean>
}

const toMillis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** Throws a `DefinitionError` for a heartbeat with which the lease would end between two of them. */
const heartbeatOf = ({ duration, heartbeat }: LockConfig): { readonly heartbeatMillis?: number } => {
  if (heartbeat === undefined) return {}
  if (toMillis(heartbeat) < toMillis(duration)) return { heartbeatMillis: toMillis(heartbeat) }
  throw new DefinitionError({
    problem: `a heartbeat every ${toMillis(heartbeat)} ms cannot keep a lease of ${toMillis(duration)} ms`,
    nextStep: "extend it at least every third of its duration",
  })
}

/** Why a lease is not held. */
export type LeaseProblem = Pick<LeaseNotHeld, "problem" | "holder" | "until">

/** Takes leases under one configuration. A caller that is interrupted while it waits leaves no lease behind. */
export const leaseAcquirer = (leases: LeasesService, config: LockConfig & { readonly nodeId: string }) => {
  const request = { owner: config.nodeId, millis: toMillis(config.duration), ...heartbeatOf(config) }
  const pause = toMillis(config.retryInterval)
  const patience = toMillis(config.acquireTimeout)
  return <Error>(name: string, errorOf: (problem: LeaseProblem) => Error): Effect.Effect<HeldLease<Error>, Error | PersistenceFailed> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const began = monotonicMillis(clock)
        for (;;) {
          const result = yield* restore(LeaseHolder.tryHold(leases, { ...request, name }))
          if (result._tag === "Held") return heldLease(result.held, errorOf)
          const remaining = began + patience - monotonicMillis(clock)
          if (remaining <= 0) {
            const { owner: holder, expiresAt: until } = result.holder
            return yield* Effect.fail(errorOf({ problem: patience === 0 ? "busy" : "timed out", holder, until }))
          }
          yield* restore(Effect.sleep(Math.min(remaining, pause)))
        }
      }),
    )
}

const heldLease = <Error>(held: LeaseHolder, errorOf: (problem: LeaseProblem) => Error): HeldLease<Error> => ({
  fence: { lease: held.lease.name, token: held.lease.token },
  isHeld: Effect.sync(() => held.isHeld()),
  lost: Effect.andThen(
    held.awaitLost,
    Effect.suspend(() => Effect.fail(errorOf({ problem: "lost" }))),
  ),
  release: held.release,
})

/** Releases what was acquired when the scope of the caller closes. */
export const untilScopeCloses = <Held extends { readonly release: Effect.Effect<boolean> }, E, R>(
  acquire: Effect.Effect<Held, E, R>,
): Effect.Effect<Held, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) => Effect.tap(restore(acquire), ({ release }) => Effect.addFinalizer(() => release)))

/**
 * Takes the lease of this name, and releases it when the scope closes. Waits for at most `acquireTimeout` while another process holds
 * it. Fails with `PersistenceFailed` where the store does not answer.
 */
export const holdLease = (
  name: string,
  config: LockConfig = defaultLock,
): Effect.Effect<HeldLease, LeaseNotHeld | PersistenceFailed, Leases | Scope.Scope> =>
  Effect.gen(function* () {
    const nodeId = config.nodeId ?? processName((yield* Random.nextIntBetween(0, 2 ** 31)).toString(36))
    const acquire = leaseAcquirer(yield* Leases, { ...config, nodeId })
    return yield* untilScopeCloses(acquire(`${prefix}${name}`, (problem) => new LeaseNotHeld({ name, ...problem })))
  })

/** Keeps these names apart from those of nodes and of locks on instances. */
const prefix = "named/"

/** An acquired lock on an instance. */
export type HeldLock = HeldLease<LockingFailed>

/** Acquires the lock of one instance. */
export type AcquireLock = (key: InstanceKey) => Effect.Effect<HeldLock, LockingFailed | PersistenceFailed>

export const leaseName = ({ machine, id }: InstanceKey): string => `instance/${machine}/${id}`

export const instanceLocks = (leases: LeasesService, config: LockConfig & { readonly nodeId: string }): AcquireLock => {
  const acquire = leaseAcquirer(leases, config)
  return ({ machine, id }) => acquire(leaseName({ machine, id }), (problem) => new LockingFailed({ machine, id, ...problem }))
}
