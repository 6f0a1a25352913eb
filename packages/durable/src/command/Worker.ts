/**
 * Executes commands: claims them in batches, stores what became of one batch together with the claim of the next, and hands
 * back what it cannot finish. Told of new commands at once; looking by itself is only the safety net.
 */
import type { PersistenceFailed } from "@detent/machine"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import type { ClaimedCommand, CommandsService, Exchange, Want } from "../store/Commands.ts"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import { ClaimRenewal } from "./ClaimRenewal.ts"
import { commandStoreFailures, commandsRunning } from "./CommandMetrics.ts"
import type { DirectHandoff } from "./DirectHandoff.ts"
import type { FindExecutable } from "./Executable.ts"
import { type Ended, isFinal, tellFinished } from "./finishing.ts"
import { HeldCommands } from "./HeldCommands.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"

/** What became of a command is stored no later than this, even if nothing else is to be stored or claimed. */
const flushMillis = 5

/** So long nothing else is asked while somebody stores commands for it. Their statement may have to wait for a lock. */
const offerMillis = 50

/** How long a stop waits for the store to take what became of the last commands. */
const lastStoreTimeout = "5 seconds"

export class Worker {
  readonly #config: WorkerConfig
  readonly #commands: CommandsService
  readonly #clock: Clock.Clock
  readonly #load: HeldCommands
  readonly #upkeep: ClaimRenewal
  readonly #run: (effect: Effect.Effect<void>) => void
  readonly #woken = Latch.makeUnsafe(false)
  /** The store is being asked. One question at a time: with two, each command took 17% more of PostgreSQL's CPU and WAL. */
  #isUnderway = false
  /** Since when somebody has been storing commands for it, and has not answered yet. */
  #offeringSince: number | undefined
  #failures = 0
  /** After a failure the store is left alone until then. */
  #restUntil = 0
  #isDoubtful = false
  #settled: (() => void) | undefined

