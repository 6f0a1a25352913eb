/**
 * Claims due timers, fires them, and sleeps until the next one is due, by the store's clock. A full batch is followed by the next
 * without a pause. Any number of processes may sweep the same store: each timer is claimed by one of them, and the claim of a
 * process that dies ends by itself.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { ClaimedTimer } from "@detent/store"
import { Wakeup } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** The result of one sweep. */
export interface Sweep {
  readonly fired: number
  readonly stale: number
  readonly failed: number
  readonly dead: number
}

export type Outcome = keyof Sweep

export const nothing: Sweep = { fired: 0, stale: 0, failed: 0, dead: 0 }

/** The claims of a sweep. */
export interface Claimed {
  readonly timers: ReadonlyArray<ClaimedTimer>
  /** How many more were fired and stored by this process before the store answered. */
  readonly overtaken: number
}

export interface Firing {
  /** Claims due timers, in the order of their deadlines. */
  readonly claim: Effect.Effect<Claimed, PersistenceFailed>
  readonly fire: (timer: ClaimedTimer) => Effect.Effect<Outcome>
  /** How long the claims last. A timer that takes longer counts as failed, and does not delay the sweep. */
  readonly claimMillis: number
}

/** One sweep. */
export const sweepOnce = ({ claim, fire, claimMillis }: Firing): Effect.Effect<Sweep, PersistenceFailed> =>
  Effect.gen(function* () {
    const { timers, overtaken } = yield* claim
    const outcomes: Array<Outcome> = timers.map(() => "failed")
    const firing = (timer: ClaimedTimer, index: number) =>
      Effect.map(fire(timer), (outcome) => {
        outcomes[index] = outcome
      })
    yield* Effect.timeoutOption(Effect.forEach(timers, firing, { concurrency: "unbounded", discard: true }), claimMillis)
    const count = (kind: Outcome) => outcomes.filter((outcome) => outcome === kind).length
    return { fired: count("fired"), stale: count("stale") + overtaken, failed: count("failed"), dead: count("dead") }
  })

export interface TimerSweepOptions extends Firing {
  /** The most timers that `claim` returns. */
  readonly batchSize: number
  /** Milliseconds until the next timer can be claimed; negative where it is overdue. */
  readonly nextDue: Effect.Effect<Option.Option<number>, PersistenceFailed>
  /** The longest pause after a sweep that found this many timers. It is bounded because other processes set timers too. */
  readonly longestPause: (found: number) => Effect.Effect<number>
  /** The pause after a sweep in which timers failed. They are still due, and would be claimed again immediately. */
  readonly retryMillis: number
  /** Called when `wake` ends a pause. */
  readonly woken?: () => void
}

export class TimerSweep {
  readonly #options: TimerSweepOptions
  readonly #wakeup = new Wakeup()
  /** By the clock of this process. */
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(options: TimerSweepOptions) {
    this.#options = options
  }

  /** Sweeps immediately. */
  wake() {
    this.#wakeup.wake()
  }

  /** A timer was set: sweeps no later than it is due, by the clock of this process. */
  wakeBy(due: number) {
    if (due < this.#wakesAt) this.wake()
  }

  /** One sweep, and the pause until the next timer is due. */
  readonly turn: Effect.Effect<void, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    const { batchSize, longestPause, nextDue, retryMillis, woken } = this.#options
    this.#wakeup.clear()
    // While the sweep reads, every timer that is set wakes it again: the read may not have seen that timer.
    this.#wakesAt = Number.POSITIVE_INFINITY
    const swept = yield* sweepOnce(this.#options)
    const found = swept.fired + swept.stale + swept.failed + swept.dead
    if (found >= batchSize && swept.failed < found) return
    const longest = yield* longestPause(found)
    const next = Option.match(yield* nextDue, { onNone: () => longest, onSome: (millis) => Math.max(1, Math.ceil(millis)) })
    const pause = Math.min(longest, swept.failed > 0 && retryMillis > 0 ? retryMillis : next)
    this.#wakesAt = (yield* Clock.currentTimeMillis) + pause
    if (yield* this.#wakeup.wait(pause)) woken?.()
  })
}
