/** Runs the effects of one name one at a time, in the order in which they came. Effects of other names do not wait for them. */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

interface Turn {
  readonly semaphore: Semaphore.Semaphore
  /** How many effects run or wait. */
  users: number
}

export class Turns {
  /** Contains only names that are in use, which bounds memory. */
  readonly #turns = new Map<string, Turn>()

  alone<A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const turn = this.#turns.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
        turn.users++
        this.#turns.set(name, turn)
        return turn
      }),
      ({ semaphore }) => semaphore.withPermit(effect),
      (turn) =>
        Effect.sync(() => {
          if (--turn.users === 0) this.#turns.delete(name)
        }),
    )
  }
}
