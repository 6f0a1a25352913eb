/**
 * Wakes executions whose durable clock is due. A sleeping execution is a row in the store and nothing in memory: the process has one
 * deadline, the next of all clocks, and one fiber that sleeps until then.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { timersFired } from "../engine/EngineMetrics.ts"
import { Wakeup } from "../runtime/Wakeup.ts"
import type { ClaimedTimer, TimersService } from "../store/Timers.ts"
import type { Executions } from "./Executions.ts"

const batchSize = 500

/** How long the clocks of a process that dies between claiming and waking stay claimed, at most: the claim ends with its lease. */
const claimMillis = 5000

/** How late clocks are found at most that another process has set before it died. */
const longestSleepMillis = 5000

/** How often the store's clock is compared with this process's. */
const measureMillis = 60_000

export class ClockSweep {
  readonly #executions: Executions
  readonly #timers: TimersService
  readonly #wakeup = new Wakeup()
  /** By the store's clock. */
  #wakesAt = Number.POSITIVE_INFINITY
  #measuresAt = Number.NEGATIVE_INFINITY

  constructor(executions: Executions, timers: TimersService) {
    this.#executions = executions
    this.#timers = timers
    executions.onClockSet((due) => {
      if (due < this.#wakesAt) this.#wakeup.wake()
    })
  }

  /** Sweeps at once: clocks of a workflow that was just registered may be overdue. */
  workflowAdded() {
    this.#wakeup.wake()
  }

  /** One sweep, and the pause until the next clock is due. */
  readonly turn: Effect.Effect<void, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    // While the sweep reads, every clock that is set wakes it again: it may not have seen that one.
    this.#wakesAt = Number.POSITIVE_INFINITY
    const pause = yield* this.#sweep
    if (pause === 0) return
    this.#wakesAt = (yield* Clock.currentTimeMillis) + this.#executions.clockOffset + pause
    yield* this.#wakeup.wait(pause)
  })

  /** Wakes executions whose clock is due. Returns how long to sleep until the next clock. */
  readonly #sweep: Effect.Effect<number, PersistenceFailed> = Effect.gen({ self: this }, function* () {
    const { machines, owner, fence } = this.#executions
    const now = yield* Clock.currentTimeMillis
    if (now >= this.#measuresAt || now < this.#measuresAt - measureMillis) {
      yield* this.#executions.measureClock
      this.#measuresAt = now + measureMillis
    }
    const claimed = yield* this.#timers.claim({ machines, limit: batchSize, owner, claimMillis, fence })
    // An execution that is slow to be stored does not delay the others; its claim ends by itself.
    const waking = Effect.forEach(claimed, (timer) => this.#wake(timer), { concurrency: "unbounded", discard: true })
    yield* Effect.timeoutOption(waking, claimMillis)
    if (claimed.length === batchSize) return 0
    const next = yield* this.#timers.nextDue(machines)
    if (Option.isNone(next)) return longestSleepMillis
    return Math.min(longestSleepMillis, Math.max(0, Math.ceil(next.value)))
  })

  /** Removes the row also where the clock has fired before or the execution has ended. One that cannot be woken is tried again. */
  #wake(timer: ClaimedTimer): Effect.Effect<void> {
    const { machine, id, name } = timer
    const woken = Effect.gen({ self: this }, function* () {
      yield* this.#executions.deliver({ machine, id }, { _tag: "ClockFired", name })
      yield* Metric.update(timersFired, 1)
      yield* Effect.ignore(this.#timers.complete(timer))
    })
    return Effect.catchCause(woken, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logError(`clock ${name} of ${machine} ${id} did not fire`, cause),
    )
  }
}
