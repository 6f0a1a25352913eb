/** Which instances are in memory, how they get there and how they leave again. */
import {
  type ActorExists,
  type Beginning,
  type EventReplayError,
  InvalidState,
  MachineStopped,
  type PersistenceFailed,
  type SendError,
} from "@detent/machine"
import { begin, type Environment, identified, initialState, type Tagged } from "@detent/machine/internal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { InstanceExists, instanceExists } from "../InstanceExists.ts"
import { InstanceNotFound } from "../InstanceNotFound.ts"
import { Envelope } from "../instance/Envelope.ts"
import { InstanceCell } from "../instance/InstanceCell.ts"
import type { InstanceContext, Reloaded } from "../instance/InstanceContext.ts"
import type { InstanceLife } from "../instance/InstanceLife.ts"
import { raisedId } from "../instance/SelfSentEvents.ts"
import type { Commit, InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import { type OpenedInstance, placementOf } from "../store/Journal.ts"
import { instancesLive, record } from "./EngineMetrics.ts"
import type { InstanceLoader } from "./InstanceLoader.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import { newInstanceCommit, storeNew } from "./NewInstance.ts"
import { withTails } from "./prefetchEvents.ts"
import { askedBy, type EventTrace, instanceAttributes, isTraced, traced } from "./Tracing.ts"

export type OpenError = InstanceNotFound | EventReplayError | PersistenceFailed

/** Why an instance was not started. */
export type StartError = ActorExists | InvalidState | SendError

export class InstanceTable {
  readonly #keeper: InstanceContext
  readonly #reading: InstanceLoader
  readonly #environment: Environment
  readonly #machine: (name: string) => RegisteredMachine | undefined
  readonly #cells = new Map<string, InstanceCell>()
  readonly #opening = new Map<string, Deferred.Deferred<InstanceCell, OpenError>>()
  /** Instances whose first commit is on its way: whoever wants them waits for it. */
  readonly #starting = new Map<string, Deferred.Deferred<void>>()
  /** Why nothing new is started. */
  #closed: string | undefined

  constructor(
    keeper: InstanceContext,
    reading: InstanceLoader,
    environment: Environment,
    machine: (name: string) => RegisteredMachine | undefined,
  ) {
    this.#keeper = keeper
    this.#reading = reading
    this.#environment = environment
    this.#machine = machine
  }

  find(key: InstanceKey): InstanceCell | undefined {
    return this.#cells.get(instanceName(key))
  }

  findNamed(name: string): InstanceCell | undefined {
    return this.#cells.get(name)
  }

  /** In memory, or on its way there: it may have been read before now. */
  knows(key: InstanceKey): boolean {
    const name = instanceName(key)
    return this.#cells.has(name) || this.#opening.has(name)
  }

  /** Whether anything of a machine is in memory. */
  hasAny(machine: string): boolean {
    return [...this.#cells.values()].some(({ key }) => key.machine === machine)
  }

  get count(): number {
    return this.#cells.size
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** From now on nothing new is started. */
  close(reason: string) {
    this.#closed = reason
  }

  stoppedError(key: InstanceKey): MachineStopped {
    return new MachineStopped({ ...key, state: "(unknown)", reason: this.#closed ?? "the engine was stopped" })
  }

  // Getting into memory

  /** Stores a new instance. Nothing of it can be seen before. */
  start(registered: RegisteredMachine, id: string, input: unknown): Effect.Effect<InstanceCell, StartError> {
    return Effect.withFiber((fiber) => {
      if (!isTraced(fiber)) return this.#start(registered, id, input, undefined)
      const attributes = instanceAttributes({ machine: registered.name, id })
      return traced("detent.start", attributes, (trace) => this.#start(registered, id, input, trace))
    })
  }

  #start(
    registered: RegisteredMachine,
    id: string,
    input: unknown,
    trace: EventTrace | undefined,
  ): Effect.Effect<InstanceCell, StartError> {
    return Effect.suspend((): Effect.Effect<InstanceCell, StartError> => {
      const key = { machine: registered.name, id }
      const name = instanceName(key)
      if (this.isClosed) return Effect.fail(this.stoppedError(key))
      const live = this.#cells.get(name)
      if (live !== undefined) return Effect.fail(new InstanceExists({ ...key, state: live.currentState._tag, status: "running" }))
      const starting = this.#starting.get(name)
      if (starting !== undefined) return Effect.flatMap(Deferred.await(starting), () => this.#start(registered, id, input, trace))
      const at = Math.floor(this.#environment.clock.currentTimeMillisUnsafe())
      const beginning = begin(registered.compiled, initialState(registered.compiled, input), at)
      if (beginning._tag === "Refused") return Effect.fail(identified(beginning.error, id))
      const commit = newInstanceCommit(registered, id, beginning, at)
      if (commit instanceof InvalidState) return Effect.fail(commit)
      const over = Deferred.makeUnsafe<void>()
      this.#starting.set(name, over)
      const started = Effect.flatMap(storeNew(this.#keeper, commit), (outcome): Effect.Effect<InstanceCell, StartError> => {
        if (outcome._tag === "PersistenceFailed") return Effect.fail(outcome)
        if (outcome._tag !== "Stored") return Effect.flip(instanceExists(this.#keeper.journal, key))
        trace?.stored(0, commit.commands)
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

  #begin(registered: RegisteredMachine, { state, through, hooks, sends }: Beginning<Tagged, Tagged>, commit: Commit): InstanceCell {
    const { machine, id, at, origin, summary, setTimers } = commit
    const opened: OpenedInstance = {
      record: { machine, id, ...summary, ...placementOf(summary), sequence: 0, startedAt: at, updatedAt: at },
      origin,
      snapshot: undefined,
      timers: setTimers,
    }
    const cell = new InstanceCell(this.#keeper, registered, {
      opened,
      recovered: { state, sequence: 0, past: through, entered: 0, at, stopped: undefined, owed: [] },
    })
    const ended = summary.status === "final"
    if (!ended) this.#keep(cell)
    this.#keeper.arm(cell, new Map(setTimers.map((timer) => [timer.name, timer])))
    cell.beginWith(hooks)
    for (const [index, event] of sends.entries()) cell.deliver(new Envelope(event, { internal: true, dedupeId: raisedId(0, index) }))
    if (ended) cell.conclude(opened)
    return cell
  }

  /** The instance of a key, from memory or from the journal. Many who ask at once share one reading. */
  open(key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return Effect.suspend(() => {
      const name = instanceName(key)
      const live = this.#cells.get(name)
      if (live !== undefined) return Effect.succeed(live)
      const opening = this.#opening.get(name)
      // That reading began earlier: what it did not find may have been started since.
      if (opening !== undefined) return Effect.catchTag(Deferred.await(opening), "InstanceNotFound", () => this.open(key))
      const starting = this.#starting.get(name)
      if (starting !== undefined) return Effect.flatMap(Deferred.await(starting), () => this.open(key))
      const registered = this.#machine(key.machine)
      if (registered === undefined) return Effect.fail(new InstanceNotFound(key))
      const deferred = Deferred.makeUnsafe<InstanceCell, OpenError>()
      this.#opening.set(name, deferred)
      return Effect.withFiber((fiber) => {
        this.#environment.run(
          Effect.flatMap(Effect.exit(askedBy(fiber, this.#load(registered, key))), (exit) => {
            this.#opening.delete(name)
            this.settled()
            return Deferred.done(deferred, exit)
          }),
        )
        return Deferred.await(deferred)
      })
    })
  }

  #load(registered: RegisteredMachine, key: InstanceKey): Effect.Effect<InstanceCell, OpenError> {
    return Effect.flatMap(this.#reading.reload(registered, key), (reloaded) => {
      if (reloaded === undefined) return Effect.fail(new InstanceNotFound(key))
      return Effect.sync(() => this.find(key) ?? this.#adopt(registered, reloaded))
    })
  }

  /** Opens many at once, as a restart does. */
  openAll(registered: RegisteredMachine, keys: ReadonlyArray<InstanceKey>): Effect.Effect<ReadonlyArray<InstanceCell>, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const opened = yield* this.#keeper.journal.openAll(keys.filter((key) => this.find(key) === undefined))
      const journal = yield* withTails(this.#keeper.journal, opened)
      const cells = yield* Effect.forEach(
        opened,
        (one) =>
          Effect.map(Effect.result(this.#reading.recover(registered, one, journal)), (result) => {
            if (result._tag === "Failure" || this.find(one.record) !== undefined) return undefined
            return this.#adopt(registered, result.success)
          }),
        { concurrency: 16 },
      )
      return cells.filter((cell) => cell !== undefined)
    })
  }

  /** The same for instances of several machines, as far as those are known. */
  openEach(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void, PersistenceFailed> {
    return Effect.forEach(
      Map.groupBy(keys, ({ machine }) => machine),
      ([name, ofMachine]) => {
        const registered = this.#machine(name)
        return registered === undefined ? Effect.void : this.openAll(registered, ofMachine)
      },
      { discard: true },
    )
  }

  #adopt(registered: RegisteredMachine, reloaded: Reloaded): InstanceCell {
    const cell = new InstanceCell(this.#keeper, registered, reloaded)
    if (reloaded.opened.record.status !== "running") cell.conclude(reloaded.opened)
    // An engine that has stopped still reads, but starts nothing.
    else if (!this.isClosed) {
      this.#keep(cell)
      cell.resume(reloaded.recovered.owed)
    }
    return cell
  }

  #keep(cell: InstanceCell) {
    this.#cells.set(cell.name, cell)
    record(instancesLive, this.#cells.size, this.#environment)
  }

  // Leaving memory

  gone(cell: InstanceLife) {
    if (this.#cells.get(cell.name) !== cell) return
    this.#cells.delete(cell.name)
    record(instancesLive, this.#cells.size, this.#environment)
  }

  /** Forgets instances that nobody has used for so long. */
  passivate(afterMillis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const before = this.#environment.clock.currentTimeMillisUnsafe() - afterMillis
      return leaving([...this.#cells.values()].filter((cell) => cell.lastUsedAt <= before))
    })
  }

  /** Forgets these now, as far as nobody needs them. */
  release(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void> {
    return Effect.suspend(() => leaving(keys.flatMap((key) => this.find(key) ?? [])))
  }

  /** Ends the work of all of them. The journal keeps them. */
  leaveAll(reason: string): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach([...this.#cells.values()], (cell) => cell.leave(reason), { discard: true, concurrency: "unbounded" }),
    )
  }

  #settledListener: (() => void) | undefined

  settled() {
    this.#settledListener?.()
  }

  /** Ends when all that was accepted is stored and carried out. */
  readonly allSettled: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#settledListener = () => {
      if (this.#starting.size > 0 || this.#opening.size > 0) return
      if ([...this.#cells.values()].every((cell) => cell.isSettled)) resume(Effect.void)
    }
    this.#settledListener()
  })
}

const leaving = (cells: ReadonlyArray<InstanceCell>): Effect.Effect<void> =>
  Effect.forEach(
    cells.filter((cell) => cell.isIdle && !cell.isNeeded),
    (cell) => cell.leave("it was idle"),
    { discard: true },
  )
