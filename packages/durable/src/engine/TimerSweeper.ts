/**
 * The safety net under timers: finds what came due while nobody had it in memory, after a restart or on another node, and
 * fires it. It sleeps until the earliest deadline, never longer than its interval.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { NewerVersion } from "../instance/NewerVersion.ts"
import type { ClaimedTimer } from "../store/Timers.ts"
import type { EngineCore } from "./EngineCore.ts"
import { timersDead } from "./EngineMetrics.ts"
import type { Leader } from "./LeaderElection.ts"

/** What one sweep came to. */
export interface Sweep {
  readonly fired: number
  readonly stale: number
  readonly failed: number
  readonly dead: number
}

const retryPauseMillis = 1000

export const nothing: Sweep = { fired: 0, stale: 0, failed: 0, dead: 0 }

/** Claims what is due and fires it, once. A store that is away is told to the log. */
export const sweep = (core: EngineCore, graceMillis: number): Effect.Effect<Sweep> =>
  Effect.map(trySweep(core, graceMillis), (swept) => swept ?? nothing)

/** Undefined where the store could not be reached: the next sweep asks again. */
const trySweep = (core: EngineCore, graceMillis: number): Effect.Effect<Sweep | undefined> =>
  Effect.gen(function* () {
    const { nodeId, sweeper } = core.config
    const { timers, overtaken } = yield* core.claimTimers({
      machines: core.machineNames,
      versions: core.machineVersions,
      graceMillis,
      limit: sweeper.batchSize,
      owner: nodeId,
      claimMillis: sweeper.claimMillis,
    })
    // Those that are not in memory are read together. Where that fails, each of them finds out for itself.
    yield* Effect.ignore(core.openEach(timers))
    const results = yield* Effect.forEach(timers, (timer) => fire(core, timer), { concurrency: "unbounded" })
    const count = (kind: keyof Sweep) => results.filter((result) => result === kind).length
    return { fired: count("fired"), stale: count("stale") + overtaken, failed: count("failed"), dead: count("dead") }
  }).pipe(
    Effect.catch((error) =>
      Effect.as(Effect.logWarning(`a sweep could not reach the store; the next one tries again: ${failureOf(error)}`), undefined),
    ),
  )

/** Without the name of what failed: that is in the sentence already. */
const failureOf = ({ operation, cause }: PersistenceFailed): string =>
  `${operation} failed: ${cause instanceof Error ? cause.message : String(cause)}`

/** An instance that is busy for longer than the claim lasts must not keep the sweeper from the others. */
const fire = (core: EngineCore, timer: ClaimedTimer): Effect.Effect<keyof Sweep> =>
  Effect.timeoutOrElse(fireOrRelease(core, timer), {
    duration: core.config.sweeper.claimMillis,
    orElse: () => Effect.succeed("failed" as const),
  })

const fireOrRelease = (core: EngineCore, timer: ClaimedTimer): Effect.Effect<keyof Sweep> =>
  Effect.catch(core.fire(timer), (error) => {
    // A refusal is an answer: the event was decided on, and the instance has taken the timer away.
    if (error._tag === "TransitionRefused" || error._tag === "InvalidTransition" || error._tag === "MachineStopped") {
      return Effect.as(Effect.ignore(core.timers.complete(timer)), "stale" as const)
    }
    // Another node has gone on with a newer version since it was claimed.
    if (error instanceof NewerVersion) return Effect.as(Effect.ignore(core.timers.release(timer, core.config.nodeId)), "failed" as const)
    // An instance that is held keeps its deadlines: it has to meet them once it is repaired. The claim ends by itself.
    if (error._tag === "EventReplayError") return Effect.succeed("failed" as const)
    if (timer.attempts < core.config.sweeper.maxAttempts) {
      return Effect.as(Effect.ignore(core.timers.release(timer, core.config.nodeId)), "failed" as const)
    }
    return Effect.as(
      Effect.andThen(
        Effect.ignore(core.timers.bury(timer, error.message)),
        Effect.andThen(
          Metric.update(timersDead, 1),
          Effect.logError(`timer ${timer.name} of ${timer.machine} ${timer.id} was given up: ${error.message}`),
        ),
      ),
      "dead" as const,
    )
  })

/** Sweeps for as long as the scope lasts. */
export const sweepForever = (core: EngineCore, leader: Leader | undefined): Effect.Effect<never> =>
  Effect.gen(function* () {
    const machineAdded = Latch.makeUnsafe(false)
    core.whenMachineAdded(() => machineAdded.openUnsafe())
    const { intervalMillis, jitter, backoffMillis, batchSize, graceMillis } = core.config.sweeper
    // What is overdue at the start has waited long enough.
    let grace = 0
    for (;;) {
      // They are late because there are many, not because nobody has them. But others may wait that really nobody has.
      for (let waited = 0; core.isFiring && waited < intervalMillis; waited += graceMillis + 1) yield* Effect.sleep(graceMillis + 1)
      const leads = leader === undefined || (yield* leader.isLeader)
      machineAdded.closeUnsafe()
      const tried = leads ? yield* trySweep(core, grace) : nothing
      const swept = tried ?? nothing
      const found = swept.fired + swept.stale + swept.failed + swept.dead
      if (leads) grace = graceMillis
      if (found >= batchSize && swept.failed < found) continue
      const random = yield* Random.next
      const wait = Math.ceil(intervalMillis * (1 + jitter * random)) + (found === 0 ? backoffMillis : 0)
      const next = leads
        ? yield* Effect.orElseSucceed(core.timers.nextDue(core.machineNames, core.machineVersions), () => Option.none<number>())
        : Option.none<number>()
      // What just failed is still due: it gets a pause before it is tried again. So does a store that is away.
      const untilNext = Option.match(next, { onNone: () => wait, onSome: (millis) => Math.max(1, millis + grace) })
      const pause = tried === undefined ? wait : swept.failed > 0 ? retryPauseMillis : untilNext
      const woken = yield* Effect.raceFirst(Effect.as(Effect.sleep(Math.min(wait, pause)), false), Effect.as(machineAdded.await, true))
      // What a machine left behind has waited long enough, like all that is overdue at the start.
      if (woken) grace = 0
    }
  })
