/**
 * Limits of time for waiting, which grow with the load of the machine: a limit is the time that a process would wait on an idle machine. Tests
 * need no limits of their own besides: `vitest.config.ts` ends tests that hang.
 */
import { availableParallelism, loadavg } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The number of processes that share a core, at least 1. Windows does not say. */
export const slowness = (): number => Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())

/** The number of milliseconds after which this limit is over, with the present load. */
export const scaled = (millis: number): number => millis * slowness()

/** A limit that has begun. Each moment counts as the share of a core that a process has then, so that a load that comes later counts too. */
export class Patience {
  readonly #millis: number
  #left: number
  #at = performance.now()

  constructor(millis: number) {
    this.#millis = millis
    this.#left = millis
  }

  /** Must be asked again and again while something is waited for. */
  get isOver(): boolean {
    const now = performance.now()
    this.#left -= (now - this.#at) / slowness()
    this.#at = now
    return this.#left <= 0
  }

  /** Begins the limit again, when something has happened meanwhile. */
  renew(): void {
    this.#left = this.#millis
    this.#at = performance.now()
  }
}

const overMessage = (what: string, millis: number) => `${what}: not within ${millis / 1000} s of an idle machine`

/** Waits until a condition holds, and throws when the limit is over. */
export const until = async (what: string | (() => string), holds: () => boolean | Promise<boolean>, millis = 30_000): Promise<void> => {
  const patience = new Patience(millis)
  while (!(await holds())) {
    if (patience.isOver) throw new Error(overMessage(typeof what === "string" ? what : what(), millis))
    await sleep(20)
  }
}

/** Fails a test with a defect when an effect takes longer than the limit. */
export const within =
  (limit: Duration.Input, what = "the effect") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const millis = Duration.toMillis(Duration.fromInputUnsafe(limit))
    const over = Effect.promise(async () => {
      const patience = new Patience(millis)
      while (!patience.isOver) await sleep(20, undefined, { ref: false })
    })
    return Effect.raceFirst(effect, Effect.andThen(over, Effect.die(new Error(overMessage(what, millis)))))
  }
