/**
 * The engine for async code: the same engine, store and journal as with Effect, with Promises instead of Effects. Errors are the same
 * classes, thrown.
 */
import type { Machine } from "@detent/machine"
import type { InstancePage } from "@detent/store"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { WorkflowOptions } from "../DurableWorkflow.ts"
import type { EngineOptions } from "../Engine.ts"
import { Engine, type InputArguments, type ListOptions } from "../Engine.ts"
import type { AnswerOf, HistoryEntry, Instance, SendOptions } from "../Instance.ts"
import type { Upcasters } from "../machine/Upcasters.ts"
import type { PurgeOptions } from "../operate/Retention.ts"
import type { Schedule, SchedulesService, ScheduleTarget } from "../Schedules.ts"
import { type AsyncInstance, asyncInstance } from "./AsyncInstance.ts"
import { type AsyncSchedules, asyncSchedules, openSchedules } from "./AsyncSchedules.ts"
import { type AsyncWorkflows, asyncWorkflows, type KnownWorkflow } from "./AsyncWorkflows.ts"
import { type DatabaseAddress, type Stores, storeAt } from "./Database.ts"
import { EngineClosed } from "./errors.ts"
import { type AbortOptions, type RunPromise, runPromiseIn } from "./promised.ts"

type Definition<S, E, I, R> = Machine.Definition<S, E, I, R>
type TagOf<S> = S extends { readonly _tag: infer Tag extends string } ? Tag : never

export interface OpenEngineOptions<R = never> extends EngineOptions {
  readonly database: DatabaseAddress
  /** Every machine whose instances this process runs: its timers fire, and its work and commands continue, from now on. */
  readonly machines?: ReadonlyArray<Definition<unknown, unknown, never, NoInfer<R>>>
  /** Every workflow whose executions this process runs: unfinished executions continue when the engine opens. */
  readonly workflows?: ReadonlyArray<KnownWorkflow>
  /** What this process starts at nominal times. */
  readonly schedules?: ReadonlyArray<Schedule>
  /** What schedules that are created while the program runs may start. */
  readonly scheduleTargets?: ReadonlyArray<ScheduleTarget>
  /** How to read data that older versions of a machine stored, by the name of the machine. */
  readonly upcasters?: { readonly [machine: string]: Upcasters }
  /** How long the journal of an execution of a workflow that has ended is kept. Its result stays in any case. Default: forever. */
  readonly workflowRetention?: Duration.Input
  /**
   * How long executions of workflows are kept after their end, by the workflow's name: then they are removed with journal and
   * result, and their ids can be started again. Default: forever.
   */
  readonly executionRetention?: Readonly<Record<string, Duration.Input>>
  /** Services for handlers that are written with Effect. They close after the engine has stopped, so that its last handler can use them. */
  readonly layer?: Layer.Layer<R, unknown, Engine | Stores>
}

/** The services of Effects that {@link AsyncEngine.runEffect} runs. */
export type EngineServices = Engine | Stores

export interface AsyncEngine<in out R = never> extends AsyncDisposable {
  /** Starts a new instance. It is stored when the Promise resolves. */
  start<S, E, I>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<AsyncInstance<S, E>>
  /** The instance of an id, started with the input if there is none. */
  ensure<S, E, I>(machine: Definition<S, E, I, R>, id: string, ...input: InputArguments<S, I>): Promise<AsyncInstance<S, E>>
  /** The instance of an id; undefined if there is none. */
  get<S, E, I>(machine: Definition<S, E, I, R>, id: string): Promise<AsyncInstance<S, E> | undefined>
  /** The instance of an id, without reading the store: its first use fails if it does not exist. */
  instance<S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncInstance<S, E>
  /** Sends an event; resolves once the event is stored and carried out. A repeated `id` returns the first result. */
  send<S, E, I>(machine: Definition<S, E, I, R>, id: string, event: NoInfer<E>, options?: SendOptions): Promise<void>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<S, E, I, V extends E>(machine: Definition<S, E, I, R>, id: string, event: V, options?: SendOptions): Promise<AnswerOf<V>>
  /** The state as the store has it now. */
  state<S, E, I>(machine: Definition<S, E, I, R>, id: string): Promise<S>
  /** Resolves with the first state that matches, the current one included. */
  waitFor<S, E, I, T extends S>(
    machine: Definition<S, E, I, R>,
    id: string,
    predicate: (state: S) => state is T,
    options?: AbortOptions,
  ): Promise<T>
  waitFor<S, E, I>(machine: Definition<S, E, I, R>, id: string, predicate: (state: S) => boolean, options?: AbortOptions): Promise<S>
  /** The current state, then every new one. Ends with the instance. */
  changes<S, E, I>(machine: Definition<S, E, I, R>, id: string, options?: AbortOptions): AsyncIterable<S>
  /** Everything that was journaled, oldest first. */
  history<S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncIterable<HistoryEntry<S, E>>
  /** Instances of a machine, oldest change first, in pages. */
  list<S, E, I>(machine: Definition<S, E, I, R>, options?: ListOptions<TagOf<S>>): Promise<InstancePage>
  /**
   * Removes instances of a machine that ended longer ago than this, with their journals. Instances with an unfinished or failed command are
   * kept. Returns the number of removed instances.
   */
  purge<S, E, I>(machine: Definition<S, E, I, R>, options: PurgeOptions): Promise<number>
  /** Executions of workflows. */
  readonly workflows: AsyncWorkflows
  readonly schedules: AsyncSchedules
  /** Runs an Effect of the packages, such as `DeadLetters.list({})`, with the services of this engine. */
  runEffect<A, E>(effect: Effect.Effect<A, E, EngineServices | R>, options?: AbortOptions): Promise<A>
  /**
   * Stores accepted events, hands running work back, closes the services of `layer` and then the database. Later calls are
   * rejected: `start` and events with `MachineStopped`, others, and calls that wait for a workflow, with {@link EngineClosed}.
   */
  close(): Promise<void>
}

