/**
 * Makes the engine a node when the first machine with work is registered. An engine without such machines needs no lease and
 * writes no heartbeats.
 */
import type { Environment } from "@detent/machine/internal"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { PlacementService } from "./Placement.ts"

export class NodeMembership {
  readonly #environment: Environment
  readonly #make: Effect.Effect<PlacementService>
  readonly #timeout: Duration.Duration
  readonly #listeners = new Set<(placement: PlacementService) => void>()
  #joining: Fiber.Fiber<PlacementService> | undefined
  #placement: PlacementService | undefined
  #isClosed = false

  constructor(environment: Environment, make: Effect.Effect<PlacementService>, timeout: Duration.Duration) {
    this.#environment = environment
    this.#make = make
    this.#timeout = timeout
  }

  /** Undefined until the engine has joined. */
  get placement(): PlacementService | undefined {
    return this.#placement
  }

  /**
   * Becomes a node. Callers share one attempt, which continues if a caller is interrupted. During an outage of the store a caller
   * waits no longer than the store timeout: instances that it stores without an owner are taken over once a process is a node.
   */
  readonly join: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#placement !== undefined || this.#isClosed) return Effect.void
    this.#joining ??= this.#environment.run(
      Effect.tap(this.#make, (placement) =>
        Effect.sync(() => {
          this.#placement = placement
          for (const listener of this.#listeners) listener(placement)
        }),
      ),
    )
    return Effect.asVoid(Effect.timeoutOption(Fiber.await(this.#joining), this.#timeout))
  })

  /** Ends an attempt in progress. */
  close() {
    this.#isClosed = true
    this.#joining?.interruptUnsafe()
  }

  /** Calls back when the engine has joined, and immediately where it has. */
  onJoined(listener: (placement: PlacementService) => void) {
    this.#listeners.add(listener)
    if (this.#placement !== undefined) listener(this.#placement)
  }
}
