/**
 * The engine keeps machine instances through crashes. What it accepted is stored; what it stored it finds again.
 *
 * ```ts
 * const engine = yield* Engine
 * const order = yield* engine.start(Order, "order-123", { orderId: "order-123", total: 42 })
 * yield* order.send(E.Pay({ transactionId: "t-9" }), { id: "webhook-77" })
 * ```
 */
import type { ActorExists, Inspection, Machine, PersistenceFailed, SendError } from "@detent/machine"
import { Environment } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { type CheckReport, checkAll } from "./Check.ts"
import type { InstanceStatus } from "./Commit.ts"
import { slotCommands } from "./command/engineWorker.ts"
import type { SlotCommands } from "./command/SlotCommands.ts"
import { type StartEntry, type Started, startAll, transactionWatch } from "./EngineBulk.ts"
import { type EngineOptions, engineConfig } from "./EngineConfig.ts"
import { EngineCore } from "./EngineCore.ts"
import { forkInstance } from "./Fork.ts"
import type { Instance, ReadError } from "./Instance.ts"
import { InstanceHandle } from "./InstanceHandle.ts"
import { InstanceLock } from "./InstanceLock.ts"
import type { InstanceNotFound } from "./InstanceNotFound.ts"
import { type InstanceCursor, type InstancePage, Journal } from "./Journal.ts"
import { type Leader, makeLeader } from "./Leader.ts"
import type { Leases } from "./Leases.ts"
import type { Registered } from "./Registered.ts"
import { resumeResidents } from "./Resume.ts"
import type { SequenceNotReached } from "./SequenceNotReached.ts"
import { type Sweep, sweep, sweepForever } from "./Sweeper.ts"
import { Timers } from "./Timers.ts"
import type { Upcasters } from "./Upcasters.ts"

type Definition<S, E, I, R> = Machine.Definition<S, E, I, R>
type InputArguments<S, I> = [I] extends [void] ? [state?: NoInfer<S>] : [input: NoInfer<I | S>]

/** What can be said of a machine when it is registered. */
export interface RegisterOptions {
  /** How to read what older versions wrote. */
  readonly upcasters?: Upcasters
}

/** Which instances to list. */
export interface ListOptions<Tag extends string> {
  readonly state?: Tag
  readonly status?: InstanceStatus
  readonly updatedAfter?: number
  readonly updatedBefore?: number
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: InstanceCursor
}

type TagOf<S> = S extends { readonly _tag: infer Tag extends string } ? Tag : never

export interface EngineService {
  /**
   * Makes a machine known: its instances can be opened, its timers fire, and those whose state has work go on at once.
   * Other calls register too; this one is for the start of a process.
   */
  register<S, E, I, R>(machine: Definition<S, E, I, R>, options?: RegisterOptions): Effect.Effect<void, PersistenceFailed, R>
  /** Starts a new instance. It is stored when this returns. */
  start<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    ...input: InputArguments<S, I>
  ): Effect.Effect<Instance<S, E>, ActorExists | SendError, R>
  /**
   * Starts many instances; those that rest in their first state are stored in few statements and do not enter memory. The
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
  ): Effect.Effect<Instance<S, E>, ReadError | SendError, R>
  /** The instance of an id, if there is one. */
  get<S, E, I, R>(machine: Definition<S, E, I, R>, id: string): Effect.Effect<Option.Option<Instance<S, E>>, PersistenceFailed, R>
  /** Instances of a machine, oldest change first, in pages. */
  list<S, E, I, R>(machine: Definition<S, E, I, R>, options?: ListOptions<TagOf<S>>): Effect.Effect<InstancePage, PersistenceFailed>
  /** How many instances are in each state. */
  count<S, E, I, R>(machine: Definition<S, E, I, R>): Effect.Effect<ReadonlyMap<string, number>, PersistenceFailed>
  /** Like `start`, with the id first. */
  spawn<S, E, I, R>(
    id: string,
    machine: Definition<S, E, I, R>,
    ...input: InputArguments<S, I>
  ): Effect.Effect<Instance<S, E>, ActorExists | SendError, R>
  /** Brings an instance back into memory, if there is one. */
  restore<S, E, I, R>(id: string, machine: Definition<S, E, I, R>): Effect.Effect<Option.Option<Instance<S, E>>, ReadError, R>
  /** Brings all running instances of a machine back into memory. */
  restoreAll<S, E, I, R>(machine: Definition<S, E, I, R>): Effect.Effect<ReadonlyArray<Instance<S, E>>, PersistenceFailed, R>
  /** A new instance with the journal of another up to a sequence number. Nothing that was requested there is executed again. */
  fork<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    through: number,
    newId: string,
  ): Effect.Effect<Instance<S, E>, ActorExists | ReadError | SequenceNotReached | SendError, R>
  /** Runs every stored instance through a definition without touching any: what would fail if it were deployed. */
  check<S, E, I, R>(machine: Definition<S, E, I, R>, options?: RegisterOptions): Effect.Effect<CheckReport, PersistenceFailed>
  /** Replaces a journaled event that no longer fits, and lets the instance go on if that repairs it. */
  repair<S, E, I, R>(
    machine: Definition<S, E, I, R>,
    id: string,
    sequence: number,
    event: NoInfer<E>,
  ): Effect.Effect<Instance<S, E>, ReadError | InstanceNotFound, R>
  /** Fires due timers now instead of waiting for the sweeper. */
  readonly sweep: Effect.Effect<Sweep>
  /** How many instances are in memory. */
  readonly live: Effect.Effect<number>
  /** Tells of everything that happens in this engine; returns how to unsubscribe. */
  inspectUnsafe(inspector: (inspection: Inspection) => void): () => void
}

