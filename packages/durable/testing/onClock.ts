/** A process whose wall clock is wrong, or is set while it runs. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Runs it with a wall clock that is off by that many milliseconds at each reading. Its monotonic clock and its sleeps stay right. */
export const onClock = <A, E, R>(offset: () => number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const nanos = () => BigInt(offset()) * 1_000_000n
    return Effect.provideService(effect, Clock.Clock, {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + offset(),
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + offset()),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + nanos(),
      currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + nanos()),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration),
    })
  })
