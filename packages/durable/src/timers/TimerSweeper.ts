/**
 * The safety net under timers: finds timers that came due while no process had them in memory, after a restart or on another
 * node, and fires them. It sleeps until the earliest deadline, never longer than its interval.
 */
import { NewerVersion, type PersistenceFailed, RetryPolicy } from "@detent/machine"
import type { ClaimedTimer, JournalService, TimersService } from "@detent/store"
import { forkLoop } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { InstanceTable } from "../live/InstanceTable.ts"
import type { MachineRegistry } from "../machine/MachineRegistry.ts"
import type { PlacementService } from "../nodes/Placement.ts"
import type { StoreClock } from "../runtime/StoreClock.ts"
import { timersDead } from "../runtime/Telemetry.ts"
import type { TimerScheduler } from "./TimerScheduler.ts"
import { type Firing, type Outcome, type Sweep, sweepOnce, TimerSweep } from "./TimerSweep.ts"

/** The parts of the engine that the sweeper uses. */
export interface SweeperParts {
  readonly config: {
    readonly nodeId: string
    readonly sweeper: {
      readonly intervalMillis: number
      readonly batchSize: number
      readonly claimMillis: number
      readonly retry: RetryPolicy.RetryPolicy
    }
  }
  readonly journal: Pick<JournalService, "open">
  readonly clock: StoreClock
  readonly timerStore: TimersService
  readonly registry: MachineRegistry
  readonly table: InstanceTable
  readonly timers: TimerScheduler
  readonly context: { readonly placement: PlacementService | undefined }
}

/** A timer that could not be fired is tried again after this time. */
const retryMillis = 1000

/** How late a timer must be before the sweeper takes it: the node that has it in memory comes first. */
const graceMillis = 200

/** Up to this share of the interval is added at random, so that nodes do not sweep in step. */
const jitter = 0.2

/** How many more intervals to wait after a sweep that found nothing. */
const emptyIntervals = 2

/** The name under which this process claims timers. */
const nameOf = ({ config, context }: SweeperParts): string => context.placement?.node() ?? config.nodeId

/** Claims due timers and fires them, once. */
export const sweep = (engine: SweeperParts): Effect.Effect<Sweep, PersistenceFailed> => sweepOnce(firing(engine, claim(engine, 0)))

const firing = (engine: SweeperParts, claim: Firing["claim"]): Firing => ({
  claim,
  fire: (timer) => fire(engine, timer),
  claimMillis: engine.config.sweeper.claimMillis,
})

const claim = (engine: SweeperParts, graceMillis: number): Firing["claim"] =>
  Effect.suspend(() => {
    const { config, registry, table, timers } = engine
    const fence = engine.context.placement?.fence()
    const claiming = timers.claim({
      machines: registry.names,
      versions: registry.versions,
      graceMillis,
      limit: config.sweeper.batchSize,
      owner: nameOf(engine),
      claimMillis: config.sweeper.claimMillis,
      shards: engine.context.placement?.routing?.shards(),
      // If this process is killed, other processes need not wait until its claims end.
      ...(fence === undefined ? {} : { fence }),
    })
    // Instances that are not in memory are read together. If that fails, each timer opens its own instance.
    return Effect.tap(claiming, (claimed) => Effect.ignore(table.openEach(claimed.timers)))
  })

/** The failed operation and its cause, without the machine: a sweep covers all machines. */
export const failureOf = ({ operation, cause }: PersistenceFailed): string =>
  `${operation} failed: ${cause instanceof Error ? cause.message : String(cause)}`

const fire = (engine: SweeperParts, timer: ClaimedTimer): Effect.Effect<Outcome> => {
  const { config, table, timers, timerStore } = engine
  const releaseFor = (delayMillis: number) =>
    Effect.as(Effect.ignore(timerStore.release(timer, nameOf(engine), delayMillis)), "failed" as const)
  const release = releaseFor(0)
  return Effect.catch(timers.fire(timer), (error) => {
    // The instance has not ended: it left memory, because this engine stops.
    if (error._tag === "MachineStopped" && table.isClosed) return release
    // A refusal is an answer: the event was decided on the state of the journal, and the instance removes the timer.
    if (error._tag === "TransitionRefused" || error._tag === "InvalidTransition") return Effect.succeed("stale" as const)
    if (error._tag === "MachineStopped") return removeEnded(engine, timer, release)
    // Another node has changed the instance with a newer version since it was claimed.
    if (error instanceof NewerVersion) return release
    // A held instance keeps its timers, which fire once it is repaired. The claim ends by itself.
    if (error._tag === "EventReplayError") return Effect.succeed("failed" as const)
    return Effect.flatMap(Random.next, (random): Effect.Effect<Outcome> => {
      const delayMillis = RetryPolicy.delayAfter(config.sweeper.retry, timer.attempts, random)
      if (delayMillis !== undefined) return releaseFor(delayMillis)
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
  })
}

/** Removes the timer of an instance that has ended by the journal. One that only left memory keeps it. */
const removeEnded = ({ journal, timerStore }: SweeperParts, timer: ClaimedTimer, release: Effect.Effect<Outcome>): Effect.Effect<Outcome> =>
  Effect.matchEffect(journal.open(timer), {
    onFailure: () => release,
    onSuccess: (opened) => {
      // Its timers were removed with it.
      if (Option.isNone(opened)) return Effect.succeed("stale" as const)
      const { startedAt, status } = opened.value.record
      if (status !== "final" && status !== "stopped") return release
      return Effect.as(Effect.ignore(timerStore.complete({ ...timer, startedAt })), "stale" as const)
    },
  })

/** Sweeps for as long as the scope lasts. */
export const startSweeper = (engine: SweeperParts): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const { registry, timers, timerStore, config } = engine
    const { intervalMillis, batchSize } = config.sweeper
    // Timers that are overdue at the start have waited long enough.
    let grace = 0
    const claiming = Effect.gen(function* () {
      // While this process fires many due timers, they are late only because they are many. The wait is bounded: others may be missed.
      for (let waited = 0; timers.isFiring && waited < intervalMillis; waited += graceMillis + 1) yield* Effect.sleep(graceMillis + 1)
      yield* engine.clock.refresh
      const claimed = yield* claim(engine, grace)
      grace = graceMillis
      return claimed
    })
    const timerSweep = new TimerSweep({
      ...firing(engine, claiming),
      batchSize,
      nextDue: Effect.suspend(() =>
        Effect.map(timerStore.nextDue(registry.names, registry.versions, engine.context.placement?.routing?.shards()), (next) =>
          Option.map(next, (millis) => millis + grace),
        ),
      ),
      longestPause: (found) =>
        Effect.map(Random.next, (random) => Math.ceil(intervalMillis * (1 + jitter * random + (found === 0 ? emptyIntervals : 0)))),
      retryMillis,
      // Timers of a machine that was just registered may be overdue for a long time, like all timers at the start.
      woken: () => {
        grace = 0
      },
    })
    registry.onAdded(() => timerSweep.wake())
    return forkLoop("timer sweeper", timerSweep.turn)
  })
