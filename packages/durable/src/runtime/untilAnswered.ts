/** Asks a store that fails again and again, at most 2 seconds apart, until it answers. For requests without which the caller cannot continue. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

const backoff = Schedule.min([Schedule.exponential("50 millis", 1.5), Schedule.spaced("2 seconds")])

export const untilAnswered = <A>(effect: Effect.Effect<A, PersistenceFailed>): Effect.Effect<A> =>
  Effect.orDie(Effect.retry(effect, backoff))
