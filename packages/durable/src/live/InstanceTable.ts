/** The instances in memory: opens and starts them, and lets them leave memory. */
import {
  type ActorExists,
  type Beginning,
  type EventReplayError,
  type InstanceNotFound as InstanceNotFoundError,
  InvalidState,
  LockingFailed,
  MachineStopped,
  PersistenceFailed,
  type SendError,
} from "@detent/machine"
import { type Environment, firstState, identified, type Node, type Tagged } from "@detent/machine/internal"
import type { Commit, InstanceKey, InstanceRecord, JournalService, OpenedInstance } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { InstanceExists, InstanceNotFound, instanceExists, invalidId, noInstance } from "../errors.ts"
import { CurrentActor, storedActor } from "../machine/Actor.ts"
import { delayedAtStart } from "../machine/DelayedEvents.ts"
import { entriesAfter, noEntries } from "../machine/GroupEntries.ts"
import type { MachineRegistry, RegisteredMachine } from "../machine/MachineRegistry.ts"
import { newInstanceCommit, storeNew } from "../machine/NewInstance.ts"
import { askedBy, type EventTrace, instanceAttributes, instancesLive, isTraced, record, traced } from "../runtime/Telemetry.ts"
import type { InstanceContext, InstanceEntry, Reloaded } from "./InstanceContext.ts"
import type { InstanceLoader } from "./InstanceLoader.ts"
import { LiveInstance } from "./LiveInstance.ts"
import { LiveTable } from "./LiveTable.ts"
import { prefetchEvents } from "./prefetchEvents.ts"

export type OpenError = InstanceNotFoundError | EventReplayError | PersistenceFailed

/** Why an instance was not started. */
export type StartError = ActorExists | InvalidState | SendError

/** How many instances are replayed at a time. */
const concurrency = 16

export class InstanceTable {
  readonly #context: InstanceContext
  readonly #registry: MachineRegistry
  readonly #loader: InstanceLoader
  readonly #environment: Environment
  readonly #live = new LiveTable<LiveInstance>()
  readonly #opening = new Map<string, Deferred.Deferred<LiveInstance, OpenError>>()
  /** Instances that are being started, or read together with others. Callers wait until that has ended, and look again. */
  readonly #underway = new Map<string, Deferred.Deferred<void>>()
  /** Stopped work that has not ended yet. Its instance may have left memory. */
  readonly #endingWork = new Map<Fiber.Fiber<void>, InstanceKey>()
  /** With more instances than this, some leave. Infinite while they do; above the bound where too many work or are followed. */
  #crowdedAt: number
  #settledListener: (() => void) | undefined
  /** The reason why no instance is started any more. Undefined while the table is open. */
  #closed: string | undefined

  constructor(context: InstanceContext, registry: MachineRegistry, loader: InstanceLoader, environment: Environment) {
    this.#context = context
    this.#registry = registry
    this.#loader = loader
    this.#environment = environment
    this.#crowdedAt = context.limits.instances
  }

  find(key: InstanceKey): LiveInstance | undefined {
    // An id that is not a string would have the same name as another instance.
    return typeof key.id === "string" ? this.#live.get(instanceName(key)) : undefined
  }

  findNamed(name: string): LiveInstance | undefined {
    return this.#live.get(name)
  }

  get all(): ReadonlyArray<LiveInstance> {
    return this.#live.all
  }

  /** Whether the instance is in memory or being read: that read may have begun before this call. */
  knows(key: InstanceKey): boolean {
    const name = instanceName(key)
    return this.#live.has(name) || this.#opening.has(name)
  }

  /** Whether an instance of a machine is in memory. */
  hasAny(machine: string): boolean {
    return this.#live.all.some(({ key }) => key.machine === machine)
  }

  /** Whether the instance is placed on this node, in memory or not. */
  isLocal(key: InstanceKey): boolean {
    return this.#context.isLocal(key)
  }

