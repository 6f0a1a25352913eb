/**
 * Wakes executions whose durable clock is due. A sleeping execution is a row in the store and nothing in memory: there is one
 * deadline here, the next one of all, and one fiber that sleeps until then.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { timersFired } from "../engine/EngineMetrics.ts"
import type { ClaimedTimer, TimersService } from "../store/Timers.ts"
import type { Executions } from "./Executions.ts"

const batchSize = 500

/** Clocks of a process that dies between claiming and waking are claimed again after this. */
const claimMillis = 5000

/** Clocks that another process has set and died with are found this late at most. */
const longestSleepMillis = 5000

export class ClockSweep {
  readonly #executions: Executions
  readonly #timers: TimersService
  readonly #earlier = Latch.makeUnsafe(false)
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(executions: Executions, timers: TimersService) {
    this.#executions = executions
    this.#timers = timers
    executions.whenClockSet((due) => {
      if (due < this.#wakesAt) this.#earlier.openUnsafe()
    })
  }

  /** A workflow has been registered: its clocks may be due for long. */
  workflowAdded() {
    this.#earlier.openUnsafe()
  }

  /** One sweep, and the pause until the next clock is due. */
  readonly turn: Effect.Effect<void, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    this.#earlier.closeUnsafe()
    const pause = yield* this.#sweep
    if (pause === 0) return
    this.#wakesAt = (yield* Clock.currentTimeMillis) + pause
    yield* Effect.timeoutOption(this.#earlier.await, pause)
    this.#wakesAt = Number.NEGATIVE_INFINITY
  })

  /** Wakes what is due. Returns how long to sleep until the next. */
  readonly #sweep: Effect.Effect<number, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    const { machines, owner } = this.#executions
    const claimed = yield* this.#timers.claim({ machines, limit: batchSize, owner, claimMillis })
    // One that is slow to be stored must not keep the others waiting; its claim ends by itself.
    const waking = Effect.forEach(claimed, (timer) => this.#wake(timer), { concurrency: "unbounded", discard: true })
    yield* Effect.timeoutOption(waking, claimMillis)
    if (claimed.length === batchSize) return 0
    const next = yield* this.#timers.nextDue(machines)
    if (Option.isNone(next)) return longestSleepMillis
    return Math.min(longestSleepMillis, Math.max(0, Math.ceil(next.value)))
  })

  /** Where the clock has fired before, or the execution has ended, only the row is left to go. */
  #wake(timer: ClaimedTimer): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const key = { machine: timer.machine, id: timer.id }
      yield* this.#executions.deliver(key, { _tag: "ClockFired", name: timer.name })
      yield* Metric.update(timersFired, 1)
      yield* Effect.ignore(this.#timers.complete(timer))
    })
  }
}