/**
 * Opens a database and resumes its unfinished work.
 *
 * ```ts
 * await using engine = await openEngine({ database: "sqlite:orders.db", machines: [Order] })
 * ```
 */
export const openEngine = async <R = never>(options: OpenEngineOptions<R>): Promise<AsyncEngine<R>> => {
  const { database, machines = [], workflows = [], schedules = [], scheduleTargets = [], upcasters = {}, layer, ...others } = options
  const { workflowRetention: _, executionRetention: __, ...engineOptions } = others
  const scope = Scope.makeUnsafe()
  const opening = Effect.gen(function* () {
    const stores = yield* Layer.buildWithScope(storeAt(database), scope)
    // They close in the reverse order: the engine, the services that its last handler uses, the store.
    const scopeOfServices = yield* Scope.fork(scope)
    const scopeOfEngine = yield* Scope.fork(scope)
    const built = yield* Effect.provide(Layer.buildWithScope(Engine.layer(engineOptions), scopeOfEngine), stores)
    const context = Context.merge(stores, built)
    const own = layer === undefined ? Context.empty() : yield* Effect.provide(Layer.buildWithScope(layer, scopeOfServices), context)
    const all = Context.merge(context, own) as Context.Context<EngineServices | R>
    const engine = Context.get(context, Engine)
    yield* Effect.forEach(machines, (machine) => Effect.provide(engine.register(machine, registration(upcasters[machine.name])), all))
    const executing = yield* Effect.provide(Scope.provide(asyncWorkflows(workflows, workflowOptions(options)), scopeOfEngine), all)
    const opening = openSchedules({ schedules, targets: scheduleTargets }, all, executing.engine)
    return { all, engine, workflows: executing.workflows, schedules: yield* Scope.provide(opening, scopeOfEngine) }
  })
  const opened = await Effect.runPromiseExit(opening)
  if (Exit.isFailure(opened)) {
    await Effect.runPromise(Scope.close(scope, opened))
    throw Cause.squash(opened.cause)
  }
  const { all, engine, workflows: executing, schedules: scheduled } = opened.value
  return asyncEngine(engine, runPromiseIn(all), executing, scheduled, scope)
}

const registration = (upcasters: Upcasters | undefined) => (upcasters === undefined ? {} : { upcasters })

type SharedOptions = Pick<OpenEngineOptions, "nodeId" | "lease" | "drainTimeout" | "workflowRetention" | "executionRetention">

/** The workflow engine is a separate node: the two engines must not have the same name. */
const workflowOptions = ({ nodeId, lease, drainTimeout, workflowRetention, executionRetention }: SharedOptions): WorkflowOptions => ({
  ...(nodeId === undefined ? {} : { nodeId: `workflows/${nodeId}` }),
  ...(lease === undefined ? {} : { lease }),
  ...(drainTimeout === undefined ? {} : { drainTimeout }),
  ...(workflowRetention === undefined ? {} : { retention: workflowRetention }),
  ...(executionRetention === undefined ? {} : { executionRetention }),
})

const asyncEngine = <R>(
  engine: typeof Engine.Service,
  run: RunPromise<EngineServices | R>,
  workflows: AsyncWorkflows,
  schedules: SchedulesService | undefined,
  scope: Scope.Closeable,
): AsyncEngine<R> => {
  let closing: Promise<void> | undefined
  let isClosed = false
  const closed = Effect.sync(() => {
    isClosed = true
  })
  const close = () => {
    closing ??= Effect.runPromise(Effect.ensuring(Scope.close(scope, Exit.void), closed))
    return closing
  }
  // While the engine closes, handlers that end may still read.
  const read: typeof run = (effect, options) => (isClosed ? Promise.reject(new EngineClosed({})) : run(effect, options))
  const wrapped = <S, E>(instance: Instance<S, E>) => asyncInstance(instance, run, read)
  const instance = <S, E, I>(machine: Definition<S, E, I, R>, id: string): AsyncInstance<S, E> => {
    const known = engine.find({ machine: machine.name, id })
    if (Option.isSome(known)) return wrapped(known.value as unknown as Instance<S, E>)
    throw new TypeError(`machine ${machine.name} is not known to this engine; pass it to openEngine({ machines: [...] })`)
  }
  return {
    start: async (machine, id, ...input) => wrapped(await run(engine.start(machine, id, ...input))),
    ensure: async (machine, id, ...input) => wrapped(await read(engine.ensure(machine, id, ...input))),
    get: async (machine, id) => Option.getOrUndefined(Option.map(await read(engine.get(machine, id)), wrapped)),
    instance,
    send: async (machine, id, event, options) => instance(machine, id).send(event, options),
    ask: async (machine, id, event, options) => instance(machine, id).ask(event, options),
    state: async (machine, id) => instance(machine, id).state(),
    waitFor: async <S, E, I>(machine: Definition<S, E, I, R>, id: string, predicate: (state: S) => boolean, options?: AbortOptions) =>
      instance(machine, id).waitFor(predicate, options) as Promise<never>,
    changes: (machine, id, options) => instance(machine, id).changes(options),
    history: (machine, id) => instance(machine, id).history(),
    list: (machine, options) => read(engine.list(machine, options)),
    purge: (machine, options) => read(engine.purge(machine, options)),
    workflows,
    schedules: asyncSchedules(schedules, read),
    runEffect: read,
    close,
    [Symbol.asyncDispose]: close,
  }
}
