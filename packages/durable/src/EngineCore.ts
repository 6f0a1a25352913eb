/** The engine behind the {@link Engine} service: which instances are in memory, how they get there and leave again. */
import {
  ActorExists,
  type Beginning,
  type EventReplayError,
  MachineStopped,
  type PersistenceFailed,
  type SendError,
  type Taken,
} from "@detent/machine"
import { begin, compiledOf, type Environment, Host, initialState, type Tagged } from "@detent/machine/internal"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { Commit, CommitOutcome, InstanceKey, TimerRecord } from "./Commit.ts"
import { Committer, type Doubtful } from "./Committer.ts"
import type { EngineConfig } from "./EngineConfig.ts"
import { instancesHeld, instancesLive, recoveries, timersFired, timersStale } from "./EngineMetrics.ts"
import { Envelope } from "./Envelope.ts"
import { InstanceCell } from "./InstanceCell.ts"
import type { InstanceLife } from "./InstanceLife.ts"
import type { InstanceLockService } from "./InstanceLock.ts"
import { InstanceNotFound } from "./InstanceNotFound.ts"
import type { JournalService, OpenedInstance } from "./Journal.ts"
import type { Keeper, Reloaded } from "./Keeper.ts"
import { newInstanceCommit } from "./NewInstance.ts"
import { raisedId } from "./Raised.ts"
import { type ReplayedEvent, recover } from "./Recovery.ts"
import { Registered } from "./Registered.ts"
import { withTails } from "./Tails.ts"
import { TimerQueue } from "./TimerQueue.ts"
import type { TimersService } from "./Timers.ts"
import type { Upcasters } from "./Upcasters.ts"

export type OpenError = InstanceNotFound | EventReplayError | PersistenceFailed

export const keyName = ({ machine, id }: InstanceKey): string => `${machine}\u0000${id}`

export class EngineCore implements Keeper {
  readonly host = new Host()
  readonly journal: JournalService
  readonly timers: TimersService
  readonly committer: Committer
  readonly queue: TimerQueue
  readonly onConflict: Keeper["onConflict"]
  readonly doubt: Keeper["doubt"]
  readonly storeTimeoutMillis: number
  readonly lock: Keeper["lock"]
  readonly config: EngineConfig
  readonly #environment: Environment
  readonly #machines = new Map<string, Registered>()
  readonly #cells = new Map<string, InstanceCell>()
  readonly #opening = new Map<string, Deferred.Deferred<InstanceCell, OpenError>>()
  /** Instances whose first commit is on its way: whoever wants them waits for it. */
  readonly #starting = new Map<string, Deferred.Deferred<void>>()
  #closed = false

