/**
 * Executes commands: claims them in batches, records the ends of one batch together with the claims of the next, and hands back commands
 * that it cannot finish. Notifications wake it immediately; polling finds commands whose notification was lost.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { ClaimedCommand, CommandsService, Exchange, InstanceKey, Want } from "@detent/store"
import { forkLoop } from "@detent/store"
import type { DirectHandoff } from "@detent/store/internal"
import { instanceName, monotonicMillis, Wakeup, wasUndone } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { processNameIn } from "../nodes/ProcessName.ts"
import { recoverClaims } from "./ClaimRecovery.ts"
import { ClaimRenewal } from "./ClaimRenewal.ts"
import { commandStoreFailures, commandsRunning, countEnded } from "./CommandMetrics.ts"
import { type Ended, type FindExecution, isFinal } from "./Execution.ts"
import { FailureLog } from "./FailureLog.ts"
import { HeldCommands } from "./HeldCommands.ts"
import { startRetention } from "./Retention.ts"
import { type WorkerConfig, type WorkerOptions, workerConfig } from "./WorkerConfig.ts"

/** The end of a command is recorded no later than this, even without other commands to record or claim. */
const flushMillis = 5

/** How long the worker sends no request while a caller stores commands for it: the caller's statement may wait for a lock. */
const handoffMillis = 50

/** How often an exchange that the database rolled back is repeated before it counts as a failure. */
const undoneLimit = 5

/** How often a stop checks whether only postponed events remain. */
const checkMillis = 50

/** How long a stop waits for the store to record the last commands, and for interrupted handlers to end. */
const lastTimeout = "5 seconds"

export class Worker {
  readonly #config: WorkerConfig
  readonly #commands: CommandsService
  readonly #clock: Clock.Clock
  readonly #held: HeldCommands
  readonly #renewal: ClaimRenewal
  readonly #failures = new FailureLog()
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #wakeup = new Wakeup()
  readonly #newQueue = new Wakeup()
  /** A request is in flight. One at a time: with two, each command took 17% more of PostgreSQL's CPU and WAL. */
  #isAsking = false
  /** Since when a caller has been storing commands for this worker; undefined if none does. */
  #handoffSince: number | undefined
  /** A request failed, so that the store may have claimed commands for this worker without its knowledge. */
  #isUnconfirmed = false
  /** How often in a row the database rolled back the exchange. */
  #undone = 0
  /** How many commands have ended since the start. */
  #endedCount = 0
  #settled: (() => void) | undefined

