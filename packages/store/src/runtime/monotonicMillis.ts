/** How long something takes, and when a wait is over. The wall clock of a machine may be adjusted meanwhile; this clock may not. */
import type * as Clock from "effect/Clock"

/** Milliseconds since some moment of the process. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