  constructor(
    journal: JournalService,
    timers: TimersService,
    locks: InstanceLockService | undefined,
    config: EngineConfig,
    environment: Environment,
  ) {
    this.journal = journal
    this.timers = timers
    this.config = config
    this.onConflict = config.onConflict
    this.storeTimeoutMillis = Duration.toMillis(config.storeTimeout)
    this.doubt = Schedule.max([Schedule.exponential("50 millis", 1.5), Schedule.during(config.storeTimeout)])
    this.lock = locks === undefined ? undefined : (key) => ({ acquire: locks.acquire(key) })
    this.#environment = environment
    this.committer = new Committer(journal, (effect) => environment.run(effect))
    this.queue = new TimerQueue(environment, (due) => this.#fireAll(due))
  }

  isLive(key: InstanceKey): boolean {
    return this.#cells.has(keyName(key))
  }

  get live(): number {
    return this.#cells.size
  }

  get machineNames(): ReadonlyArray<string> {
    return [...this.#machines.keys()]
  }

  // Machines

  /** Without upcasters it leaves those alone that were given before. */
  register(machine: unknown, upcasters: Upcasters | undefined, environment: Environment): Registered {
    const compiled = compiledOf(machine)
    const known = this.#machines.get(compiled.name)
    if (known?.compiled === compiled && (upcasters === undefined || upcasters === known.upcasters)) return known
    const registered = new Registered(compiled, upcasters ?? known?.upcasters ?? {}, environment)
    this.#machines.set(registered.name, registered)
    if (known === undefined) this.#machineAdded?.()
    return registered
  }

  #machineAdded: (() => void) | undefined

  /** Calls back whenever a machine becomes known: its timers may have been due for long. */
  whenMachineAdded(callback: () => void) {
    this.#machineAdded = callback
  }

  registered(name: string): Registered | undefined {
    return this.#machines.get(name)
  }

  environmentFor(context: Context.Context<unknown>): Environment {
    return this.host.environment(context)
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

  // Getting instances into memory

  /** Stores a new instance. Nothing of it can be seen before. */
  start(registered: Registered, id: string, input: unknown): Effect.Effect<InstanceCell, ActorExists | SendError> {
    return Effect.suspend((): Effect.Effect<InstanceCell, ActorExists | SendError> => {
      const key = { machine: registered.name, id }
      const name = keyName(key)
      if (this.#closed) return Effect.fail(this.stoppedError(key))
      if (this.#cells.has(name)) return Effect.fail(new ActorExists({ id }))
      const starting = this.#starting.get(name)
      if (starting !== undefined) return Effect.flatMap(Deferred.await(starting), () => this.start(registered, id, input))
      const at = Math.floor(this.#environment.clock.currentTimeMillisUnsafe())
      const beginning = begin(registered.compiled, initialState(registered.compiled, input), at)
      if (beginning._tag === "Refused") return Effect.fail(beginning.error as SendError)
      const commit = newInstanceCommit(registered, id, beginning, at)
      const over = Deferred.makeUnsafe<void>()
      this.#starting.set(name, over)
      const started = Effect.flatMap(this.#storeNew(commit), (outcome): Effect.Effect<InstanceCell, ActorExists | PersistenceFailed> => {
        if (outcome._tag === "PersistenceFailed") return Effect.fail(outcome)
        if (outcome._tag !== "Stored") return Effect.fail(new ActorExists({ id }))
        return Effect.sync(() => this.#begin(registered, beginning, commit))
      })
      const fiber = this.#environment.run(
        Effect.ensuring(
          started,
          Effect.suspend(() => {
            this.#starting.delete(name)
            this.settled()
            return Deferred.succeed(over, undefined)
          }),
        ),
      )
      // Whoever asked may go away; once it is stored, the instance lives.
      return Fiber.join(fiber)
    })
  }

  /** The first commit of an instance. Where the store does not say whether it stored, it is asked. */
  #storeNew(commit: Commit): Effect.Effect<CommitOutcome, PersistenceFailed> {
    let doubted = false
    const attempt = Effect.flatMap(
      Effect.callback<CommitOutcome | Doubtful>((resume) => {
        this.committer.enqueue({ takeCommit: () => commit, committed: (outcome) => resume(Effect.succeed(outcome)) })
      }),
      (outcome): Effect.Effect<CommitOutcome, PersistenceFailed> => {
        // An attempt that the store failed at may have arrived before the next.
        if (outcome._tag !== "Doubtful" && !(outcome._tag === "Conflict" && doubted)) return Effect.succeed(outcome)
        doubted = true
        return Effect.flatMap(this.journal.open(commit), (found) => {
          if (Option.isNone(found)) return outcome._tag === "Doubtful" ? Effect.fail(outcome.error) : Effect.succeed(outcome)
          const { record, origin } = found.value
          const ours = record.startedAt === commit.at && origin === commit.origin && record.sequence === 0
          return Effect.succeed(ours ? { _tag: "Stored" } : { _tag: "Conflict", actual: record.sequence })
        })
      },
    )
    return Effect.retry(attempt, { schedule: this.doubt })
  }

  #begin(registered: Registered, { state, through, hooks, sends }: Beginning<Tagged, Tagged>, commit: Commit): InstanceCell {
    const { machine, id, at, origin, summary, setTimers } = commit
    const opened: OpenedInstance = {
      record: { machine, id, ...summary, sequence: 0, startedAt: at, updatedAt: at },
      origin,
      snapshot: undefined,
      timers: setTimers,
    }
    const cell = new InstanceCell(this, registered, {
      opened,
      recovered: { state, sequence: 0, past: through, at, stopped: undefined, owed: [] },
    })
    const ended = summary.status === "final"
    if (!ended) this.#keep(cell)
    this.queue.sync(keyName(cell.key), cell.key, new Map(setTimers.map((timer) => [timer.name, timer])))
    cell.beginWith(hooks)
    for (const [index, event] of sends.entries()) cell.deliver(new Envelope(event, { internal: true, dedupeId: raisedId(0, index) }))
    if (ended) cell.conclude(opened)
    return cell
  }

  /** The instance of a key, from memory or from the journal. Many who ask at once share one reading. */
  open(key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return Effect.suspend(() => {
      const name = keyName(key)
      const live = this.#cells.get(name)
      if (live !== undefined) return Effect.succeed(live)
      const opening = this.#opening.get(name)
      // That reading began earlier: what it did not find may have been started since.
      if (opening !== undefined) return Effect.catchTag(Deferred.await(opening), "InstanceNotFound", () => this.open(key))
      const starting = this.#starting.get(name)
      if (starting !== undefined) return Effect.flatMap(Deferred.await(starting), () => this.open(key))
      const registered = this.#machines.get(key.machine)
      if (registered === undefined) return Effect.fail(new InstanceNotFound(key))
      const deferred = Deferred.makeUnsafe<InstanceCell, OpenError>()
      this.#opening.set(name, deferred)
      this.#environment.run(
        Effect.flatMap(Effect.exit(this.#load(registered, key)), (exit) => {
          this.#opening.delete(name)
          this.settled()
          return Deferred.done(deferred, exit)
        }),
      )
      return Deferred.await(deferred)
    })
  }

  #load(registered: Registered, key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return Effect.flatMap(this.reload(registered, key), (reloaded) => {
      if (reloaded === undefined) return Effect.fail(new InstanceNotFound(key))
      return Effect.sync(() => this.#cells.get(keyName(key)) ?? this.#adopt(registered, reloaded))
    })
  }

