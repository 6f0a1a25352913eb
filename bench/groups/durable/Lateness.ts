/** The lateness of timers that are all due at the same time. */
import type { Abilities } from "../../measure/Player.ts"

export interface Lateness extends Abilities {
  /** Sets the given number of timers, due after the given milliseconds, and waits until all have fired. */
  readonly fire: (count: number, leadMillis: number) => Promise<Fired>
}

export interface Fired {
  /** Until the user's code of the timer was called. */
  readonly called: Spread
  /** Until the result was stored and acknowledged to the process. */
  readonly stored: Spread
  /** Called before they were due. */
  readonly early: number
  /** Called more than once, or for an unknown timer. */
  readonly repeated: number
  /** Not stored within the time given. */
  readonly missing: number
}

/** Milliseconds. */
export interface Spread {
  readonly median: number
  readonly p99: number
  readonly last: number
}

/** After this many milliseconds, timers that have not fired are missing. */
const patience = 20_000

/** Records when each timer fires. Timers are numbered, so that recording costs less than firing. */
export class Firings {
  readonly #count: number
  readonly #due: number
  readonly #called: Float64Array
  readonly #stored: Float64Array
  #left: number
  #repeated = 0
  #allStored: () => void = () => undefined
  readonly #all: Promise<void>

  constructor(count: number, due: number) {
    this.#count = count
    this.#due = due
    this.#called = new Float64Array(count).fill(Number.NaN)
    this.#stored = new Float64Array(count).fill(Number.NaN)
    this.#left = count
    this.#all = new Promise((resolve) => {
      this.#allStored = resolve
    })
  }

  called(number: number) {
    if (Number.isNaN(this.#called[number])) this.#called[number] = Date.now() - this.#due
    else this.#repeated++
  }

  stored(number: number) {
    if (!Number.isNaN(this.#stored[number])) return
    this.#stored[number] = Date.now() - this.#due
    this.#left--
    if (this.#left === 0) this.#allStored()
  }

  /** Call it when all timers are set. Waits a little beyond the last one, to find timers that fire twice. */
  async results(): Promise<Fired> {
    // Timers are set long before they are due, so the garbage of setting them is collected before they fire.
    globalThis.gc?.()
    if (Date.now() >= this.#due) throw new Error("setting the timers took longer than the time until they were due")
    await Promise.race([this.#all, sleep(this.#due - Date.now() + patience)])
    await sleep(300)
    const called = sorted(this.#called)
    const stored = sorted(this.#stored)
    return {
      called: spreadOf(called),
      stored: spreadOf(stored),
      early: called.filter((lateness) => lateness < 0).length,
      repeated: this.#repeated,
      missing: this.#count - stored.length,
    }
  }
}

const sorted = (latenesses: Float64Array): ReadonlyArray<number> =>
  [...latenesses].filter((one) => !Number.isNaN(one)).sort((a, b) => a - b)

const spreadOf = (latenesses: ReadonlyArray<number>): Spread => {
  const at = (share: number) => latenesses[Math.ceil(latenesses.length * share) - 1] ?? Number.NaN
  return { median: at(0.5), p99: at(0.99), last: at(1) }
}

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis).unref())
