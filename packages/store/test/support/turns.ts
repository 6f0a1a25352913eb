import * as Effect from "effect/Effect"

/** Counts the turns of the event loop while an effect runs. */
export const turnsDuring = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<{ readonly value: A; readonly turns: number }, E, R> =>
  Effect.suspend(() => {
    let turns = 0
    let next = setImmediate(function turn() {
      turns++
      next = setImmediate(turn)
    })
    return Effect.map(
      Effect.ensuring(
        effect,
        Effect.sync(() => clearImmediate(next)),
      ),
      (value) => ({ value, turns }),
    )
  })
