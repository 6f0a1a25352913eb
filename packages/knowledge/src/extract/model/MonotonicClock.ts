/** Milliseconds that only ever grow: not the time of day, which may be set back. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)