  #adopt(registered: Registered, reloaded: Reloaded): InstanceCell {
    const cell = new InstanceCell(this, registered, reloaded)
    if (reloaded.opened.record.status !== "running") cell.conclude(reloaded.opened)
    // An engine that has stopped still reads, but starts nothing.
    else if (!this.#closed) {
      this.#keep(cell)
      cell.resume(reloaded.recovered.owed)
    }
    return cell
  }

  #keep(cell: InstanceCell) {
    this.#cells.set(keyName(cell.key), cell)
    this.#environment.run(Metric.update(instancesLive, this.#cells.size))
  }

  /** Opens many at once, as a restart does. */
  openAll(registered: Registered, keys: ReadonlyArray<InstanceKey>): Effect.Effect<ReadonlyArray<InstanceCell>, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const opened = yield* this.journal.openAll(keys.filter((key) => !this.isLive(key)))
      const journal = yield* withTails(this.journal, opened)
      const cells = yield* Effect.forEach(
        opened,
        (one) =>
          Effect.map(Effect.result(this.#recover(registered, one, journal)), (result) => {
            if (result._tag === "Failure" || this.#cells.has(keyName(one.record))) return undefined
            return this.#adopt(registered, { opened: one, recovered: result.success })
          }),
        { concurrency: 16 },
      )
      return cells.filter((cell) => cell !== undefined)
    })
  }

  reload(registered: Registered, key: InstanceKey): Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.journal.open(key)
      if (Option.isNone(found)) return undefined
      const recovered = yield* this.#recover(registered, found.value)
      const { record } = found.value
      if (record.status !== "held") return { opened: found.value, recovered }
      // It replays again: whatever held it has been repaired.
      const status =
        recovered.stopped !== undefined ? "stopped" : registered.compiled.nodes.get(recovered.state._tag)?.final ? "final" : "running"
      yield* this.journal.setStatus(key, status, recovered.stopped)
      return { opened: { ...found.value, record: { ...record, status, reason: recovered.stopped } }, recovered }
    })
  }

  /** An event that no longer fits holds the instance: it is listed, and nothing is skipped. */
  #recover(registered: Registered, opened: OpenedInstance, journal = this.journal) {
    return recover(registered, journal, opened).pipe(
      Effect.tap(() => Metric.update(recoveries, 1)),
      Effect.tapError((error) =>
        error._tag !== "EventReplayError"
          ? Effect.void
          : Effect.andThen(
              // One that has ended stays ended: there is nothing to go on with.
              opened.record.status === "running"
                ? Effect.ignore(this.journal.setStatus(opened.record, "held", error.message))
                : Effect.void,
              Effect.andThen(Metric.update(instancesHeld, 1), Effect.logError(error.message)),
            ),
      ),
    )
  }

  // What instances ask for

  firstOutcome(
    registered: Registered,
    key: InstanceKey,
    dedupeId: string,
  ): Effect.Effect<Taken<Tagged, Tagged> | undefined, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.journal.findDuplicate(key, dedupeId)
      if (Option.isNone(found)) return undefined
      const { sequence } = found.value
      const opened = yield* this.journal.open(key)
      if (Option.isNone(opened)) return undefined
      const { snapshot } = opened.value
      // The event itself has to be replayed, so a snapshot of what it led to is of no use.
      const before = { ...opened.value, snapshot: snapshot !== undefined && snapshot.sequence < sequence ? snapshot : undefined }
      let replayed: ReplayedEvent | undefined
      const recovered = yield* recover(registered, this.journal, before, sequence, (one) => {
        replayed = one
      })
      return replayed === undefined ? undefined : takenAgain(replayed, recovered.stopped)
    })
  }

  prune(key: InstanceKey, through: number) {
    // What is not pruned now is pruned with the next snapshot.
    const told = (error: PersistenceFailed) =>
      Effect.logWarning(`the journal of ${key.machine} ${key.id} could not be pruned`, error.message)
    this.#environment.run(Effect.catch(Effect.asVoid(this.journal.prune(key, through)), told))
  }

  arm(cell: InstanceLife, timers: ReadonlyMap<string, TimerRecord>) {
    this.queue.sync(keyName(cell.key), cell.key, timers)
  }

  timerStale(key: InstanceKey, timer: TimerRecord) {
    this.#environment.run(Effect.andThen(Metric.update(timersStale, 1), Effect.ignore(this.timers.complete({ ...key, ...timer }))))
  }

  timerRefused(key: InstanceKey, timer: TimerRecord) {
    this.#environment.run(Effect.ignore(this.timers.complete({ ...key, ...timer })))
  }

  gone(cell: InstanceLife) {
    const name = keyName(cell.key)
    if (this.#cells.get(name) !== cell) return
    this.#cells.delete(name)
    this.#environment.run(Metric.update(instancesLive, this.#cells.size))
  }

  // Timers

  #fireAll(due: ReadonlyArray<InstanceKey & TimerRecord>) {
    for (const timer of due) {
      const cell = this.#cells.get(keyName(timer))
      if (cell !== undefined) {
        if (cell.hasTimer(timer)) this.#deliver(cell, timer)
      } else this.#environment.run(Effect.ignore(this.fire(timer)))
    }
  }

  #deliver(cell: InstanceCell, { name, entry, due }: TimerRecord): Envelope {
    this.#environment.run(Metric.update(timersFired, 1))
    return cell.fire({ name, entry, due })
  }

  /** Fires a timer into its instance, wherever that is. Fails where the instance cannot be opened or the event not stored. */
  fire(timer: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    return Effect.flatMap(this.open(timer), (cell) => {
      // Either the timer is stale, or another node has taken the instance further than this one knows.
      if (!cell.hasTimer(timer)) cell.refresh()
      const envelope = this.#deliver(cell, timer)
      return Effect.map(awaitEnvelope(envelope), () => "fired" as const)
    })
  }

  // Leaving memory

  /** Forgets instances that nobody has used for a while. */
  readonly passivate: Effect.Effect<void> = Effect.suspend(() => {
    const before = this.#environment.clock.currentTimeMillisUnsafe() - this.config.passivateAfterMillis
    const idle = [...this.#cells.values()].filter((cell) => cell.lastUsedAt <= before && cell.isIdle && !cell.isNeeded)
    return Effect.forEach(idle, (cell) => cell.leave("it was idle"), { discard: true })
  })

  /** Takes nothing more, stores what was accepted, and ends the work of all instances. */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#closed = true
    this.queue.close()
    yield* Effect.timeoutOption(this.#allSettled, this.config.drainTimeout)
    yield* Effect.forEach([...this.#cells.values()], (cell) => cell.leave("the engine was stopped"), {
      discard: true,
      concurrency: "unbounded",
    })
    yield* this.host.close
  })

  #settledListener: (() => void) | undefined

  settled() {
    this.#settledListener?.()
  }

  readonly #allSettled: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#settledListener = () => {
      if (this.#starting.size > 0 || this.#opening.size > 0) return
      if ([...this.#cells.values()].every((cell) => cell.isSettled)) resume(Effect.void)
    }
    this.#settledListener()
  })

  get isClosed(): boolean {
    return this.#closed
  }

  stoppedError(key: InstanceKey): MachineStopped {
    return new MachineStopped({ ...key, state: "(unknown)", reason: "the engine was stopped" })
  }
}

export const awaitEnvelope = (envelope: Envelope): Effect.Effect<Taken<Tagged, Tagged>, SendError> => {
  const read = (result: NonNullable<Envelope["result"]>) => (result instanceof Error ? Exit.fail(result) : Exit.succeed(result))
  if (envelope.result !== undefined) return read(envelope.result)
  return Effect.callback((resume) => {
    envelope.observer = (result) => resume(read(result))
    return Effect.sync(() => {
      envelope.observer = undefined
    })
  })
}

/** A decision as it was made then: nothing of it is to be carried out again. */
const takenAgain = ({ from, state, event, moved, answer }: ReplayedEvent, stopped: string | undefined): Taken<Tagged, Tagged> => {
  const common = { from, state, event, answer, requests: [], sends: [], through: [], hooks: [], timers: [], guardAnswers: [] }
  if (stopped !== undefined) return { _tag: "Stop", reason: stopped, ...common }
  return { _tag: moved ? "Goto" : "Stay", ...common }
}
