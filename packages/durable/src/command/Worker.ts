/**
 * Executes commands: claims them in batches, stores what became of one batch together with the claim of the next, and hands
 * back what it cannot finish. Told of new commands at once; looking by itself is only the safety net.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import type { CommandsService, Finished, Want } from "../Commands.ts"
import { commandStoreFailures, commandsRunning } from "./CommandMetrics.ts"
import type { FindExecutable } from "./Executable.ts"
import { countFinished } from "./finishing.ts"
import { Upkeep } from "./Upkeep.ts"
import type { WorkerConfig } from "./WorkerConfig.ts"
import { Workload } from "./Workload.ts"

/** What became of a command is stored no later than this, even if nothing else is to be stored or claimed. */
const flushMillis = 5

/** How long a stop waits for the store to take what became of the last commands. */
const lastStoreTimeout = "5 seconds"

export class Worker {
  readonly #config: WorkerConfig
  readonly #commands: CommandsService
  readonly #clock: Clock.Clock
  readonly #load: Workload
  readonly #upkeep: Upkeep
  readonly #woken = Latch.makeUnsafe(false)
  /** On their way to the store. */
  #storing: ReadonlyArray<Finished> = []
  /** Told of while something was on its way. */
  #announced: Set<string> | "all" | undefined
  #isDoubtful = false
  #settled: (() => void) | undefined

  constructor(commands: CommandsService, config: WorkerConfig, clock: Clock.Clock, run: (effect: Effect.Effect<void>) => void) {
    this.#commands = commands
    this.#config = config
    this.#clock = clock
    this.#load = new Workload(config, clock, run, {
      finished: () => {
        if (this.#load.finished.length === 1 || this.#isFlushUrgent()) this.#woken.openUnsafe()
        this.#settled?.()
      },
      due: (at) => this.#upkeep.tickBy(at),
    })
    this.#upkeep = new Upkeep(commands, config, clock, this.#load)
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
      Effect.sync(() => this.#commands.signal.listen((queues) => this.#announce(queues))),
      () => Effect.raceFirst(this.#exchangeForever, this.#upkeep.keep),
      (unlisten) => Effect.sync(unlisten),
    )
    return Effect.andThen(this.#woken.await, working)
  }

  #announce(queues: ReadonlySet<string> | undefined) {
    if (queues !== undefined && ![...queues].some((queue) => this.#load.serves(queue))) return
    this.#load.heat(queues)
    // What is on its way may have looked before this was stored.
    if (queues === undefined) this.#announced = "all"
    else if (this.#announced !== "all") this.#announced = new Set([...(this.#announced ?? []), ...queues])
    this.#woken.openUnsafe()
  }

  readonly #exchangeForever: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    let failures = 0
    for (;;) {
      const now = this.#clock.currentTimeMillisUnsafe()
      const wants = this.#load.wants(now)
      const wait = this.#wait(wants, now)
      if (wait > 0) {
        this.#woken.closeUnsafe()
        yield* wait === Number.POSITIVE_INFINITY ? this.#woken.await : Effect.raceFirst(Effect.sleep(wait), this.#woken.await)
        continue
      }
      failures = (yield* this.#exchange(wants)) ? 0 : failures + 1
      if (failures > 0) yield* Effect.sleep(Math.min(100 * 2 ** (failures - 1), 5_000))
    }
  })

  /** Milliseconds until the store should be asked, or 0. Small batches are given a moment to grow. */
  #wait(wants: ReadonlyArray<Want>, now: number): number {
    const { finished, firstFinishedAt, isStopping } = this.#load
    if (this.#load.isShort(wants) || this.#isFlushUrgent()) return 0
    if (finished.length > 0) return Math.max(0, firstFinishedAt + flushMillis - now)
    if (wants.length > 0) return 0
    return isStopping ? Number.POSITIVE_INFINITY : Math.max(1, this.#load.askAt() - now)
  }

  #isFlushUrgent(): boolean {
    const { finished, heldCount, isStopping } = this.#load
    return finished.length > 0 && (isStopping || finished.length >= heldCount)
  }

  /** Whether the store answered. */
  #exchange(wants: ReadonlyArray<Want>): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      if (this.#isDoubtful) yield* this.#disown
      const { name, claimMillis } = this.#config
      const finished = this.#load.finished
      this.#load.finished = []
      this.#storing = finished
      this.#announced = undefined
      const validUntil = this.#clock.currentTimeMillisUnsafe() + claimMillis
      const exchanged = yield* this.#commands.exchange({ worker: name, finished, wants, claimMillis })
      this.#storing = []
      this.#load.take(wants, exchanged, validUntil)
      if (this.#announced !== undefined) this.#load.heat(this.#announced === "all" ? undefined : this.#announced)
      if (exchanged.claimed.length > 0) this.#upkeep.renewBy(this.#clock.currentTimeMillisUnsafe() + claimMillis / 3)
      this.#settled?.()
      yield* countFinished(finished, exchanged.refused)
      yield* Metric.update(commandsRunning, this.#load.runningCount)
      return true
    }).pipe(
      Effect.catch((error) => {
        this.#load.finished = [...this.#storing, ...this.#load.finished]
        this.#storing = []
        this.#isDoubtful = true
        const told = Effect.logWarning("a worker could not reach the store", error.message)
        return Effect.as(Effect.andThen(Metric.update(commandStoreFailures, 1), told), false)
      }),
    )
  }

  /** The store may have given it commands in an answer that never came. */
  get #disown() {
    const known = [...this.#load.held(), ...this.#load.finished].map(({ number }) => number)
    return Effect.map(this.#commands.disown(this.#config.name, known), () => {
      this.#isDoubtful = false
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
      this.#once(() => this.#load.finished.length === 0 && this.#storing.length === 0),
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
