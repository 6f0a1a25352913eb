/**
 * The engine keeps machine instances through crashes: every accepted event is stored, and instances resume from the store.
 *
 * ```ts
 * const engine = yield* Engine
 * const order = yield* engine.start(Order, "order-123", { orderId: "order-123", total: 42 })
 * yield* order.send(E.Pay({ transactionId: "t-9" }), { id: "webhook-77" })
 * ```
 */

import {
  DefinitionError,
  type FieldOrder,
  type Inspection,
  type InvalidEvent,
  type InvalidState,
  type LockingFailed,
  type Machine,
  type PersistenceFailed,
  type SendError,
  type Where,
  type WhereLabels,
} from "@detent/machine"
import { compiledOf, Environment, type Tagged } from "@detent/machine/internal"
import { Commands, forkLoop, type InstanceCursor, type InstanceKey, type InstanceStatus, Journal, Leases, Timers } from "@detent/store"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import { type EngineConfig, engineConfig, type InstanceOptions } from "./engine/EngineConfig.ts"
import { type EngineParts, makeEngine } from "./engine/EngineParts.ts"
import { InstanceHandle } from "./engine/InstanceHandle.ts"
import { notInTransaction } from "./engine/TransactionGuard.ts"
import { type InstanceNotFound, invalidId, noInstance, type RepairRefused, type SequenceNotReached } from "./errors.ts"
import type { Instance, ReadError } from "./Instance.ts"
import type { StartError } from "./live/InstanceTable.ts"
import { mayHaveWork, type RegisteredMachine } from "./machine/MachineRegistry.ts"
import type { Upcasters } from "./machine/Upcasters.ts"
import { defaultLock, type HeldLock, instanceLocks, type LockConfig, untilScopeCloses } from "./nodes/HeldLease.ts"
import { NodeMembership } from "./nodes/NodeMembership.ts"
import { Placement } from "./nodes/Placement.ts"
import { processName } from "./nodes/ProcessName.ts"
import { type ForkOptions, forkInstance } from "./operate/Fork.ts"
import { HeldCheck, type HeldReport } from "./operate/HeldCheck.ts"
import { type IndexProgress, indexProgress, startIndexFilling } from "./operate/IndexFilling.ts"
import {
  type InstanceList,
  indexedValuesOf,
  type Labels,
  labelInstance,
  listInstances,
  type UntypedListOptions,
} from "./operate/ListInstances.ts"
import { type RepairOptions, repairInstance } from "./operate/Repair.ts"
import { openRunning, releaseHeld } from "./operate/Resume.ts"
import { type PurgeOptions, purgeEnded, startRetention } from "./operate/Retention.ts"
import type { LabelsRefused, SearchRefused } from "./operate/Search.ts"
import { type StartEntry, type Started, startAll } from "./operate/StartMany.ts"
import { warnOfUnregistered } from "./operate/UnregisteredMachineWarning.ts"
import { type CheckReport, checkAll } from "./oracle/checkAll.ts"
import { type SlotExecution, slotExecution } from "./outbox/SlotExecution.ts"
import type { WorkerOptions } from "./outbox/WorkerConfig.ts"
import { exposeCounters } from "./runtime/Telemetry.ts"
import { untilAnswered } from "./runtime/untilAnswered.ts"
import { nothing, type Sweep } from "./timers/TimerSweep.ts"
import { failureOf, startSweeper, sweep } from "./timers/TimerSweeper.ts"

type Definition<S, E, I, R> = Machine.Definition<S, E, I, R>
/** A machine whose initial state is a value may be started without input. */
export type InputArguments<S, I> = [I] extends [void] ? [state?: NoInfer<S>] : [input: NoInfer<I | S>]

/** Options of an engine. */
export interface EngineOptions extends InstanceOptions {
  /** How requested effects are executed; `false` leaves them to other processes. */
  readonly worker?: WorkerOptions | false
}

/** Options of a registration. */
export interface RegisterOptions {
  /** Functions that convert the data that older versions of the machine stored. */
  readonly upcasters?: Upcasters
  /** How long instances are kept after their end. Replaces the retention that the machine declares. */
  readonly retention?: Duration.Input
}

