/**
 * Wakes executions whose durable clock is due. A sleeping execution is a row in the store and nothing in memory: the process has one
 * deadline, the next of all clocks, and one fiber that sleeps until then.
 */

import type { ClaimedTimer, TimersService } from "@detent/store"
import { problemOf } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { timersFired } from "../runtime/Telemetry.ts"
import { type Claimed, type Outcome, TimerSweep } from "../timers/TimerSweep.ts"
import type { Executions } from "./Executions.ts"

const batchSize = 500

/** The longest time that clocks stay claimed after their process died before waking them. Claims also end with the lease of the process. */
const claimMillis = 5000

/** The longest delay until this process finds clocks that another process set before it died. */
const longestSleepMillis = 5000

export const makeClockSweep = (executions: Executions, timers: TimersService): TimerSweep => {
  const claim = Effect.gen(function* () {
    yield* executions.clock.refresh
    const { machines, owner, fence, shards } = executions
    const claimed = yield* timers.claim({ machines, limit: batchSize, owner, claimMillis, fence, shards })
    return { timers: claimed, overtaken: 0 } satisfies Claimed
  })
  const sweep = new TimerSweep({
    claim,
    fire: (timer) => wake(executions, timers, timer),
    claimMillis,
    batchSize,
    nextDue: Effect.suspend(() => timers.nextDue(executions.machines, undefined, executions.shards)),
    longestPause: () => Effect.succeed(longestSleepMillis),
    // A clock that did not fire stays claimed until its claim expires.
    retryMillis: 0,
  })
  executions.onClockSet((due) => sweep.wakeBy(due - executions.clock.offset))
  return sweep
}

/**
 * Also removes the row of a clock that fired before or whose execution has ended. If the execution cannot be woken, the clock is tried
 * again.
 */
const wake = (executions: Executions, timers: TimersService, timer: ClaimedTimer): Effect.Effect<Outcome> => {
  const { machine, id, name } = timer
  const woken = Effect.gen(function* () {
    yield* executions.deliver({ machine, id }, { _tag: "ClockFired", name })
    yield* Metric.update(timersFired, 1)
    yield* Effect.ignore(timers.complete(timer))
    return "fired" as const
  })
  return Effect.catchCause(woken, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.as(Effect.logError(`clock ${name} of ${machine} ${id} did not fire: ${problemOf(cause)}`), "failed" as const),
  )
}
