/**
 * The engine for async code: the same engine, store and journal as with Effect, with Promises instead of Effects. Errors are the same
 * classes, thrown.
 */
import type { Machine } from "@detent/machine"
import { CurrentEngine } from "@detent/machine/internal"
import type { Leases } from "@detent/store"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import type { WorkflowOptions } from "../DurableWorkflow.ts"
import type { EngineOptions } from "../Engine.ts"
import { Engine } from "../Engine.ts"
import type { Upcasters } from "../machine/Upcasters.ts"
import type { Placement } from "../nodes/Placement.ts"
import type { PurgeOptions } from "../operate/Retention.ts"
import type { Schedule, SchedulesService, ScheduleTarget } from "../Schedules.ts"
import { type AsyncCalls, asyncCalls } from "./AsyncCalls.ts"
import { type AsyncSchedules, asyncSchedules, openSchedules } from "./AsyncSchedules.ts"
import { type AsyncWorkflows, asyncWorkflows, type KnownWorkflow } from "./AsyncWorkflows.ts"
import { type DatabaseAddress, DatabaseRefused, type Stores, storeAt } from "./Database.ts"
import { engineOfHandlers } from "./EngineOfHandlers.ts"
import { EngineClosed } from "./errors.ts"
import { type AbortOptions, type RunPromise, runPromiseIn } from "./promised.ts"

type Definition<S, E, I, R> = Machine.Definition<S, E, I, R>

export interface OpenEngineOptions<R = never> extends EngineOptions {
  readonly database: DatabaseAddress
  /** Makes this process a node of a cluster: `Cluster.layer({ address, token })` of `@detent/cluster`. Needs PostgreSQL. */
  readonly cluster?: Layer.Layer<Placement, unknown, Leases | SqlClient>
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

export interface AsyncEngine<in out R = never> extends AsyncCalls<R>, AsyncDisposable {
  /**
   * Removes instances of a machine that ended longer ago than this, with their journals. Instances with an unfinished or failed command are
   * kept. Returns the number of removed instances.
   */
  purge<S, E, I>(machine: Definition<S, E, I, R>, options: PurgeOptions): Promise<number>
  /**
   * Executes the commands that are due now, and waits for their end: before the normal end of a program that ends. It does not wait for
   * commands that are retried later or that a paused queue or a limit holds back, and for others at most for `worker.drainTimeout`.
   */
  executeDue(): Promise<void>
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
  const {
    database,
    cluster,
    machines = [],
    workflows = [],
    schedules = [],
    scheduleTargets = [],
    upcasters = {},
    layer,
    ...others
  } = options
  const { workflowRetention: _, executionRetention: __, ...engineOptions } = others
  const scope = Scope.makeUnsafe()
  const opening = Effect.gen(function* () {
    const stores = yield* Layer.buildWithScope(storeAt(database), scope)
    // They close in the reverse order: the engine, the services that its last handler uses, the node of the cluster, the store.
    const scopeOfNode = yield* Scope.fork(scope)
    const scopeOfServices = yield* Scope.fork(scope)
    const scopeOfEngine = yield* Scope.fork(scope)
    const node = cluster === undefined ? stores : yield* joining(database, cluster, scopeOfNode, stores)
    const built = yield* Effect.provide(Layer.buildWithScope(Engine.layer(engineOptions), scopeOfEngine), node)
    const engine = Context.get(built, Engine)
    const handlers = engineOfHandlers(engine)
    const context = Context.add(Context.merge(node, built), CurrentEngine, handlers.engine)
    const own = layer === undefined ? Context.empty() : yield* Effect.provide(Layer.buildWithScope(layer, scopeOfServices), context)
    const all = Context.merge(context, own) as Context.Context<EngineServices | R>
    yield* Effect.forEach(machines, (machine) => Effect.provide(engine.register(machine, registration(upcasters[machine.name])), all))
    const executing = yield* Effect.provide(Scope.provide(asyncWorkflows(workflows, workflowOptions(options)), scopeOfEngine), all)
    const opening = openSchedules({ schedules, targets: scheduleTargets }, all, executing.engine)
    const scheduled = yield* Scope.provide(opening, scopeOfEngine)
    handlers.open({ services: all as Context.Context<never>, workflows: executing.workflows })
    return { all, engine, workflows: executing.workflows, schedules: scheduled }
  })
  const opened = await Effect.runPromiseExit(opening)
  if (Exit.isFailure(opened)) {
    await Effect.runPromise(Scope.close(scope, opened))
    throw Cause.squash(opened.cause)
  }
  const { all, engine, workflows: executing, schedules: scheduled } = opened.value
  return asyncEngine(engine, runPromiseIn(all), executing, scheduled, scope)
}

/** Joins the cluster with the database that was opened. */
const joining = (
  database: string,
  cluster: Layer.Layer<Placement, unknown, Leases | SqlClient>,
  scope: Scope.Scope,
  stores: Context.Context<Stores>,
) => {
  if (!/^postgres(?:ql)?:/.test(database))
    return Effect.fail(new DatabaseRefused({ problem: "a node of a cluster needs PostgreSQL, which other nodes reach too" }))
  // The stores of PostgreSQL have its client.
  const services = stores as Context.Context<Stores | SqlClient>
  return Effect.map(Effect.provide(Layer.buildWithScope(cluster, scope), services), (joined) => Context.merge(stores, joined))
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
  return {
    ...asyncCalls(engine, run, read),
    purge: (machine, options) => read(engine.purge(machine, options)),
    executeDue: () => read(engine.executeDue),
    workflows,
    schedules: asyncSchedules(schedules, read),
    runEffect: read,
    close,
    [Symbol.asyncDispose]: close,
  }
}