/** Which instances to list. `X`: the types of the indexed fields. */
export interface ListOptions<Tag extends string, X = Record<never, never>> {
  readonly state?: Tag
  readonly status?: InstanceStatus
  readonly updatedAfter?: number
  readonly updatedBefore?: number
  /** Conditions on indexed fields, as in `{ customer: "ada", total: { above: 100 } }`. */
  readonly where?: Where<X>
  /** Conditions on labels, as in `{ incident: "42" }`. */
  readonly labels?: WhereLabels
  /**
   * By the time of the last change, or by an indexed field, as in `{ dueAt: "ascending" }`. Default: `oldest` first; with `where` or
   * `labels` by id.
   */
  readonly order?: "oldest" | "newest" | FieldOrder<X>
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: InstanceCursor
}

/** A machine with indexed fields of the types `X`. */
export interface Indexed<out X> {
  readonly "~indexes"?: X
}

/** Any machine. The services of its work are those it was registered with. */
export type KnownMachine = Definition<unknown, unknown, never, never>

type TagOf<S> = S extends { readonly _tag: infer Tag extends string } ? Tag : never

export interface EngineService {
  /**
   * Registers a machine: its instances can be opened, its timers fire, and work that no live node runs starts here immediately.
   * Other calls register too; this one is for the start of a process.
   */
  register<S, E, I, R>(machine: Definition<S, E, I, R>, options?: RegisterOptions): Effect.Effect<void, PersistenceFailed, R>
  /** Starts a new instance. It is stored when this returns. Refused inside `sql.withTransaction`, like `send`. */
  start<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    ...input: InputArguments<S, I>
  ): Effect.Effect<Instance<S, E>, StartError, R>
  /**
   * Starts many instances. Those without work to do in their first state are stored in few statements and do not enter memory. The
   * outcomes are in the order given. Inside `sql.withTransaction` it is part of that transaction.
   */
  startAll<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    entries: Iterable<StartEntry<NoInfer<I | S>>>,
  ): Effect.Effect<ReadonlyArray<Started<S>>, PersistenceFailed, R>
  /** The instance of an id, started with the input if there is none. */
  ensure<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    ...input: InputArguments<S, I>
  ): Effect.Effect<Instance<S, E>, ReadError | InvalidState | SendError, R>
  /** The instance of an id, if there is one. */
  get<S, E, I, R>(machine: Definition<S, E, I, R>, id: string): Effect.Effect<Option.Option<Instance<S, E>>, PersistenceFailed, R>
  /**
   * Instances of a machine in pages: by the time of their last change, or by indexed fields and labels. A search examines a bounded number
   * of instances for each page: a page may have fewer than `limit` instances and a `next`.
   */
  list<S, E, I, R, X = Record<never, never>>(
    machine: Definition<S, E, I, R> & Indexed<X>,
    options?: ListOptions<TagOf<S>, NoInfer<X>>,
  ): Effect.Effect<InstanceList, PersistenceFailed | SearchRefused>
  /** The same for a machine that is known by name only: the conditions are checked when it runs. */
  search(machine: KnownMachine, options: UntypedListOptions): Effect.Effect<InstanceList, PersistenceFailed | SearchRefused>
  /**
   * Sets labels of an instance, as in `{ incident: "42" }`, and removes those that are null. They are no part of its state and journal. Returns all.
   */
  label(
    key: InstanceKey,
    labels: { readonly [name: string]: string | null },
  ): Effect.Effect<Labels, PersistenceFailed | InstanceNotFound | LabelsRefused>
  /** How far the indexes of a machine are filled with the values of instances that were stored before. None: it has no indexes. */
  indexes<S, E, I, R>(machine: Definition<S, E, I, R>): Effect.Effect<Option.Option<IndexProgress>, PersistenceFailed>
  /** How many instances are in each state. */
  count<S, E, I, R>(machine: Definition<S, E, I, R>): Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed>
  /** Brings an instance back into memory, if there is one. */
  restore<S, E, I, R>(id: string, machine: Definition<S, E, I, R>): Effect.Effect<Option.Option<Instance<S, E>>, ReadError, R>
  /** Brings all running instances of a machine back into memory. */
  restoreAll<S, E, I, R>(machine: Definition<S, E, I, R>): Effect.Effect<ReadonlyArray<Instance<S, E>>, PersistenceFailed, R>
  /**
   * A new instance with the journal of another up to a sequence number. Self-sent events that were not handled there are decided next.
   * Commands that were requested there are not executed again. The journal says what the instance was forked from, when and by whom.
   */
  fork<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    through: number,
    newId: string,
    options?: ForkOptions,
  ): Effect.Effect<Instance<S, E>, ReadError | SequenceNotReached | StartError, R>
  /** Replays every stored instance with a definition, without changing any. Returns those that would fail after a deployment. */
  check<S, E, I, R>(machine: Definition<S, E, I, R>, options?: RegisterOptions): Effect.Effect<CheckReport, PersistenceFailed>
  /**
   * Replaces the journaled event that holds an instance, if the instance then replays. Otherwise the journal stays as it is. Where
   * a later event cannot be decoded either, the event is replaced, and the error names the one to repair next. As a dry run it
   * changes nothing, and fails as the repair would. The original event stays in the journal, with who replaced it, when and why.
   */
  repair<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    sequence: number,
    event: NoInfer<E>,
    options?: RepairOptions,
  ): Effect.Effect<Instance<S, E>, ReadError | InvalidEvent | RepairRefused, R>
  /** The registered machines, in the order of registration. */
  readonly machines: Effect.Effect<ReadonlyArray<KnownMachine>>
  /** The registered machine of this name. */
  machine(name: string): Option.Option<KnownMachine>
  /**
   * An instance of a machine that is registered under this name: for programs that work with any machine. If the instance does not
   * exist, the calls on the handle fail.
   */
  find(key: InstanceKey): Option.Option<Instance<Tagged, Tagged>>
  /** Fires due timers now instead of waiting for the sweeper. */
  readonly sweep: Effect.Effect<Sweep>
  /**
   * Waits until the commands of the registered machines that are due are executed, those included that follow from them: for a program
   * that ends. It does not wait for commands that are retried later or that a paused queue or a limit holds back, and for others at
   * most for `worker.drainTimeout`. Nothing where other processes execute the commands.
   */
  readonly executeDue: Effect.Effect<void>
  /**
   * Passivates instances that are not in use, without waiting for `passivateAfter`: for a caller that has used very many of them
   * once. The journal keeps them, and the next caller opens them again.
   */
  release<S, E, I, R>(machine: Definition<S, E, I, R>, ids: Iterable<string>): Effect.Effect<void>
  /**
   * Removes instances of a machine that ended longer ago than this, with their journals and timers. Returns how many. An instance
   * with an unfinished or failed command stays. With `.persist({ retention })` in the machine, the engine does so by itself.
   */
  purge<S, E, I, R>(machine: Definition<S, E, I, R>, options: PurgeOptions): Effect.Effect<number, PersistenceFailed>
  /**
   * Locks an instance until the scope closes. Engines with `lock`, and other callers of this, wait for it: do not send to the instance
   * through such an engine meanwhile. Stop when `lost` ends: another process may have the lock then. Default: the `lock` of the engine,
   * or `defaultLock`.
   */
  lock(key: InstanceKey, config?: LockConfig): Effect.Effect<HeldLock, LockingFailed | PersistenceFailed, Scope.Scope>
  /** How many instances are in memory. */
  readonly live: Effect.Effect<number>
  /**
   * What the check in the background has found: after a machine is registered, its running instances are replayed with pauses, and those
   * that do not fit the definition are held. Empty in a process that only observes or resumes nothing.
   */
  readonly held: Effect.Effect<ReadonlyArray<HeldReport>>
  /** Calls the inspector with every event of this engine. Returns a function that unsubscribes. */
  inspectUnsafe(inspector: (inspection: Inspection) => void): () => void
}