  get count(): number {
    return this.#live.size
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Starts no instance from now on. */
  close(reason: string) {
    this.#closed = reason
  }

  stoppedError({ machine, id }: InstanceKey): MachineStopped {
    return new MachineStopped({ machine, id, state: "(unknown)", reason: this.#closedReason })
  }

  /** The error of a write that sends no event. */
  notWritten(subject: { readonly machine: string; readonly id?: string }, operation: string): PersistenceFailed {
    return new PersistenceFailed({ ...subject, operation, cause: new Error(this.#closedReason) })
  }

  get #closedReason(): string {
    return this.#closed ?? "the engine was stopped"
  }

  // Getting into memory

  /** Stores a new instance. It becomes visible when it is stored. `startedAt`: when another node requested the start. Default: now. */
  start(machine: RegisteredMachine, id: string, input: unknown, startedAt?: number): Effect.Effect<LiveInstance, StartError> {
    return Effect.withFiber((fiber) => {
      const by = storedActor(fiber.getRef(CurrentActor))
      if (!isTraced(fiber)) return this.#start(machine, id, input, undefined, by, startedAt)
      const attributes = instanceAttributes({ machine: machine.name, id })
      return traced("detent.start", attributes, (trace) => this.#start(machine, id, input, trace, by, startedAt))
    })
  }

  #start(
    machine: RegisteredMachine,
    id: string,
    input: unknown,
    trace: EventTrace | undefined,
    by: string | undefined,
    startedAt?: number,
  ): Effect.Effect<LiveInstance, StartError> {
    return Effect.suspend((): Effect.Effect<LiveInstance, StartError> => {
      const invalid = invalidId(machine.name, id)
      if (invalid !== undefined) return Effect.fail(invalid)
      const key = { machine: machine.name, id }
      const name = instanceName(key)
      if (this.isClosed) return Effect.fail(this.stoppedError(key))
      const live = this.#live.get(name)
      if (live !== undefined) return Effect.fail(new InstanceExists({ ...key, state: live.record.currentState._tag, status: "running" }))
      const underway = this.#underway.get(name)
      if (underway !== undefined)
        return Effect.flatMap(Deferred.await(underway), () => this.#start(machine, id, input, trace, by, startedAt))
      const at = startedAt ?? Math.floor(this.#environment.clock.currentTimeMillisUnsafe())
      const beginning = firstState(machine.compiled, input, at)
      if (beginning._tag === "Refused") return Effect.fail(identified(beginning.error, id))
      const commit = newInstanceCommit(this.#context, machine, id, beginning, at, { by, trace: trace?.context })
      if (commit instanceof InvalidState) return Effect.fail(commit)
      const started = Effect.flatMap(storeNew(this.#context, commit), (outcome): Effect.Effect<LiveInstance, StartError> => {
        if (outcome._tag === "PersistenceFailed") return Effect.fail(outcome)
        // The node has lost its lease: the instance is not stored, and another node may have it by now.
        if (outcome._tag === "Fenced") return Effect.fail(new LockingFailed({ ...key, problem: "lost" }))
        if (outcome._tag !== "Stored") return Effect.flip(instanceExists(this.#context.journal, key))
        trace?.stored(0, commit.commands)
        return Effect.sync(() => this.#begin(machine, beginning, commit))
      })
      // The caller may be interrupted: the instance is stored and started anyway.
      return Fiber.join(this.#environment.run(this.#excluding([name], started)))
    })
  }

  /** Starts or reads instances. Callers that open or start one of them wait until it is released, at the latest when `use` ends. */
  #excluding<A, E>(names: Iterable<string>, use: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const own = new Map(Array.from(names, (name) => [name, Deferred.makeUnsafe<void>()]))
      for (const [name, released] of own) this.#underway.set(name, released)
      return Effect.ensuring(
        use,
        Effect.sync(() => {
          // One that was released before may be underway for another caller by now.
          for (const [name, released] of own) if (this.#underway.get(name) === released) this.#release(name)
          this.settled()
        }),
      )
    })
  }

  #release(name: string) {
    const released = this.#underway.get(name)
    if (released === undefined) return
    this.#underway.delete(name)
    Deferred.doneUnsafe(released, Exit.void)
  }

  /**
   * Stores a new instance whose first commit is not the one of a start, runs `stored`, and opens the instance. The caller may be
   * interrupted: all of it happens anyway. If the store does not answer, the instance is opened once the store does: no other node runs
   * its work.
   */
  add<E>(
    key: InstanceKey,
    store: Effect.Effect<void, E | PersistenceFailed>,
    stored: Effect.Effect<void>,
  ): Effect.Effect<LiveInstance, E | OpenError> {
    return Effect.suspend((): Effect.Effect<LiveInstance, E | OpenError> => {
      const name = instanceName(key)
      const underway = this.#underway.get(name)
      if (underway !== undefined) return Effect.flatMap(Deferred.await(underway), () => this.add(key, store, stored))
      const added = Effect.andThen(this.#excluding([name], store), Effect.andThen(stored, this.open(key)))
      const opened = Effect.tapError(added, (error) =>
        Effect.sync(() => {
          if (error instanceof PersistenceFailed) this.#context.bringBack(key)
        }),
      )
      return Effect.withFiber((fiber) => Fiber.join(this.#environment.run(askedBy(fiber, opened))))
    })
  }

  #begin(machine: RegisteredMachine, { state, through, hooks, sends, delays }: Beginning<Tagged, Tagged>, commit: Commit): LiveInstance {
    const { id, at, origin, summary, setTimers } = commit
    const opened: OpenedInstance = {
      record: { machine: machine.name, id, ...summary, sequence: 0, startedAt: at, updatedAt: at },
      origin,
      snapshot: undefined,
      timers: setTimers,
    }
    const recovered = {
      state,
      sequence: 0,
      past: through,
      entered: 0,
      groups: entriesAfter(noEntries, machine.compiled.nodes.get(state._tag) as Node, 0, 0),
      at,
      stopped: undefined,
      selfSent: [],
      delayed: delayedAtStart({ delays }, at),
    }
    const instance = new LiveInstance(this.#context, machine, { opened, recovered })
    if (summary.status === "final") {
      instance.begin(hooks, sends)
      instance.conclude(opened)
      return instance
    }
    // It moved to another node while it was stored, and begins there.
    if (!this.#context.isLocal(instance.key)) {
      this.#context.wake(instance.key)
      return instance
    }
    this.#keep(instance)
    instance.begin(hooks, sends)
    return instance
  }

  /** The instance of a key, from memory or from the journal. Callers that ask at the same time share one read. */
  open(key: InstanceKey): Effect.Effect<LiveInstance, OpenError> {
    return Effect.suspend(() => {
      const missing = noInstance(key)
      if (missing !== undefined) return Effect.fail(missing)
      const name = instanceName(key)
      const live = this.#live.get(name)
      if (live !== undefined) return Effect.succeed(live)
      const opening = this.#opening.get(name)
      // That read began earlier: the instance may have been started since.
      if (opening !== undefined) return Effect.catchTag(Deferred.await(opening), "InstanceNotFound", () => this.open(key))
      const underway = this.#underway.get(name)
      if (underway !== undefined) return Effect.flatMap(Deferred.await(underway), () => this.open(key))
      const machine = this.#registry.get(key.machine)
      if (machine === undefined) return Effect.fail(new InstanceNotFound({ machine: key.machine, id: key.id }))
      const deferred = Deferred.makeUnsafe<LiveInstance, OpenError>()
      this.#opening.set(name, deferred)
      return Effect.withFiber((fiber) => {
        this.#environment.run(
          Effect.flatMap(Effect.exit(askedBy(fiber, this.#load(machine, key))), (exit) => {
            this.#opening.delete(name)
            this.settled()
            return Deferred.done(deferred, exit)
          }),
        )
        return Deferred.await(deferred)
      })
    })
  }

  #load(machine: RegisteredMachine, { machine: name, id }: InstanceKey): Effect.Effect<LiveInstance, OpenError> {
    const key = { machine: name, id }
    return this.#reading([instanceName(key)], (left) =>
      Effect.flatMap(this.#loader.reload(machine, key), (reloaded): Effect.Effect<LiveInstance, OpenError> => {
        if (reloaded === undefined) return Effect.fail(new InstanceNotFound(key))
        const { opened, recovered } = reloaded
        const adopt = (record: InstanceRecord): Effect.Effect<LiveInstance, OpenError> =>
          Effect.suspend(() => {
            const live = this.find(key)
            if (live === undefined && left.has(instanceName(key))) return this.#load(machine, key)
            return Effect.succeed(live ?? this.#adopt(machine, { opened: { ...opened, record }, recovered }))
          })
        const isObserved = this.isClosed || !this.#context.isLocal(key)
        if (isObserved || opened.record.status !== "running" || !opened.record.needsOwner) return adopt(opened.record)
        return Effect.flatMap(this.#context.claimWork(opened.record), (owner) => adopt({ ...opened.record, owner }))
      }),
    )
  }

  /** Runs a read of instances that are not in memory, with the names of those that have left memory since it began. */
  #reading<A, E>(names: ReadonlyArray<string>, read: (left: ReadonlySet<string>) => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const { left, end } = this.#live.beginRead(names)
      return Effect.ensuring(read(left), Effect.sync(end))
    })
  }

  /**
   * Opens many instances together. It waits for those that another caller opens or starts. An instance that cannot be read is left out:
   * the loader has logged it and marked it as held.
   */
  openAll(machine: RegisteredMachine, keys: ReadonlyArray<InstanceKey>): Effect.Effect<ReadonlyArray<LiveInstance>, PersistenceFailed> {
    return Effect.suspend(() => {
      // The same key twice would be read twice, with its events.
      const absent = new Map<string, InstanceKey>()
      const awaited: Array<InstanceKey> = []
      for (const key of keys) {
        const name = instanceName(key)
        if (this.#live.has(name)) continue
        if (this.#opening.has(name) || this.#underway.has(name)) awaited.push(key)
        else absent.set(name, key)
      }
      const own = absent.size === 0 ? Effect.succeed([]) : this.#excluding(absent.keys(), this.#openTogether(machine, absent))
      if (awaited.length === 0) return own
      const others = openedOf(awaited, (key) => this.open(key))
      return Effect.zipWith(own, others, (instances, more) => [...instances, ...more])
    })
  }

  #openTogether(
    machine: RegisteredMachine,
    keys: ReadonlyMap<string, InstanceKey>,
  ): Effect.Effect<ReadonlyArray<LiveInstance>, PersistenceFailed> {
    return this.#reading([...keys.keys()], (left) =>
      Effect.gen({ self: this }, function* () {
        const opened = yield* this.#context.journal.openAll([...keys.values()])
        const found = new Set(opened.map(({ record }) => instanceName(record)))
        for (const name of keys.keys()) if (!found.has(name)) this.#release(name)
        const { journal } = yield* prefetchEvents(this.#context.journal, opened)
        // A caller of one instance does not wait for the others.
        return yield* this.#recoverAll(machine, opened, journal, left, (name) => this.#release(name))
      }),
    )
  }

  /**
   * The same for instances that this node has just taken over. An instance that has more events by now is read again: the node that
   * stored them may have become its owner.
   */
  openTaken(machine: RegisteredMachine, taken: ReadonlyArray<OpenedInstance>): Effect.Effect<void, PersistenceFailed> {
    const names = taken.map(({ record }) => instanceName(record))
    return this.#reading(names, (left) =>
      Effect.gen({ self: this }, function* () {
        const absent = taken.filter(({ record }) => this.find(record) === undefined)
        const { journal, newest } = yield* prefetchEvents(this.#context.journal, absent)
        const hasMore = ({ record }: OpenedInstance) => (newest(record) ?? 0) > record.sequence
        const unchanged = absent.filter((one) => !hasMore(one))
        yield* this.#recoverAll(machine, unchanged, journal, left)
        const changed = absent.filter(hasMore).map(({ record }) => record)
        if (changed.length > 0) yield* this.openAll(machine, changed)
      }),
    )
  }

  #recoverAll(
    machine: RegisteredMachine,
    opened: ReadonlyArray<OpenedInstance>,
    journal: JournalService,
    left: ReadonlySet<string>,
    ended?: (name: string) => void,
  ): Effect.Effect<ReadonlyArray<LiveInstance>, PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const outdated: Array<InstanceKey> = []
      const recovered = yield* Effect.forEach(
        opened,
        (one) =>
          Effect.map(Effect.result(this.#loader.recover(machine, one, journal)), (result) => {
            const name = instanceName(one.record)
            const isOutdated = left.has(name) && !this.#live.has(name)
            if (isOutdated) outdated.push(one.record)
            const isNew = result._tag === "Success" && !isOutdated && !this.#live.has(name)
            const instance = isNew ? this.#adopt(machine, result.success) : undefined
            if (!isOutdated) ended?.(name)
            return instance
          }),
        { concurrency },
      )
      const instances = recovered.filter((instance) => instance !== undefined)
      return outdated.length === 0 ? instances : [...instances, ...(yield* openedOf(outdated, (key) => this.#load(machine, key)))]
    })
  }

  /** Opens instances of several machines. Instances of machines that are not registered are left out. */
  openEach(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void, PersistenceFailed> {
    return Effect.forEach(
      Map.groupBy(keys, ({ machine }) => machine),
      ([name, ofMachine]) => {
        const machine = this.#registry.get(name)
        return machine === undefined ? Effect.void : this.openAll(machine, ofMachine)
      },
      { discard: true },
    )
  }

  #adopt(machine: RegisteredMachine, reloaded: Reloaded): LiveInstance {
    const instance = new LiveInstance(this.#context, machine, reloaded)
    if (reloaded.opened.record.status !== "running") instance.conclude(reloaded.opened)
    // An engine that has stopped still reads, but starts nothing. Instances of another node are only read here.
    else if (!this.isClosed && this.#context.isLocal(instance.key)) {
      this.#keep(instance)
      instance.resume(reloaded.recovered.selfSent)
    }
    return instance
  }

  #keep(instance: LiveInstance) {
    this.#live.add(instance)
    record(instancesLive, this.#live.size, this.#environment)
    if (this.#live.size <= this.#crowdedAt) return
    this.#crowdedAt = Number.POSITIVE_INFINITY
    this.#environment.run(this.#makeRoom)
  }

  // Leaving memory

  /** Passivates those that were used least recently. Those that work or are followed stay, so they may exceed the bound. */
  get #makeRoom(): Effect.Effect<void> {
    return Effect.ensuring(
      // After what is being started or opened has ended: an instance that was added a moment ago is about to be used.
      Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => leaving(leastRecentlyUsed(this.#live.all, this.#live.size - room * this.#context.limits.instances))),
      ),
      Effect.sync(() => {
        this.#crowdedAt = Math.max(this.#context.limits.instances, this.#live.size / room)
      }),
    )
  }

  gone(instance: InstanceEntry) {
    if (this.#live.remove(instance)) record(instancesLive, this.#live.size, this.#environment)
  }

  /** Passivates instances that were not used for this long. */
  passivate(afterMillis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const before = this.#environment.clock.currentTimeMillisUnsafe() - afterMillis
      return leaving(this.#live.all.filter((instance) => instance.lastUsedAt <= before))
    })
  }

  /** Passivates these instances now, unless they are in use. */
  release(keys: ReadonlyArray<InstanceKey>): Effect.Effect<void> {
    return Effect.suspend(() => leaving(keys.flatMap((key) => this.find(key) ?? [])))
  }

  /** Ends the work of all instances, which stay in memory until their accepted events are stored. */
  stopWork() {
    for (const instance of this.#live.all) instance.work.quiet()
  }

  /** Lets all instances leave memory. The journal keeps them. */
  leaveAll(problem: string): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(this.#live.all, (instance) => instance.leave({ _tag: "Closed", problem }), {
        discard: true,
        concurrency: "unbounded",
      }),
    )
  }

  /** Keeps stopped work until it has ended. */
  workEnding({ key }: InstanceEntry, ending: Fiber.Fiber<void>) {
    this.#endingWork.set(ending, key)
    ending.addObserver(() => this.#endingWork.delete(ending))
  }

  /**
   * Moves instances to another node. Ends when their accepted events are stored, they have left memory and their work has ended, also
   * work of instances that left memory before.
   */
  depart(isLeaving: (key: InstanceKey) => boolean, departure: "leaving" | "lost"): Effect.Effect<void> {
    return Effect.suspend(() => {
      const leaving = this.#live.all.filter(({ key }) => isLeaving(key))
      for (const instance of leaving) instance.depart(departure)
      // An instance leaves the table before it has answered all of its senders.
      return Effect.andThen(Effect.andThen(this.#live.departed(leaving), Effect.yieldNow), this.#workEnded(isLeaving))
    })
  }

  #workEnded(isLeaving: (key: InstanceKey) => boolean): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = [...this.#endingWork].filter(([, key]) => isLeaving(key))
      return Effect.asVoid(Fiber.awaitAll(ending.map(([fiber]) => fiber)))
    })
  }

  /** Instances that are in memory, or whose work has not ended. An instance may be named twice. */
  remaining(isLeaving: (key: InstanceKey) => boolean): ReadonlyArray<InstanceKey> {
    return [...this.#live.all.map(({ key }) => key), ...this.#endingWork.values()].filter(isLeaving)
  }

  settled() {
    this.#settledListener?.()
  }

  /** Ends when everything that was accepted is stored and carried out. */
  readonly allSettled: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#settledListener = () => {
      if (this.#underway.size > 0 || this.#opening.size > 0) return
      if (this.#live.all.every((instance) => instance.isSettled)) resume(Effect.void)
    }
    this.#settledListener()
  })
}

/** Those of the instances that can be read. */
const openedOf = (
  keys: ReadonlyArray<InstanceKey>,
  open: (key: InstanceKey) => Effect.Effect<LiveInstance, OpenError>,
): Effect.Effect<ReadonlyArray<LiveInstance>, PersistenceFailed> =>
  Effect.map(
    Effect.forEach(keys, (key) => Effect.catchTag(open(key), ["EventReplayError", "InstanceNotFound"], () => Effect.undefined), {
      concurrency,
    }),
    (instances) => instances.filter((instance) => instance !== undefined),
  )

/** The share of the bound that is still in memory after room was made: then thousands of instances can be added before it is made again. */
const room = 0.9

/** How many instances are looked at to find out since when an instance must be unused. All of them would have to be sorted otherwise. */
const sampleSize = 1000

const leastRecentlyUsed = (instances: ReadonlyArray<LiveInstance>, count: number): ReadonlyArray<LiveInstance> => {
  const step = Math.max(1, Math.floor(instances.length / sampleSize))
  const times = instances.flatMap(({ lastUsedAt }, index) => (index % step === 0 ? [lastUsedAt] : [])).sort((one, other) => one - other)
  const newest = times[Math.min(times.length - 1, Math.ceil((count / instances.length) * times.length))] ?? Number.POSITIVE_INFINITY
  return instances.filter(({ lastUsedAt }) => lastUsedAt <= newest).slice(0, Math.ceil(count))
}

const leaving = (instances: ReadonlyArray<LiveInstance>): Effect.Effect<void> =>
  Effect.forEach(
    instances.filter((instance) => instance.isIdle && !instance.isNeeded),
    (instance) => instance.leave({ _tag: "Idle" }),
    { discard: true },
  )
