/** The engine behind the {@link Engine} service: the machines it knows, and its parts put together. */
import type { ActorExists, EventReplayError, MachineStopped, PersistenceFailed, SendError } from "@detent/machine"
import { compiledOf, type Environment, Host, type Tagged } from "@detent/machine/internal"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { InstanceKey, TimerRecord } from "./Commit.ts"
import { Committer } from "./Committer.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import { EngineInstances, engineStopped, type OpenError } from "./EngineInstances.ts"
import { observed } from "./EngineJournal.ts"
import { EngineReading } from "./EngineReading.ts"
import { EngineReturns } from "./EngineReturns.ts"
import { EngineTimers } from "./EngineTimers.ts"
import type { InstanceCell } from "./InstanceCell.ts"
import type { InstanceLife } from "./InstanceLife.ts"
import type { InstanceLockService } from "./InstanceLock.ts"
import { InstanceNotFound } from "./InstanceNotFound.ts"
import type { JournalService } from "./Journal.ts"
import type { FirstOutcome, Keeper, Reloaded } from "./Keeper.ts"
import { Registered } from "./Registered.ts"
import type { TimersService } from "./Timers.ts"
import { outsideSpans, type Tracing, tracingIn } from "./Tracing.ts"
import type { Upcasters } from "./Upcasters.ts"

export class EngineCore implements Keeper {
  readonly host = new Host()
  readonly journal: JournalService
  readonly timers: TimersService
  readonly committer: Committer
  readonly onConflict: Keeper["onConflict"]
  readonly doubt: Keeper["doubt"]
  readonly storeTimeoutMillis: number
  readonly outage: Keeper["outage"] = Schedule.min([Schedule.exponential("250 millis", 2), Schedule.spaced("10 seconds")])
  readonly lock: Keeper["lock"]
  readonly tracing: Tracing | undefined
  readonly config: EngineConfig
  readonly #environment: Environment
  readonly #machines = new Map<string, Registered>()
  readonly #reading: EngineReading
  readonly #instances: EngineInstances
  readonly #returns: EngineReturns
  readonly #deadlines: EngineTimers

  constructor(
    journal: JournalService,
    timers: TimersService,
    locks: InstanceLockService | undefined,
    config: EngineConfig,
    surroundings: Environment,
  ) {
    const environment = outsideSpans(surroundings)
    this.journal = journal
    this.timers = timers
    this.config = config
    this.onConflict = config.onConflict
    this.storeTimeoutMillis = Duration.toMillis(config.storeTimeout)
    this.doubt = Schedule.max([Schedule.exponential("50 millis", 1.5), Schedule.during(config.storeTimeout)])
    this.lock = locks === undefined ? undefined : (key) => ({ acquire: locks.acquire(key) })
    this.#environment = environment
    this.tracing = tracingIn(environment)
    this.committer = new Committer(observed(journal, environment, this.tracing !== undefined), (effect) => environment.run(effect))
    this.#reading = new EngineReading(journal)
    this.#instances = new EngineInstances(this, this.#reading, environment, (name) => this.#machines.get(name))
    this.#returns = new EngineReturns(this.#instances, environment)
    this.#deadlines = new EngineTimers(timers, this.#instances, environment, this.committer.turn)
  }

  // Machines

  /** Without upcasters it leaves those alone that were given before. */
  register(machine: unknown, upcasters: Upcasters | undefined, environment: Environment): Registered {
    const compiled = compiledOf(machine)
    const known = this.#machines.get(compiled.name)
    if (known?.compiled === compiled && (upcasters === undefined || upcasters === known.upcasters)) return known
    const registered = new Registered(compiled, upcasters ?? known?.upcasters ?? {}, outsideSpans(environment))
    this.#machines.set(registered.name, registered)
    if (known === undefined) this.#machineAdded?.()
    return registered
  }

  #machineAdded: (() => void) | undefined

  /** Calls back whenever a machine becomes known: its timers may have been due for long. */
  whenMachineAdded(callback: () => void) {
    this.#machineAdded = callback
  }

