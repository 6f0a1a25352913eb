/** The engine behind the {@link Engine} service: the machines it knows, and its parts put together. */
import { DefinitionError, type EventReplayError, type MachineStopped, type PersistenceFailed, type SendError } from "@detent/machine"
import { type Compiled, compiledOf, type Environment, Host, unbuilt } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { TransactionConnection } from "effect/unstable/sql/SqlClient"
import type { InstanceNotFound } from "../InstanceNotFound.ts"
import type { InstanceCell } from "../instance/InstanceCell.ts"
import type { FirstOutcome, InstanceContext, Reloaded } from "../instance/InstanceContext.ts"
import type { InstanceLife } from "../instance/InstanceLife.ts"
import type { Upcasters } from "../instance/Upcasters.ts"
import { GroupCommit } from "../runtime/GroupCommit.ts"
import type { InstanceKey, TimerRecord } from "../store/Commit.ts"
import type { InstanceStanding, JournalService } from "../store/Journal.ts"
import type { ClaimRequest, MachineVersions, TimersService } from "../store/Timers.ts"
import { ChangeFollower } from "./ChangeFollower.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import { observed } from "./EngineJournal.ts"
import { fingerprint } from "./Fingerprint.ts"
import { InstanceLoader } from "./InstanceLoader.ts"
import type { InstanceLockService } from "./InstanceLock.ts"
import { InstanceTable, type OpenError, type StartError } from "./InstanceTable.ts"
import { RegisteredMachine } from "./MachineRegistry.ts"
import { OutageRecovery } from "./OutageRecovery.ts"
import { type Claimed, TimerScheduler } from "./TimerScheduler.ts"
import { outsideSpans, type Tracing, tracingIn } from "./Tracing.ts"

