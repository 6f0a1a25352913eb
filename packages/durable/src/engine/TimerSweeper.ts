/**
 * The safety net under timers: finds timers that came due while no process had them in memory, after a restart or on another
 * node, and fires them. It sleeps until the earliest deadline, never longer than its interval.
 */
import { NewerVersion, type PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { forkLoop } from "../runtime/BackgroundLoop.ts"
import type { ClaimedTimer } from "../store/Timers.ts"
import { timersDead } from "./EngineMetrics.ts"
import type { EngineParts } from "./EngineParts.ts"
import type { Leader } from "./LeaderElection.ts"

/** What one sweep did. */
export interface Sweep {
  readonly fired: number
  readonly stale: number
  readonly failed: number
  readonly dead: number
}

/** A timer that could not be fired is tried again after this time. */
const retryMillis = 1000

export const nothing: Sweep = { fired: 0, stale: 0, failed: 0, dead: 0 }

/** The name under which this process claims timers. */
const nameOf = ({ config, context }: EngineParts): string => context.placement?.node() ?? config.nodeId

/** Claims due timers and fires them, once. */
export const sweep = (engine: EngineParts, graceMillis: number): Effect.Effect<Sweep, PersistenceFailed> =>
  Effect.gen(function* () {
    const { config, registry, table, timers } = engine
    const fence = engine.context.placement?.fence()
    const { timers: claimed, overtaken } = yield* timers.claim({
      machines: registry.names,
      versions: registry.versions,
      graceMillis,
      limit: config.sweeper.batchSize,
      owner: nameOf(engine),
      claimMillis: config.sweeper.claimMillis,
      // When this process is killed, others need not wait until its claims end.
      ...(fence === undefined ? {} : { fence }),
    })
    // Instances that are not in memory are read together. Where that fails, each timer finds out for itself.
    yield* Effect.ignore(table.openEach(claimed))
    const results = yield* Effect.forEach(claimed, (timer) => fire(engine, timer), { concurrency: "unbounded" })
    const count = (kind: keyof Sweep) => results.filter((result) => result === kind).length
    return { fired: count("fired"), stale: count("stale") + overtaken, failed: count("failed"), dead: count("dead") }
  })

/** The failed operation and its cause, without the machine: a sweep is for all of them. */
export const failureOf = ({ operation, cause }: PersistenceFailed): string =>
  `${operation} failed: ${cause instanceof Error ? cause.message : String(cause)}`

/** An instance that is busy for longer than the claim lasts must not keep the sweeper from the others. */
const fire = (engine: EngineParts, timer: ClaimedTimer): Effect.Effect<keyof Sweep> =>
  Effect.timeoutOrElse(fireOrRelease(engine, timer), {
    duration: engine.config.sweeper.claimMillis,
    orElse: () => Effect.succeed("failed" as const),
  })

const fireOrRelease = (engine: EngineParts, timer: ClaimedTimer): Effect.Effect<keyof Sweep> => {
  const { config, timers, timerStore } = engine
  const release = Effect.as(Effect.ignore(timerStore.release(timer, nameOf(engine))), "failed" as const)
  return Effect.catch(timers.fire(timer), (error) => {
    // A refusal is an answer: the event was decided on, and the instance has removed the timer.
    if (error._tag === "TransitionRefused" || error._tag === "InvalidTransition" || error._tag === "MachineStopped") {
      return Effect.as(Effect.ignore(timerStore.complete(timer)), "stale" as const)
    }
    // Another node has changed the instance with a newer version since it was claimed.
    if (error instanceof NewerVersion) return release
    // A held instance keeps its deadlines: it has to meet them once it is repaired. The claim ends by itself.
    if (error._tag === "EventReplayError") return Effect.succeed("failed" as const)
    if (timer.attempts < config.sweeper.maxAttempts) return release
    return Effect.as(
      Effect.andThen(
        Effect.ignore(timerStore.bury(timer, error.message)),
        Effect.andThen(
          Metric.update(timersDead, 1),
          Effect.logError(`timer ${timer.name} of ${timer.machine} ${timer.id} was given up: ${error.message}`),
        ),
      ),
      "dead" as const,
    )
  })
}

/** Sweeps for as long as the scope lasts. */
export const startSweeper = (engine: EngineParts, leader: Leader | undefined): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const { registry, timers, timerStore, config } = engine
    const { intervalMillis, jitter, backoffMillis, batchSize, graceMillis } = config.sweeper
    const machineAdded = Latch.makeUnsafe(false)
    registry.onAdded(() => machineAdded.openUnsafe())
    // Timers that are overdue at the start have waited long enough.
    let grace = 0
    const turn = Effect.gen(function* () {
      // While many timers of this process are due at once, they are late because they are many. Others may still be missed.
      for (let waited = 0; timers.isFiring && waited < intervalMillis; waited += graceMillis + 1) yield* Effect.sleep(graceMillis + 1)
      const leads = leader === undefined || (yield* leader.isLeader)
      machineAdded.closeUnsafe()
      const swept = leads ? yield* sweep(engine, grace) : nothing
      const found = swept.fired + swept.stale + swept.failed + swept.dead
      if (leads) grace = graceMillis
      if (found >= batchSize && swept.failed < found) return
      const random = yield* Random.next
      const wait = Math.ceil(intervalMillis * (1 + jitter * random)) + (found === 0 ? backoffMillis : 0)
      const next = leads ? yield* timerStore.nextDue(registry.names, registry.versions) : Option.none<number>()
      // A timer that just failed is still due: it gets a pause before it is tried again.
      const untilNext = Option.match(next, { onNone: () => wait, onSome: (millis) => Math.max(1, millis + grace) })
      const pause = Math.min(wait, swept.failed > 0 ? retryMillis : untilNext)
      const woken = yield* Effect.raceFirst(Effect.as(Effect.sleep(pause), false), Effect.as(machineAdded.await, true))
      // Timers of a machine that was just registered may have waited for long, like all that are overdue at the start.
      if (woken) grace = 0
    })
    return forkLoop("timer sweeper", turn)
  })
