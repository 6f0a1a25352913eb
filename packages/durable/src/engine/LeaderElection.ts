/**
 * Leader election: of many nodes one holds a lease and does what only one should do. Whoever cannot renew in time steps
 * down by itself, even when the store does not answer.
 */
import { DefinitionError } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Lease, Leases, type LeasesService } from "../store/Leases.ts"

export interface LeaderConfig {
  /** What is led. Nodes that name the same thing elect one among them. */
  readonly name: string
  readonly nodeId: string
  /** How long a leader that no longer renews stays the leader; 30 seconds unless told. */
  readonly lease?: Duration.Input
  /** How often the leader renews and the others try to follow it; 10 seconds unless told. It has to be shorter than the lease. */
  readonly renewal?: Duration.Input
}

export interface Leader {
  /** Whether this node leads right now. False from the moment its lease may be over, whatever the store says later. */
  readonly isLeader: Effect.Effect<boolean>
  /** Steps down and stays down. */
  readonly resign: Effect.Effect<void>
}

/** Takes part in the election until the scope closes; a node that stopped never comes back by itself. */
export const makeLeader = (config: LeaderConfig): Effect.Effect<Leader, never, Leases | Scope.Scope> =>
  Effect.gen(function* () {
    const leases = yield* Leases
    const lease = Duration.toMillis(Duration.fromInputUnsafe(config.lease ?? "30 seconds"))
    const renewal = Duration.toMillis(Duration.fromInputUnsafe(config.renewal ?? "10 seconds"))
    if (renewal >= lease) {
      return yield* Effect.die(
        new DefinitionError({
          problem: `a renewal every ${renewal} ms cannot keep a lease of ${lease} ms`,
          nextStep: "renew at most every third of the lease",
        }),
      )
    }
    const candidate = new Candidate(leases, config, lease)
    const round = Effect.timeoutOption(candidate.round, lease)
    yield* Effect.forkScoped(Effect.repeat(round, Schedule.spaced(renewal)), { startImmediately: true })
    // A store that does not answer must not keep a node from stopping: the lease ends by itself.
    yield* Effect.addFinalizer(() => Effect.timeoutOption(candidate.resign, lease))
    return { isLeader: candidate.isLeader, resign: candidate.resign }
  })

class Candidate {
  readonly #leases: LeasesService
  readonly #config: LeaderConfig
  readonly #millis: number
  #held: Lease | undefined
  /** By this node's own clock, counted from before the request: the store cannot think it lasts shorter. */
  #until = 0
  #resigned = false

  constructor(leases: LeasesService, config: LeaderConfig, millis: number) {
    this.#leases = leases
    this.#config = config
    this.#millis = millis
  }

  readonly isLeader: Effect.Effect<boolean> = Effect.map(
    Clock.currentTimeMillis,
    (now) => !this.#resigned && this.#held !== undefined && now < this.#until,
  )

  readonly round: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    if (this.#resigned) return
    const asked = yield* Clock.currentTimeMillis
    const held = this.#held
    const won = yield* held === undefined ? this.#acquire : Effect.map(this.#leases.extend(held, this.#millis), Option.getOrUndefined)
    // Whoever resigned while the store was being asked must not keep what it then got.
    if (this.#resigned) {
      if (won !== undefined) yield* this.#leases.release(won)
      return
    }
    this.#held = won
    if (won !== undefined) this.#until = asked + this.#millis
  }).pipe(
    // A store that fails leaves everything as it was: the lease ends by the clock unless a later round renews it.
    Effect.catch((error) => Effect.logWarning(`the election of ${this.#config.name} is tried again: ${error.message}`)),
  )

  get #acquire() {
    return Effect.map(this.#leases.acquire(this.#config.name, this.#config.nodeId, this.#millis), (result) =>
      result._tag === "Acquired" ? result.lease : undefined,
    )
  }

  readonly resign: Effect.Effect<void> = Effect.suspend(() => {
    this.#resigned = true
    const held = this.#held
    this.#held = undefined
    return held === undefined
      ? Effect.void
      : Effect.catch(Effect.asVoid(this.#leases.release(held)), (error) =>
          Effect.logWarning(`${held.name} could not be given back and ends by itself: ${error.message}`),
        )
  })
}
