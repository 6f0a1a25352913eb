/** How late timers fire that are all due at one instant. */
import type { Abilities } from "../../measure/Player.ts"

export interface Lateness extends Abilities {
  /** Sets so many timers, due so many milliseconds from now, and waits until all have fired. */
  readonly fire: (count: number, leadMillis: number) => Promise<Fired>
}

export interface Fired {
  readonly median: number
  readonly p99: number
  readonly last: number
  /** Before they were due. */
  readonly early: number
  /** More than once, or for nobody. */
  readonly repeated: number
  /** Not within the time given. */
  readonly missing: number
}

/** After this many milliseconds, timers that have not fired are missing. */
const patience = 20_000

/** Notes when each of a number of timers fires. */
export class Firings {
  readonly #count: number
  readonly #due: number
  readonly #latenesses = new Map<string, number>()
  #repeated = 0
  #allFired: () => void = () => undefined
  readonly #all: Promise<void>

  constructor(count: number, due: number) {
    this.#count = count
    this.#due = due
    this.#all = new Promise((resolve) => {
      this.#allFired = resolve
    })
  }

  fired(id: string) {
    if (this.#latenesses.has(id)) this.#repeated++
    else this.#latenesses.set(id, Date.now() - this.#due)
    if (this.#latenesses.size === this.#count) this.#allFired()
  }

  /** Call it when all are set. Waits a little longer than for the last: another could fire twice. */
  async results(): Promise<Fired> {
    if (Date.now() >= this.#due) throw new Error("setting the timers took longer than the time until they were due")
    await Promise.race([this.#all, sleep(this.#due - Date.now() + patience)])
    await sleep(300)
    const sorted = [...this.#latenesses.values()].sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
    return {
      median: at(0.5),
      p99: at(0.99),
      last: at(1),
      early: sorted.filter((lateness) => lateness < 0).length,
      repeated: this.#repeated,
      missing: this.#count - sorted.length,
    }
  }
}

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis).unref())
