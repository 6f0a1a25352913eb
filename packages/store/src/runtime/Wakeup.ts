/** Wakes a loop that sleeps until its next time. A call while the loop is not asleep is kept for its next wait, so that none is lost. */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/** Longer sleeps overflow the timers of the JavaScript engine. */
const longestSleep = 2 ** 31 - 1

export class Wakeup {
  readonly #latch = Latch.makeUnsafe(false)

  wake() {
    this.#latch.openUnsafe()
  }

  /** Forgets calls since the last wait: the loop is about to handle them. */
  clear() {
    this.#latch.closeUnsafe()
  }

  /** Waits for a call of `wake`, at most this many milliseconds. Returns whether there was one since the last wait. */
  wait(millis: number): Effect.Effect<boolean> {
    const woken = Effect.map(this.#latch.await, () => {
      this.#latch.closeUnsafe()
      return true
    })
    if (millis === Number.POSITIVE_INFINITY) return woken
    return Effect.raceFirst(woken, Effect.as(Effect.sleep(Math.min(millis, longestSleep)), false))
  }
}