  get machineNames(): ReadonlyArray<string> {
    return [...this.#machines.keys()]
  }

  registered(name: string): Registered | undefined {
    return this.#machines.get(name)
  }

  environmentFor(context: Context.Context<unknown>): Environment {
    return this.host.environment(context)
  }

  // Instances

  isLive(key: InstanceKey): boolean {
    return this.#instances.find(key) !== undefined
  }

  get live(): number {
    return this.#instances.count
  }

  start(registered: Registered, id: string, input: unknown): Effect.Effect<InstanceCell, ActorExists | SendError> {
    return this.#instances.start(registered, id, input)
  }

  open(key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return this.#instances.open(key)
  }

  openAll(registered: Registered, keys: ReadonlyArray<InstanceKey>): Effect.Effect<ReadonlyArray<InstanceCell>, PersistenceFailed> {
    return this.#instances.openAll(registered, keys)
  }

  openEach(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void, PersistenceFailed> {
    return this.#instances.openEach(keys)
  }

  /** Rewrites an event in the journal and opens the instance again, whatever held it. */
  repair(registered: Registered, id: string, sequence: number, event: unknown): Effect.Effect<void, OpenError> {
    const key = { machine: registered.name, id }
    return Effect.gen({ self: this }, function* () {
      const [stored] = yield* this.journal.events(key, sequence - 1, 1)
      if (stored === undefined || stored.sequence !== sequence) return yield* Effect.fail(new InstanceNotFound(key))
      const body = registered.codec.encodeEvent({ event: event as Tagged, guardAnswers: [], settled: undefined, answer: undefined })
      yield* this.journal.rewrite(key, { ...stored, tag: (event as Tagged)._tag, body })
      yield* this.open(key)
    })
  }

  /** Timers of this node that are due are being told to their instances. */
  get isFiring(): boolean {
    return this.#deadlines.queue.isTelling
  }

  fire(timer: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    return this.#deadlines.fire(timer)
  }

  // What instances ask for

  reload(registered: Registered, key: InstanceKey): Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed> {
    return this.#reading.reload(registered, key)
  }

  firstOutcome(
    registered: Registered,
    key: InstanceKey,
    dedupeId: string,
  ): Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed> {
    return this.#reading.firstOutcome(registered, key, dedupeId)
  }

  prune(key: InstanceKey, through: number, after: number, pruned: () => void) {
    // What is not pruned now is pruned with the next snapshot.
    const told = (error: PersistenceFailed) =>
      Effect.logWarning(`the journal of ${key.machine} ${key.id} could not be pruned`, error.message)
    this.#environment.run(
      Effect.matchEffect(this.journal.prune(key, through, after), { onFailure: told, onSuccess: () => Effect.sync(pruned) }),
    )
  }

  arm(cell: InstanceLife, timers: ReadonlyMap<string, TimerRecord>) {
    this.#deadlines.queue.sync(cell.name, cell.key, timers)
  }

  timerStale(key: InstanceKey, timer: TimerRecord) {
    this.#deadlines.stale(key, timer)
  }

  timerRefused(key: InstanceKey, timer: TimerRecord) {
    this.#deadlines.refused(key, timer)
  }

  bringBack(key: InstanceKey) {
    this.#returns.bringBack(key)
  }

  gone(cell: InstanceLife) {
    this.#instances.gone(cell)
  }

  settled() {
    this.#instances.settled()
  }

  // Leaving memory

  /** Forgets instances that nobody has used for a while. */
  readonly passivate: Effect.Effect<void> = Effect.suspend(() => this.#instances.passivate(this.config.passivateAfterMillis))

  /** Takes nothing more, stores what was accepted, and ends the work of all instances. */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#instances.close()
    this.#deadlines.queue.close()
    this.#returns.close()
    yield* Effect.timeoutOption(this.#instances.allSettled, this.config.drainTimeout)
    yield* this.#instances.leaveAll("the engine was stopped")
    yield* this.host.close
  })

  get isClosed(): boolean {
    return this.#instances.isClosed
  }

  stoppedError(key: InstanceKey): MachineStopped {
    return engineStopped(key)
  }
}