  constructor(commands: CommandsService, config: WorkerConfig, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void) {
    this.#commands = commands
    this.#config = config
    this.#clock = clock
    this.#run = run
    this.#load = new HeldCommands(config, clock, run, {
      finished: () => {
        if (this.#load.finished.length === 1 || this.#isFlushUrgent()) this.#woken.openUnsafe()
        this.#settled?.()
      },
      due: (at) => this.#upkeep.tickBy(at),
    })
    this.#upkeep = new ClaimRenewal(commands, config, clock, this.#load)
  }

  /** From now on commands of a queue are executed by whoever knows them. Returns how to stop that. */
  serve(queue: string, find: FindExecutable): () => void {
    const stop = this.#load.serve(queue, find)
    this.#woken.openUnsafe()
    return stop
  }

  /** Works until it is interrupted. Does nothing, not even listen, before it has something to serve. */
  get work(): Effect.Effect<never> {
    const working = Effect.acquireUseRelease(
      Effect.sync(() => {
        const { signal } = this.#commands
        return [signal.listen((queues) => this.#announce(queues)), signal.whenStoring((queue, count) => this.#offer(queue, count))]
      }),
      () => Effect.raceFirst(this.#exchangeForever, this.#upkeep.keep),
      (endings) =>
        Effect.sync(() => {
          for (const end of endings) end()
        }),
    )
    return Effect.andThen(this.#woken.await, working)
  }

  #announce(queues: ReadonlySet<string> | undefined) {
    if (queues !== undefined && ![...queues].some((queue) => this.#load.serves(queue))) return
    this.#load.heat(queues)
    this.#woken.openUnsafe()
  }

  readonly #exchangeForever: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    for (;;) {
      const now = this.#clock.currentTimeMillisUnsafe()
      const wants = this.#load.wants(now)
      const wait = this.#wait(wants, now)
      if (wait > 0) {
        this.#woken.closeUnsafe()
        yield* wait === Number.POSITIVE_INFINITY ? this.#woken.await : Effect.raceFirst(Effect.sleep(wait), this.#woken.await)
      } else yield* this.#isDoubtful ? this.#disown : this.#exchange(wants, this.#takeFinished())
    }
  })

  /** Milliseconds until the store should be asked, or 0. Small batches are given a moment to grow. */
  #wait(wants: ReadonlyArray<Want>, now: number): number {
    const { finished, firstFinishedAt, isStopping } = this.#load
    if (this.#offeringSince !== undefined) {
      const patience = this.#offeringSince + offerMillis - now
      if (patience > 0) return patience
      // What is being stored for it is not to be disowned.
      if (this.#isDoubtful) return Number.POSITIVE_INFINITY
    }
    if (now < this.#restUntil) return this.#restUntil - now
    if (this.#isDoubtful || this.#load.isShort(wants) || this.#isFlushUrgent()) return 0
    if (finished.length > 0) return Math.max(0, firstFinishedAt + flushMillis - now)
    if (wants.length > 0) return 0
    return isStopping ? Number.POSITIVE_INFINITY : Math.max(1, this.#load.askAt() - now)
  }

  #isFlushUrgent(): boolean {
    const { finished, heldCount, isStopping } = this.#load
    return finished.length > 0 && (isStopping || finished.length >= heldCount)
  }

  #takeFinished(): ReadonlyArray<Ended> {
    const { finished } = this.#load
    this.#load.finished = []
    return finished
  }

  #exchange(wants: ReadonlyArray<Want>, finished: ReadonlyArray<Ended>): Effect.Effect<void> {
    const { name, claimMillis } = this.#config
    this.#isUnderway = true
    const asking = this.#load.ask(wants)
    const validUntil = this.#clock.currentTimeMillisUnsafe() + claimMillis
    return Effect.matchEffect(this.#commands.exchange({ worker: name, finished, wants, claimMillis }), {
      onSuccess: (exchanged) => {
        this.#failures = 0
        this.#load.take(asking, exchanged, validUntil)
        if (exchanged.claimed.length > 0) this.#upkeep.renewBy(validUntil - (claimMillis * 2) / 3)
        this.#answered()
        return Effect.andThen(
          Effect.andThen(tellFinished(finished, exchanged.refused), Metric.update(commandsRunning, this.#load.runningCount)),
          this.#announceNext(finished, exchanged),
        )
      },
      onFailure: (error) => {
        for (const [run, asked] of asking) run.unask(asked)
        this.#load.finished = [...finished, ...this.#load.finished]
        this.#isDoubtful = true
        return this.#failed(error)
      },
    })
  }

  /** The next ordered command of an instance may wait in a queue that this exchange did not ask for, or another worker serves. */
  #announceNext(finished: ReadonlyArray<Ended>, { claimed, refused }: Exchange): Effect.Effect<void> {
    const freed = new Map<string, InstanceKey>()
    for (const { number, verdict, ordered, instance } of finished)
      if (ordered && instance !== undefined && isFinal(verdict) && !refused.includes(number)) freed.set(instanceName(instance), instance)
    for (const { ordered, instance } of claimed) if (ordered && instance !== undefined) freed.delete(instanceName(instance))
    if (freed.size === 0) return Effect.void
    const { queuesOfNext, signal } = this.#commands
    return Effect.match(queuesOfNext([...freed.values()]), {
      onSuccess: (queues) => {
        if (queues.size > 0) signal.announce(queues)
      },
      // Then all workers look in all their queues, as they do after any outage.
      onFailure: () => signal.announce(undefined),
    })
  }

  /** Only where it would have to be told of them and ask: who is asking already, or has something to store, does so by itself. */
  #offer(queue: string, count: number): DirectHandoff | undefined {
    const now = this.#clock.currentTimeMillisUnsafe()
    if (this.#isBusy || this.#isDoubtful || now < this.#restUntil || this.#load.finished.length > 0) return undefined
    const give = this.#load.reserve(queue, count)
    if (give === undefined) return undefined
    const { name: worker, claimMillis } = this.#config
    this.#offeringSince = now
    const answered = (claimed: ReadonlyArray<ClaimedCommand>) => {
      this.#offeringSince = undefined
      give(claimed, now + claimMillis)
      this.#woken.openUnsafe()
    }
    return {
      queue,
      worker,
      claimMillis,
      taken: (claimed) => {
        answered(claimed)
        this.#settled?.()
        if (claimed.length === 0) return
        this.#upkeep.renewBy(now + claimMillis / 3)
        this.#run(Metric.update(commandsRunning, this.#load.runningCount))
      },
      unanswered: (error) => {
        answered([])
        this.#isDoubtful = true
        this.#run(this.#failed(error))
      },
    }
  }

  /** The store is being asked, or somebody stores for it. */
  get #isBusy(): boolean {
    return this.#isUnderway || this.#offeringSince !== undefined
  }

  #answered() {
    this.#isUnderway = false
    this.#settled?.()
  }

  #failed(error: PersistenceFailed): Effect.Effect<void> {
    this.#restUntil = this.#clock.currentTimeMillisUnsafe() + Math.min(100 * 2 ** this.#failures++, 5_000)
    this.#answered()
    return Effect.andThen(Metric.update(commandStoreFailures, 1), Effect.logWarning(`a worker will ask again: ${error.message}`))
  }

  /** The store may have given it commands in an answer that never came. */
  get #disown(): Effect.Effect<void> {
    this.#isUnderway = true
    const known = [...this.#load.held(), ...this.#load.finished].map(({ number }) => number)
    return Effect.matchEffect(this.#commands.disown(this.#config.name, known), {
      onSuccess: () => {
        this.#isDoubtful = false
        this.#answered()
        return Effect.void
      },
      onFailure: (error) => this.#failed(error),
    })
  }

  /** Claims nothing more, hands back what has not begun, and gives the rest time to end. Call it while it works. */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#load.isStopping = true
    this.#load.handBackWaiting()
    yield* Effect.timeoutOption(
      this.#once(() => this.#load.heldCount === 0),
      this.#config.drainTimeout,
    )
    this.#load.handBackRunning()
    this.#woken.openUnsafe()
    // What cannot be stored now is free again when its claims are over.
    yield* Effect.timeoutOption(
      this.#once(() => this.#load.finished.length === 0 && !this.#isBusy),
      lastStoreTimeout,
    )
  })

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
