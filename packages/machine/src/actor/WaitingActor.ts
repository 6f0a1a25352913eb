/** An actor that waits for Effects of its own doing: hooks, effectful decisions. Nothing is decided meanwhile. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { ActorState } from "./ActorState.ts"

export abstract class WaitingActor extends ActorState {
  #underway: Set<Fiber.Fiber<unknown, unknown>> | undefined = undefined

  /** What it waited for is over, and what was to be done then is done. */
  protected abstract goOn(): void

  protected get isWaiting(): boolean {
    return this.#underway !== undefined
  }

  /** Goes on after an Effect; inline when it ends at once. One that failed or was interrupted has no value. */
  protected later<A>(effect: Effect.Effect<A, never, unknown>, then: (value: A | undefined) => void) {
    const fiber = this.environment.run(effect)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return then(Exit.isSuccess(exit) ? exit.value : undefined)
    this.#underway ??= new Set()
    this.#underway.add(fiber)
    fiber.addObserver((exit) => {
      this.#underway?.delete(fiber)
      if (this.#underway?.size === 0) this.#underway = undefined
      then(Exit.isSuccess(exit) ? exit.value : undefined)
      this.goOn()
    })
  }

  /** Nobody waits for it any more. */
  protected interruptUnderway() {
    if (this.#underway === undefined) return
    for (const fiber of this.#underway) fiber.interruptUnsafe()
  }
}
