/** How long something takes, and when a wait is over: by a clock that nobody sets, as the wall clock of a machine may be adjusted. */
import type * as Clock from "effect/Clock"

/** Milliseconds since some moment of the process. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