const make = (options: EngineOptions) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const timers = yield* Timers
    const leases = yield* Leases
    const environment = new Environment((yield* Effect.context<never>()) as Context.Context<unknown>)
    const config = engineConfig(options, processName((yield* Random.nextIntBetween(0, 2 ** 31)).toString(36)))
    const observes = options.observe === true
    // Forked before the finalizer that drains the engine is added: the node keeps its lease until accepted events are stored.
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Effect.context<Leases>()
    const make = Effect.provide(Scope.provide(Placement.inContextOrMake(placementOptions(options)), scope), context)
    const node = observes ? undefined : new NodeMembership(environment, make, config.storeTimeout)
    const lockOf = (lock: LockConfig) => instanceLocks(leases, { nodeId: config.nodeId, ...lock })
    const lock = options.lock === undefined ? undefined : lockOf(options.lock)
    const engine = makeEngine({ journal, timers, lock, node, environment }, config)
    const locked = (key: InstanceKey, config?: LockConfig) =>
      untilScopeCloses((config === undefined ? (lock ?? lockOf(defaultLock)) : lockOf(config))(key))
    yield* Effect.addFinalizer(() => engine.drain)
    yield* exposeCounters
    yield* untilAnswered(engine.clock.measure)
    const routing = Option.getOrUndefined(yield* Effect.serviceOption(Placement))?.routing
    if (node !== undefined && routing !== undefined) {
      if ((options.work ?? true) !== true) return yield* Effect.die(workOfOthers)
      yield* node.join
      yield* routing.serve(engine.remote.receiver)
    }
    if (node === undefined) {
      engine.table.close("this process only observes; send to the process that works")
      return makeService(engine, locked, undefined, undefined)
    }
    yield* startSweeper(engine)
    yield* warnOfUnregistered(engine, options.worker === false ? Option.none() : yield* Effect.serviceOption(Commands))
    const pause = Math.max(100, config.passivateAfterMillis / 4)
    yield* forkLoop(
      "passivation",
      Effect.andThen(
        Effect.suspend(() => Effect.sleep(pause)),
        Effect.suspend(() => engine.table.passivate(config.passivateAfterMillis)),
      ),
    )
    if (engine.takeover !== undefined) yield* config.resume ? engine.takeover.start() : engine.takeover.startOpened()
    yield* startRetention(journal, leases, engine.registry)
    if (config.resume) yield* startIndexFilling(engine)
    const slots = yield* slotExecution(engine, options.worker ?? {})
    const heldCheck = engine.takeover !== undefined && config.resume ? new HeldCheck(engine) : undefined
    if (heldCheck !== undefined) yield* heldCheck.start
    return makeService(engine, locked, slots, heldCheck)
  })

