/**
 * Holds a lease: extends it by a heartbeat until it is released or lost.
 *
 * A lease is lost when the store says so, or when its time has passed by this process's monotonic clock without a confirmed
 * extension. The deadline counts from before each request, so it is never later than the store's. A process therefore steps down
 * in time even while the store hangs, and a process that was frozen steps down when it first reads the clock.
 *
 *     held -> lost        the store refused an extension, or the deadline passed
 *     held -> released    the holder released the lease
 *
 * Both modes are final: to hold the lease again, the owner acquires it again, under a newer token.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Lease, LeaseResult, LeasesService } from "@detent/store"
import { monotonicMillis, problemOf } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

export interface LeaseRequest {
  readonly name: string
  readonly owner: string
  readonly millis: number
  /** How often the lease is extended. Default: a third of its time. */
  readonly heartbeatMillis?: number
}

export type HoldResult = { readonly _tag: "Held"; readonly held: LeaseHolder } | { readonly _tag: "Busy"; readonly holder: Lease }

type Mode = "held" | "lost" | "released"

/** A failed extension is tried again after this share of the heartbeat. */
const retryShare = 0.25

export class LeaseHolder {
  readonly lease: Lease
  readonly #leases: LeasesService
  readonly #clock: Clock.Clock
  readonly #millis: number
  readonly #heartbeatMillis: number
  #mode: Mode = "held"
  /** By the monotonic clock. */
  #deadline: number
  #listeners: Array<() => void> = []
  #heartbeat: Fiber.Fiber<void> | undefined

  private constructor(leases: LeasesService, clock: Clock.Clock, lease: Lease, request: LeaseRequest, askedAt: number) {
    this.#leases = leases
    this.#clock = clock
    this.lease = lease
    this.#millis = request.millis
    this.#heartbeatMillis = request.heartbeatMillis ?? request.millis / 3
    this.#deadline = askedAt + request.millis
  }

  /** Acquires the lease if it is free. An acquisition that is interrupted while the store is asked leaves no lease behind. */
  static tryHold(leases: LeasesService, request: LeaseRequest): Effect.Effect<HoldResult, PersistenceFailed> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const askedAt = monotonicMillis(clock)
        const asking = yield* Effect.forkDetach(leases.acquire(request.name, request.owner, request.millis), { startImmediately: true })
        const result = yield* Effect.onInterrupt(restore(Fiber.join(asking)), () => Effect.forkDetach(releaseLate(leases, asking)))
        if (result._tag === "Busy") return result
        const held = new LeaseHolder(leases, clock, result.lease, request, askedAt)
        held.#heartbeat = yield* Effect.forkDetach(held.#extendUntilOver, { startImmediately: true })
        return { _tag: "Held", held }
      }),
    )
  }

  /**
   * Tries to acquire the lease once. Uses it until `use` ends or the lease is lost, then releases it; runs `busy` while another
   * owner holds it. A store that does not answer within the time of the lease is a failure.
   */
  static withLease<E, E2, R, R2>(
    leases: LeasesService,
    request: LeaseRequest,
    use: (held: LeaseHolder) => Effect.Effect<unknown, E, R>,
    busy: (holder: Lease) => Effect.Effect<unknown, E2, R2>,
  ): Effect.Effect<void, E | E2 | PersistenceFailed, R | R2> {
    const timedOut = () => {
      const cause = new Error(`the store did not answer within the ${request.millis} ms of the lease`)
      return Effect.fail(new PersistenceFailed({ machine: "lease", id: request.name, operation: "acquire", cause }))
    }
    const attempt = Effect.timeoutOrElse(LeaseHolder.tryHold(leases, request), { duration: request.millis, orElse: timedOut })
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(attempt), (result): Effect.Effect<void, E | E2, R | R2> => {
        if (result._tag === "Busy") return Effect.asVoid(restore(busy(result.holder)))
        const { held } = result
        return Effect.asVoid(Effect.ensuring(restore(Effect.raceFirst(use(held), held.awaitLost)), held.release))
      }),
    )
  }

  /** Whether the lease is held. The first check after the deadline loses it, and notifies the listeners before it returns. */
  isHeld(): boolean {
    if (this.#mode === "held" && this.#remaining() <= 0) this.#lose()
    return this.#mode === "held"
  }

  /** Calls the listener synchronously when the lease is lost, or immediately if it is lost already. Never after a release. */
  onLost(listener: () => void) {
    if (this.#mode === "lost") listener()
    else if (this.#mode === "held") this.#listeners.push(listener)
  }

  /** Ends when the lease is lost. */
  readonly awaitLost: Effect.Effect<void> = Effect.callback((resume) => {
    const listener = () => resume(Effect.void)
    this.onLost(listener)
    return Effect.sync(() => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    })
  })

  /** Releases the lease. False where it is no longer held. A lease that the store fails to release ends by itself. */
  readonly release: Effect.Effect<boolean> = Effect.suspend(() => {
    if (!this.isHeld()) return Effect.succeed(false)
    this.#mode = "released"
    this.#listeners = []
    const released = Effect.catchCause(this.#leases.release(this.lease), (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.succeed(false)
        : Effect.as(Effect.logWarning(`lease ${this.lease.name} is not released and ends by itself: ${problemOf(cause)}`), false),
    )
    return Effect.andThen(
      this.#heartbeat === undefined ? Effect.void : Fiber.interrupt(this.#heartbeat),
      Effect.map(Effect.timeoutOption(released, this.#millis), (answer) => Option.getOrElse(answer, () => false)),
    )
  })

  #remaining(): number {
    return this.#deadline - monotonicMillis(this.#clock)
  }

  #lose() {
    this.#mode = "lost"
    for (const listener of this.#listeners.splice(0)) listener()
  }

  /** Each request ends at the deadline at the latest: a store that hangs does not delay the loss. */
  readonly #extendUntilOver: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    let failures = 0
    while (this.isHeld()) {
      const pause = failures === 0 ? this.#heartbeatMillis : this.#heartbeatMillis * retryShare
      const remaining = this.#remaining()
      yield* Effect.sleep(Math.ceil(Math.min(pause, remaining)))
      if (remaining <= pause || !this.isHeld()) continue
      const askedAt = monotonicMillis(this.#clock)
      const answer = yield* Effect.timeoutOption(Effect.exit(this.#leases.extend(this.lease, this.#millis)), this.#remaining())
      if (Option.isNone(answer) || !this.isHeld()) continue
      const extended = answer.value
      if (Exit.isFailure(extended)) {
        failures++
        if (failures > 1) continue
        yield* Effect.logWarning(`lease ${this.lease.name} is not extended; trying again until it ends: ${problemOf(extended.cause)}`)
      } else if (Option.isNone(extended.value)) return this.#lose()
      else {
        failures = 0
        this.#deadline = askedAt + this.#millis
      }
    }
  })
}

/** Releases a lease that the store granted after the caller had stopped waiting. */
const releaseLate = (leases: LeasesService, asking: Fiber.Fiber<LeaseResult, PersistenceFailed>): Effect.Effect<void> =>
  Effect.flatMap(Fiber.await(asking), (exit) =>
    Exit.isSuccess(exit) && exit.value._tag === "Acquired" ? Effect.ignore(leases.release(exit.value.lease)) : Effect.void,
  )
