/** Tells failures of what runs inside a transaction apart from those of the transaction. */
import * as Effect from "effect/Effect"

class Inside<E> {
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/** Runs an effect inside something that may fail too, and gives each failure its own type. */
export const inside = <A, E, R, E2, E3>(
  effect: Effect.Effect<A, E, R>,
  around: (effect: Effect.Effect<A, Inside<E>, R>) => Effect.Effect<A, Inside<E> | E2, R>,
  onFailure: (error: E2) => Effect.Effect<never, E3>,
): Effect.Effect<A, E | E3, R> =>
  Effect.catch(
    around(Effect.mapError(effect, (error) => new Inside(error))),
    (error): Effect.Effect<never, E | E3> => (error instanceof Inside ? Effect.fail(error.error) : onFailure(error)),
  )