const make = (options: EngineOptions) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const timers = yield* Timers
    const locks = yield* Effect.serviceOption(InstanceLock)
    const context = yield* Effect.context<never>()
    const nodeId = `node-${(yield* Random.nextInt).toString(36)}`
    const config = engineConfig(options, nodeId)
    const core = new EngineCore(journal, timers, Option.getOrUndefined(locks), config, new Environment(context as Context.Context<unknown>))
    yield* Effect.addFinalizer(() => core.drain)
    const leader: Leader | undefined =
      config.sweeper.leader === undefined ? undefined : yield* makeLeader({ ...config.sweeper.leader, nodeId: config.nodeId })
    yield* Effect.forkScoped(sweepForever(core, leader))
    yield* Effect.forkScoped(
      Effect.repeat(core.passivate, Schedule.spaced(Duration.millis(Math.max(100, config.passivateAfterMillis / 4)))),
    )
    const slots = yield* slotCommands(core, options.worker ?? {})
    return makeService(core, slots, yield* transactionWatch)
  })

const makeService = (core: EngineCore, slots: SlotCommands | undefined, inTransaction: Effect.Effect<boolean>): EngineService => {
  const registering = <A, E, R>(
    machine: unknown,
    upcasters: Upcasters | undefined,
    use: (registered: Registered) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E, R> =>
    Effect.contextWith((context: Context.Context<R>) => {
      const registered = core.register(machine, upcasters, core.environmentFor(context as Context.Context<unknown>))
      slots?.serve(registered)
      return use(registered)
    })
  const handle = (registered: Registered, id: string) => new InstanceHandle(core, registered, id) as never

  const start = <R>(machine: unknown, id: string, input: unknown): Effect.Effect<never, ActorExists | SendError, R> =>
    registering(machine, undefined, (registered) => Effect.as(core.start(registered, id, input), handle(registered, id)))

  return {
    register: (machine, options) => registering(machine, options?.upcasters, (registered) => resumeResidents(core, registered)),
    start: (machine, id, ...input) => start(machine, id, input[0]),
    startAll: (machine, entries) =>
      registering(machine, undefined, (registered) => startAll(core, registered, entries, inTransaction) as never),
    spawn: (id, machine, ...input) => start(machine, id, input[0]),
    ensure: (machine, id, ...input) =>
      registering(machine, undefined, (registered) =>
        Effect.as(
          Effect.catchTag(core.open({ machine: registered.name, id }), "InstanceNotFound", () =>
            Effect.catchTag(core.start(registered, id, input[0]), "ActorExists", () => core.open({ machine: registered.name, id })),
          ),
          handle(registered, id),
        ),
      ),
    get: (machine, id) =>
      registering(machine, undefined, (registered) =>
        Effect.map(core.journal.open({ machine: registered.name, id }), (opened) => Option.map(opened, () => handle(registered, id))),
      ),
    list: (machine, options = {}) => {
      const { state, limit = 100, after, ...filter } = options
      return core.journal.list(
        { machine: machine.name, ...filter, ...(state === undefined ? {} : { tag: state }) },
        Math.min(limit, 1000),
        after,
      )
    },
    count: (machine) => core.journal.count(machine.name),
    restore: (id, machine) =>
      registering(machine, undefined, (registered) =>
        Effect.catchTag(
          Effect.map(core.open({ machine: registered.name, id }), () => Option.some(handle(registered, id))),
          "InstanceNotFound",
          () => Effect.succeed(Option.none()),
        ),
      ),
    restoreAll: (machine) =>
      registering(machine, undefined, (registered) =>
        Effect.map(resumeResidents(core, registered, {}), (ids) => ids.map((id) => handle(registered, id))),
      ),
    fork: (machine, id, through, newId) =>
      registering(machine, undefined, (registered) =>
        Effect.as(forkInstance(core, registered, id, through, newId), handle(registered, newId)),
      ),
    check: (machine, options) => checkAll(core.journal, machine, options?.upcasters ?? {}),
    repair: (machine, id, sequence, event) =>
      registering(machine, undefined, (registered) => Effect.as(core.repair(registered, id, sequence, event), handle(registered, id))),
    sweep: sweep(core, 0),
    live: Effect.sync(() => core.live),
    inspectUnsafe: (inspector) => {
      core.host.inspectors.add(inspector)
      return () => {
        core.host.inspectors.delete(inspector)
      }
    },
  }
}

export class Engine extends Context.Service<Engine, EngineService>()("@detent/durable/Engine") {
  /** On any store; with `InstanceLock` in reach, instances are locked while they work. */
  static readonly layer = (options: EngineOptions = {}): Layer.Layer<Engine, never, Journal | Timers | Leases> =>
    Layer.effect(Engine, make(options))
}