  constructor(commands: CommandsService, config: WorkerConfig, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void) {
    this.#commands = commands
    this.#config = config
    this.#clock = clock
    this.#run = run
    this.#held = new HeldCommands(config, clock, run, {
      ended: () => {
        this.#endedCount++
        if (this.#held.ended.length === 1 || this.#isFlushUrgent()) this.#wakeup.wake()
        this.#settled?.()
      },
      due: (at) => this.#renewal.checkBy(at),
    })
    this.#renewal = new ClaimRenewal(commands, config, clock, this.#held)
  }

  /** Executes the commands of a queue for which this finder has a handler, until the returned function is called. */
  serve(queue: string, find: FindExecution): () => void {
    const stop = this.#held.serve(queue, find)
    this.#wakeup.wake()
    this.#newQueue.wake()
    return stop
  }

  /** Works until it is interrupted. It does not listen before it has a queue to serve. */
  readonly work: Effect.Effect<never> = Effect.andThen(
    this.#wakeup.wait(Number.POSITIVE_INFINITY),
    Effect.scoped(
      Effect.gen({ self: this }, function* () {
        const { signal } = this.#commands
        const { name } = this.#config
        yield* Effect.acquireRelease(
          Effect.sync(() => signal.listen((queues) => this.#wake(queues))),
          (unlisten) => Effect.sync(unlisten),
        )
        yield* Effect.acquireRelease(
          Effect.sync(() => signal.whenStoring((queue, count) => this.#offer(queue, count))),
          (withdraw) => Effect.sync(withdraw),
        )
        yield* this.#failures.start
        yield* forkLoop(`command worker ${name}`, (works) => this.#turn(works), 5_000)
        yield* forkLoop(`claim renewal ${name}`, this.#renewal.turn, 1_000)
        yield* forkLoop(`claim recovery ${name}`, (works) => this.#recover(works), 5_000)
        return yield* Effect.never
      }),
    ),
  )

  /** Recovers claims when a queue is added, and at every poll interval. */
  #recover(works: Effect.Effect<void>): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const freed = yield* recoverClaims(this.#commands, this.#held.queues())
      if (freed.size > 0) this.#wake(freed)
      yield* works
      yield* this.#newQueue.wait(this.#config.pollMillis)
    })
  }

  #wake(queues: ReadonlySet<string> | undefined) {
    if (queues !== undefined && ![...queues].some((queue) => this.#held.serves(queue))) return
    this.#held.heat(queues)
    this.#wakeup.wake()
  }

  /**
   * One turn of the loop: waits until the store should be asked, and asks it. After an outage the worker works again when an
   * exchange succeeds, or when it has nothing to exchange.
   */
  #turn(works: Effect.Effect<void>): Effect.Effect<void, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const now = monotonicMillis(this.#clock)
        const wants = this.#held.wants(now)
        const wait = this.#wait(wants, now)
        if (wait > 0) {
          if (!this.#isUnconfirmed) yield* works
          yield* this.#wakeup.wait(wait)
        } else if (this.#isUnconfirmed) yield* this.#disown
        else return yield* this.#exchange(wants)
      }
    })
  }

  /** Milliseconds until the store should be asked, or 0. Small batches wait a few milliseconds to grow. */
  #wait(wants: ReadonlyArray<Want>, now: number): number {
    const { ended, firstEndedAt, isStopping } = this.#held
    if (this.#handoffSince !== undefined) {
      const patience = this.#handoffSince + handoffMillis - now
      if (patience > 0) return patience
      // The commands of the handoff must not be disowned.
      if (this.#isUnconfirmed) return Number.POSITIVE_INFINITY
    }
    if (this.#isUnconfirmed || this.#held.isShort(wants) || this.#isFlushUrgent()) return 0
    if (ended.length > 0) return Math.max(0, firstEndedAt + flushMillis - now)
    if (wants.length > 0) return 0
    return isStopping ? Number.POSITIVE_INFINITY : Math.max(1, this.#held.askAt() - now)
  }

  #isFlushUrgent(): boolean {
    const { ended, heldCount, isStopping } = this.#held
    return ended.length > 0 && (isStopping || ended.length >= heldCount)
  }

  #exchange(wants: ReadonlyArray<Want>): Effect.Effect<void, PersistenceFailed> {
    const { name, claimMillis } = this.#config
    const ended = this.#held.ended
    this.#held.ended = []
    this.#isAsking = true
    const asking = this.#held.ask(wants)
    const validUntil = monotonicMillis(this.#clock) + claimMillis
    const exchange = Effect.suspend(() => this.#commands.exchange({ worker: name, finished: ended, wants, claimMillis }))
    return Effect.flatMap(Effect.exit(exchange), (exit) => {
      if (Exit.isFailure(exit)) {
        this.#held.unask(asking)
        this.#held.ended = [...ended, ...this.#held.ended]
        return this.#failed(exit.cause)
      }
      this.#undone = 0
      this.#held.take(asking, exit.value, validUntil)
      if (exit.value.claimed.length > 0) this.#renewal.renewBy(validUntil - (claimMillis * 2) / 3)
      this.#answered()
      return Effect.andThen(
        Effect.andThen(this.#recorded(ended, exit.value.refused), Metric.update(commandsRunning, this.#held.runningCount)),
        this.#announceNext(ended, exit.value),
      )
    })
  }

  #recorded(ended: ReadonlyArray<Ended>, refused: ReadonlyArray<number>): Effect.Effect<void> {
    if (ended.length === 0) return Effect.void
    return Effect.andThen(countEnded(ended, refused), this.#failures.record(ended, refused))
  }

  /** An exchange that the database rolled back because of a conflict recorded and claimed nothing, and can be repeated. */
  #failed(cause: Cause.Cause<PersistenceFailed>): Effect.Effect<void, PersistenceFailed> {
    this.#answered()
    const isUndone = Option.exists(Cause.findErrorOption(cause), wasUndone)
    if (isUndone && this.#undone++ < undoneLimit)
      return Effect.flatMap(Random.next, (random) => Effect.sleep(1 + random * 10 * this.#undone))
    this.#isUnconfirmed ||= !isUndone
    return Effect.andThen(Metric.update(commandStoreFailures, 1), Effect.failCause(cause))
  }

  /** The next ordered command of an instance may wait in a queue that this exchange did not ask for, or that another worker serves. */
  #announceNext(ended: ReadonlyArray<Ended>, { claimed, refused }: Exchange): Effect.Effect<void> {
    const freed = new Map<string, InstanceKey>()
    for (const { number, verdict, ordered, instance } of ended)
      if (ordered && instance !== undefined && isFinal(verdict) && !refused.includes(number)) freed.set(instanceName(instance), instance)
    for (const { ordered, instance } of claimed) if (ordered && instance !== undefined) freed.delete(instanceName(instance))
    if (freed.size === 0) return Effect.void
    const { queuesOfNext, signal } = this.#commands
    return Effect.match(queuesOfNext([...freed.values()]), {
      onSuccess: (queues) => {
        if (queues.size > 0) signal.announce(queues)
      },
      // All workers ask for commands of all their queues instead, as after any outage.
      onFailure: () => signal.announce(undefined),
    })
  }

  /** Offers a handoff only while the worker is idle: otherwise its next exchange claims the commands. */
  #offer(queue: string, count: number): DirectHandoff | undefined {
    const now = monotonicMillis(this.#clock)
    if (this.#isBusy || this.#isUnconfirmed || this.#held.ended.length > 0) return undefined
    const give = this.#held.reserve(queue, count)
    if (give === undefined) return undefined
    const { name: worker, claimMillis } = this.#config
    this.#handoffSince = now
    const answered = (claimed: ReadonlyArray<ClaimedCommand>) => {
      this.#handoffSince = undefined
      give(claimed, now + claimMillis)
      this.#wakeup.wake()
      this.#settled?.()
    }
    return {
      queue,
      worker,
      claimMillis,
      taken: (claimed) => {
        answered(claimed)
        if (claimed.length === 0) return
        this.#renewal.renewBy(now + claimMillis / 3)
        this.#run(Metric.update(commandsRunning, this.#held.runningCount))
      },
      unanswered: () => {
        this.#isUnconfirmed = true
        answered([])
        this.#run(Metric.update(commandStoreFailures, 1))
      },
    }
  }

  /** A request or a handoff is in flight. */
  get #isBusy(): boolean {
    return this.#isAsking || this.#handoffSince !== undefined
  }

  #answered() {
    this.#isAsking = false
    this.#settled?.()
  }

  /** Hands back the commands that the store claimed in an exchange whose answer was lost. */
  get #disown(): Effect.Effect<void, PersistenceFailed> {
    this.#isAsking = true
    const known = [...this.#held.held(), ...this.#held.ended].map(({ number }) => number)
    return Effect.flatMap(Effect.exit(Effect.suspend(() => this.#commands.disown(this.#config.name, known))), (exit) => {
      if (Exit.isFailure(exit)) return this.#failed(exit.cause)
      this.#isUnconfirmed = false
      this.#answered()
      return Effect.void
    })
  }

  /**
   * Waits until no command of its queues is due, those included that follow from others, at most for `drainTimeout`. Does not wait for
   * commands that are retried later, that a limit or a pause holds back, or whose event an instance has postponed. Call it while the
   * worker works.
   */
  readonly executeDue: Effect.Effect<void> = Effect.suspend(() => {
    let asked = this.#endedCount
    this.#wake(undefined)
    const done = this.#once(() => {
      if (!this.#isQuiet || !this.#held.areAllPostponed) return false
      if (asked === this.#endedCount) return true
      // The last command that ended may have requested others that are stored, but not announced yet.
      asked = this.#endedCount
      this.#wake(undefined)
      return false
    })
    return Effect.asVoid(Effect.timeoutOption(Effect.raceFirst(done, this.#checkRepeatedly), this.#config.drainTimeout))
  })

  /** The store has answered that it has nothing to claim, and has recorded all that ended. */
  get #isQuiet(): boolean {
    if (this.#isBusy || this.#isUnconfirmed || this.#held.ended.length > 0) return false
    return this.#held.areAllQuiet(monotonicMillis(this.#clock))
  }

  /**
   * Claims nothing more, hands back commands that have not begun, and gives the others time to end. Events that instances have postponed
   * may never be decided: once only their commands remain, those are handed back too. Call it while the worker works.
   */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#held.isStopping = true
    this.#held.handBackWaiting()
    const ended = this.#once(() => this.#held.areAllPostponed)
    yield* Effect.timeoutOption(Effect.raceFirst(ended, this.#checkRepeatedly), this.#config.drainTimeout)
    const interrupted = this.#held.handBackRunning()
    this.#wakeup.wake()
    // Commands that cannot be recorded now become claimable when their claims end. The services of the handlers close after this.
    yield* Effect.timeoutOption(
      Effect.andThen(
        this.#once(() => this.#held.ended.length === 0 && !this.#isBusy),
        Fiber.awaitAll(interrupted),
      ),
      lastTimeout,
    )
  })

  /** The worker is not notified when an instance postpones an event. */
  readonly #checkRepeatedly: Effect.Effect<never> = Effect.forever(
    Effect.andThen(
      Effect.sleep(checkMillis),
      Effect.sync(() => this.#settled?.()),
    ),
  )

  #once(holds: () => boolean): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const look = () => {
        if (holds()) resume(Effect.void)
      }
      this.#settled = look
      look()
    })
  }
}

/** Starts a worker for as long as the scope lasts. The end of the scope waits for the commands that it executes. */
export const startWorker = (
  commands: CommandsService,
  options: WorkerOptions,
  node: string,
): Effect.Effect<{ readonly worker: Worker; readonly config: WorkerConfig }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    // A new name for every start: the claims of an earlier process are not this worker's.
    const name = processNameIn(node, (yield* Random.nextIntBetween(0, 2 ** 31)).toString(36))
    const config = workerConfig(options, name, commands)
    const worker = new Worker(commands, config, yield* Clock.Clock, run)
    yield* Effect.forkScoped(worker.work)
    yield* Effect.addFinalizer(() => worker.drain)
    yield* startRetention(commands, config.retention)
    return { worker, config }
  })
