/**
 * The store's time in this process. The store decides which timers are due, so deadlines are computed from its clock: the clock of a
 * process may be wrong, or be set while the process runs. The difference between the two clocks is measured at the start and then
 * regularly; between measurements it is added to the clock of the process.
 */
import type { PersistenceFailed } from "@detent/machine"
import { Environment } from "@detent/machine/internal"
import type { JournalService } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Clocks that differ by less than this count as equal. */
const toleranceMillis = 1000

/** How often the clocks are compared. */
const measureMillis = 5000

export class StoreClock {
  readonly #journal: JournalService
  #offset = 0
  #measuredAt = Number.NEGATIVE_INFINITY

  constructor(journal: JournalService) {
    this.#journal = journal
  }

  /** How far the store's clock is ahead of the clock of this process, as last measured. */
  get offset(): number {
    return this.#offset
  }

  /** Reads the store's time between two readings of the process clock. Keeps an offset that fits both, and prefers 0. */
  readonly measure: Effect.Effect<void, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    const before = yield* Clock.currentTimeMillis
    const store = yield* this.#journal.clock
    const after = yield* Clock.currentTimeMillis
    const fits = (offset: number) => offset > store - after - toleranceMillis && offset < store - before + toleranceMillis
    if (fits(0)) this.#offset = 0
    else if (!fits(this.#offset)) this.#offset = Math.round(store - (before + after) / 2)
    this.#measuredAt = after
  })

  /** Measures again if the last measurement is some seconds old, or the clock of the process was set back since. */
  readonly refresh: Effect.Effect<void, PersistenceFailed> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    now >= this.#measuredAt && now < this.#measuredAt + measureMillis ? Effect.void : this.measure,
  )

  /** The same services, with a clock that shows the store's time. Sleeps are those of the process. */
  applyTo(environment: Environment): Environment {
    const { context, clock } = environment
    const nanos = () => BigInt(this.#offset) * 1_000_000n
    return new Environment(context, {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + this.#offset,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + this.#offset),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + nanos(),
      currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + nanos()),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration),
    })
  }
}