export class EngineCore implements InstanceContext {
  readonly host = new Host()
  readonly journal: JournalService
  readonly timers: TimersService
  readonly committer: GroupCommit
  readonly onConflict: InstanceContext["onConflict"]
  readonly doubt: InstanceContext["doubt"]
  readonly storeTimeoutMillis: number
  readonly outage: InstanceContext["outage"] = Schedule.min([Schedule.exponential("250 millis", 2), Schedule.spaced("10 seconds")])
  readonly lock: InstanceContext["lock"]
  readonly tracing: Tracing | undefined
  readonly config: EngineConfig
  readonly #environment: Environment
  readonly #machines = new Map<string, RegisteredMachine>()
  readonly #reading: InstanceLoader
  readonly #instances: InstanceTable
  readonly #following: ChangeFollower
  readonly #returns: OutageRecovery
  readonly #deadlines: TimerScheduler

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
    this.committer = new GroupCommit(observed(journal, environment, this.tracing !== undefined), (effect) => environment.run(effect))
    this.#reading = new InstanceLoader(journal)
    this.#instances = new InstanceTable(this, this.#reading, environment, (name) => this.#machines.get(name))
    this.#following = new ChangeFollower(journal, this.#reading, environment, config.followMillis)
    this.#returns = new OutageRecovery(this.#instances, environment)
    this.#deadlines = new TimerScheduler(timers, this.#instances, environment, this.committer)
  }

  // Machines

  /** Without upcasters it leaves those alone that were given before. */
  register(machine: unknown, upcasters: Upcasters | undefined, environment: Environment): RegisteredMachine {
    const compiled = compiledOf(machine)
    if (compiled.openSlot !== undefined) throw unbuilt(compiled.name, compiled.openSlot)
    const known = this.#machines.get(compiled.name)
    if (known?.compiled === compiled && (upcasters === undefined || upcasters === known.upcasters)) return known
    if (known !== undefined && known.compiled !== compiled) this.#refuseAnother(known, compiled)
    const registered = new RegisteredMachine(machine, compiled, upcasters ?? known?.upcasters ?? {}, outsideSpans(environment))
    this.#machines.set(registered.name, registered)
    if (known === undefined) this.#machineAdded?.()
    return registered
  }

  /** A newer version may replace one of which nothing is in memory. Otherwise one name is one machine. */
  #refuseAnother(known: RegisteredMachine, compiled: Compiled) {
    const isSame = fingerprint(known.compiled) === fingerprint(compiled)
    const isReplaced = known.version !== compiled.declarations.version && !this.#instances.hasAny(known.name)
    if (isSame || isReplaced) return
    throw new DefinitionError({
      problem: `machine ${known.name} is registered with another definition`,
      nextStep: "give one of them another name, or a newer version that is registered before instances are used",
    })
  }

  #machineAdded: (() => void) | undefined

  /** Calls back whenever a machine becomes known: its timers may have been due for long. */
  whenMachineAdded(callback: () => void) {
    this.#machineAdded = callback
  }

  get machineNames(): ReadonlyArray<string> {
    return [...this.#machines.keys()]
  }

  /** What a process of an older version cannot read it must not touch either. */
  get machineVersions(): MachineVersions {
    return Object.fromEntries([...this.#machines.values()].map(({ name, version }) => [name, version]))
  }

  get machines(): ReadonlyArray<unknown> {
    return [...this.#machines.values()].map(({ machine }) => machine)
  }

  registered(name: string): RegisteredMachine | undefined {
    return this.#machines.get(name)
  }

  /** What is started inside a transaction outlives it. */
  environmentFor(context: Context.Context<unknown>): Environment {
    const { transaction } = this.journal
    if (transaction === undefined || !isIn(context as Context.Context<never>, transaction)) return this.host.environment(context)
    return this.host.environment(Context.omit(transaction)(context as Context.Context<TransactionConnection>) as Context.Context<unknown>)
  }

  /** Whether a fiber is inside a transaction of the store's database. */
  isInTransaction({ context }: Fiber.Fiber<unknown, unknown>): boolean {
    return this.journal.transaction !== undefined && isIn(context, this.journal.transaction)
  }

  // Instances

  isLive(key: InstanceKey): boolean {
    return this.#instances.find(key) !== undefined
  }

  find(key: InstanceKey): InstanceCell | undefined {
    return this.#instances.find(key)
  }

  get live(): number {
    return this.#instances.count
  }

  start(registered: RegisteredMachine, id: string, input: unknown): Effect.Effect<InstanceCell, StartError> {
    return this.#instances.start(registered, id, input)
  }

  open(key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return this.#instances.open(key)
  }

  /** Whether what memory has of an instance is what the store has, as far as that is known without asking. */
  isCurrent(cell: InstanceCell): boolean {
    return this.#following.isCurrent(cell)
  }

  /** An instance in memory, as far as the store has it; and what was read of the journal where memory was behind. */
  openCurrent(key: InstanceKey): Effect.Effect<{ readonly cell: InstanceCell; readonly reloaded: Reloaded | undefined }, OpenError> {
    return Effect.suspend(() => {
      const isNew = !this.#instances.knows(key)
      return Effect.flatMap(this.open(key), (cell) =>
        isNew || !cell.isRunning || this.isCurrent(cell)
          ? Effect.succeed({ cell, reloaded: undefined })
          : Effect.flatMap(this.#following.catchUp(cell), (reloaded) =>
              // It may have left memory while the store was asked.
              reloaded === undefined && !cell.isRunning ? this.openCurrent(key) : Effect.succeed({ cell, reloaded }),
            ),
      )
    })
  }

  /** How far the store has an instance. */
  standing(key: InstanceKey): Effect.Effect<InstanceStanding | undefined, PersistenceFailed> {
    return this.#following.standing(key)
  }

  /** Whoever waits for an instance hears of what other processes do with it. */
  follow(cell: InstanceCell): Effect.Effect<void, never, Scope.Scope> {
    return this.#following.follow(cell)
  }

  openAll(registered: RegisteredMachine, keys: ReadonlyArray<InstanceKey>): Effect.Effect<ReadonlyArray<InstanceCell>, PersistenceFailed> {
    return this.#instances.openAll(registered, keys)
  }

  openEach(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void, PersistenceFailed> {
    return this.#instances.openEach(keys)
  }

  get isFiring(): boolean {
    return this.#deadlines.isFiring
  }

  /** Takes due timers that nobody holds, to fire them. */
  claimTimers(request: ClaimRequest): Effect.Effect<Claimed, PersistenceFailed> {
    return this.#deadlines.claim(request)
  }

  fire(timer: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    return this.#deadlines.fire(timer)
  }

  // What instances ask for

  reload(registered: RegisteredMachine, key: InstanceKey): Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed> {
    return this.#reading.reload(registered, key)
  }

  firstOutcome(
    registered: RegisteredMachine,
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

  timerStored(cell: InstanceLife, timer: TimerRecord) {
    this.#deadlines.stored(cell.name, timer)
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

  /** Forgets these instances, as far as nobody needs them. */
  release(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void> {
    return this.#instances.release(keys)
  }

  /** From the beginning, nothing is taken. */
  observe() {
    this.#instances.close("this process only observes; send to the one that works")
  }

  /** Takes nothing more, stores what was accepted, and ends the work of all instances. */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#instances.close("the engine was stopped")
    this.#deadlines.queue.close()
    this.#returns.close()
    this.#following.close()
    yield* Effect.timeoutOption(this.#instances.allSettled, this.config.drainTimeout)
    yield* this.#instances.leaveAll("the engine was stopped")
    yield* this.host.close
  })

  get isClosed(): boolean {
    return this.#instances.isClosed
  }

  stoppedError(key: InstanceKey): MachineStopped {
    return this.#instances.stoppedError(key)
  }
}

const isIn = (context: Context.Context<never>, key: NonNullable<JournalService["transaction"]>): boolean =>
  Context.getOrUndefined(context, key) !== undefined