/** No other node of a cluster runs the work of instances that are placed on this one. */
const workOfOthers = new DefinitionError({
  problem: "work is limited in a node of a cluster",
  nextStep: "leave work out, or open the engine outside of the cluster",
})

/** A workflow engine of the same process may be a node of its own: the prefix keeps the names of the two nodes apart. */
const placementOptions = ({ nodeId, lease }: EngineOptions) => ({
  ...(nodeId === undefined ? {} : { nodeId: `engine/${nodeId}` }),
  ...(lease === undefined ? {} : { lease }),
})

/** Whether a machine, or one of the machines that belong to it, has work that this process runs as a node. */
const needsNode = ({ runsWork }: EngineConfig, machine: unknown): boolean => {
  const compiled = compiledOf(machine)
  const parts = (compiled.declarations.machines?.() ?? []).map(compiledOf)
  return [compiled, ...parts].some((one) => mayHaveWork(one) && runsWork(one.name))
}

const makeService = (
  engine: EngineParts,
  lock: EngineService["lock"],
  slots: SlotExecution | undefined,
  heldCheck: HeldCheck | undefined,
): EngineService => {
  const { journal, node, registry, storeWait, table, transactions } = engine
  const registering = <A, E, R>(
    machine: unknown,
    upcasters: Upcasters | undefined,
    use: (registered: RegisteredMachine) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E, R> =>
    Effect.contextWith((context: Context.Context<R>) => {
      const register = Effect.suspend(() => {
        const registered = registry.register(machine, upcasters, transactions.environmentFor(context as Context.Context<unknown>))
        slots?.serve(registered)
        registerParts(registered, context as Context.Context<unknown>)
        return use(registered)
      })
      // From its registration on, instances of the machine may be opened: their work needs a node to run on.
      if (node === undefined || node.placement !== undefined || !needsNode(engine.config, machine)) return register
      return Effect.withFiber((fiber) =>
        // A transaction of the caller may hold the connection that the lease needs.
        transactions.isInside(fiber) ? register : Effect.andThen(node.join, register),
      )
    })
  /** Registers the machines that belong to this one. Known ones are not registered again. */
  const registerParts = ({ compiled }: RegisteredMachine, context: Context.Context<unknown>): ReadonlyArray<RegisteredMachine> =>
    (compiled.declarations.machines?.() ?? []).map((part) => {
      const registered = registry.register(part, undefined, transactions.environmentFor(context))
      slots?.serve(registered)
      return registered
    })
  const handle = (registered: RegisteredMachine, id: string) => new InstanceHandle(engine, registered, id) as never

  /** Refuses an operation inside a transaction of the caller: bringing an instance into memory cannot be part of it. */
  const outside = <A, E, R>(
    operation: string,
    machine: { readonly name: string },
    id: string | undefined,
    use: (registered: RegisteredMachine) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | PersistenceFailed, R> =>
    Effect.withFiber((fiber): Effect.Effect<A, E | PersistenceFailed, R> => {
      if (!transactions.isInside(fiber)) return registering(machine, undefined, use)
      return Effect.fail(notInTransaction({ machine: machine.name, ...(typeof id === "string" ? { id } : {}) }, operation))
    })

  const start = <R>(machine: { readonly name: string }, id: string, input: unknown): Effect.Effect<never, StartError, R> =>
    outside("start", machine, id, (registered) =>
      Effect.as(
        Effect.catchTag(engine.begin(registered, id, input), "ActorExists", (error) =>
          Effect.flatMap(wasRemoved(registered, id), (again) => (again ? engine.begin(registered, id, input) : Effect.fail(error))),
        ),
        handle(registered, id),
      ),
    )

  /** Whether another process has removed an instance that was in memory here. If so, it has left memory. */
  const wasRemoved = ({ name: machine }: RegisteredMachine, id: string): Effect.Effect<boolean, PersistenceFailed> =>
    Effect.suspend(() => {
      const live = table.find({ machine, id })
      return live === undefined ? Effect.succeed(false) : storeWait.retry(engine.follower.wasRemoved(live))
    })

  const ensure = (registered: RegisteredMachine, id: string, input: unknown) => {
    const invalid = invalidId(registered.name, id)
    if (invalid !== undefined) return Effect.fail(invalid)
    const key = { machine: registered.name, id }
    const start = Effect.asVoid(engine.begin(registered, id, input))
    // Another node has it, perhaps with a newer version of the machine: it is not read here.
    if (!table.isLocal(key) && !table.isClosed) {
      return Effect.flatMap(storeWait.retry(journal.standings([key])), ([standing]) =>
        standing === undefined ? Effect.catchTag(start, "ActorExists", () => Effect.void) : Effect.void,
      )
    }
    const open = storeWait.open(key)
    const existing = Effect.flatMap(wasRemoved(registered, id), () => Effect.asVoid(open))
    return Effect.catchTag(existing, "InstanceNotFound", () => Effect.catchTag(start, "ActorExists", () => Effect.asVoid(open)))
  }

  /** Starts the work that no live node runs, then opens held instances that replay again. Finding those brings the listing up to date. */
  const resume = (registered: RegisteredMachine): Effect.Effect<void, PersistenceFailed> =>
    table.isClosed || !engine.config.resume || engine.takeover === undefined
      ? Effect.void
      : Effect.andThen(engine.takeover.takeOver(registered, true), releaseHeld(engine, registered))

  return {
    register: (machine, options) =>
      registering(machine, options?.upcasters, (registered) => {
        if (options?.retention !== undefined) registry.keepEnded(registered.name, options.retention)
        const parts = (registered.compiled.declarations.machines?.() ?? []).flatMap((part) => registry.get(compiledOf(part).name) ?? [])
        return Effect.forEach([registered, ...parts], resume, { discard: true })
      }),
    start: (machine, id, ...input) => start(machine, id, input[0]),
    startAll: (machine, entries) => registering(machine, undefined, (registered) => startAll(engine, registered, entries) as never),
    ensure: (machine, id, ...input) =>
      outside("ensure", machine, id, (registered) => Effect.as(ensure(registered, id, input[0]), handle(registered, id))),
    get: (machine, id) =>
      registering(machine, undefined, (registered) => {
        const key = { machine: registered.name, id }
        if (noInstance(key) !== undefined) return Effect.succeedNone
        // A transaction of the caller fails with its first statement that fails.
        const opened = Effect.withFiber((fiber) => (transactions.isInside(fiber) ? journal.open(key) : storeWait.retry(journal.open(key))))
        return Effect.map(
          opened,
          Option.map(() => handle(registered, id)),
        )
      }),
    list: (machine, options = {}) => listInstances(journal, machine, options as UntypedListOptions),
    search: (machine, options) => listInstances(journal, machine, options),
    label: (key, changes) =>
      Effect.suspend(() => {
        if (table.isClosed) return Effect.fail(table.notWritten(key, "label"))
        return labelInstance(journal, key, changes)
      }),
    indexes: (machine) => {
      const values = indexedValuesOf(machine)
      return values === undefined ? Effect.succeedNone : Effect.map(indexProgress(journal, machine.name, values), Option.some)
    },
    count: (machine) => journal.count(machine.name),
    restore: (id, machine) =>
      outside("restore", machine, id, (registered) =>
        Effect.catchTag(
          Effect.map(storeWait.open({ machine: registered.name, id }), () => Option.some(handle(registered, id))),
          "InstanceNotFound",
          () => Effect.succeed(Option.none()),
        ),
      ),
    restoreAll: (machine) =>
      outside("restoreAll", machine, undefined, (registered) =>
        Effect.map(openRunning(engine, registered), (ids) => ids.map((id) => handle(registered, id))),
      ),
    fork: (machine, id, through, newId, options) =>
      outside("fork", machine, newId, (registered) =>
        Effect.as(forkInstance(engine, registered, id, through, newId, options), handle(registered, newId)),
      ),
    check: (machine, options) => checkAll(journal, machine, options?.upcasters),
    repair: (machine, id, sequence, event, options) =>
      outside("repair", machine, id, (registered) =>
        Effect.as(repairInstance(engine, registered, id, sequence, event, options), handle(registered, id)),
      ),
    machines: Effect.sync(() => registry.all.map(({ definition }) => definition as KnownMachine)),
    machine: (name) => Option.map(Option.fromNullishOr(registry.get(name)), ({ definition }) => definition as KnownMachine),
    find: (key) => Option.map(Option.fromNullishOr(registry.get(key.machine)), (registered) => handle(registered, key.id)),
    sweep: Effect.suspend(() =>
      table.isClosed
        ? Effect.succeed(nothing)
        : Effect.catch(sweep(engine), (error) =>
            Effect.as(Effect.logWarning(`a sweep could not reach the store; the next one tries again: ${failureOf(error)}`), nothing),
          ),
    ),
    executeDue: slots?.worker.executeDue ?? Effect.void,
    release: (machine, ids) => Effect.suspend(() => table.release([...ids].map((id) => ({ machine: machine.name, id })))),
    purge: (machine, options) =>
      Effect.suspend(() =>
        table.isClosed && options?.dryRun !== true
          ? Effect.fail(table.notWritten({ machine: machine.name }, "purge"))
          : purgeEnded(journal, machine.name, options),
      ),
    lock,
    live: Effect.sync(() => table.count),
    held: Effect.sync(() => heldCheck?.report ?? []),
    inspectUnsafe: (inspector) => {
      engine.host.inspectors.add(inspector)
      return () => {
        engine.host.inspectors.delete(inspector)
      }
    },
  }
}

export class Engine extends Context.Service<Engine, EngineService>()("@detent/durable/Engine") {
  /** The engine on any store. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<Engine, never, Journal | Timers | Leases> =>
    Layer.effect(Engine, make(options))
}
