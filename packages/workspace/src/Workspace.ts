/**
 * A workspace is the database with instances, commands and timers, and the folder with the graphs of documents and uploaded files.
 * The command line and the server open it the same way.
 *
 * ```ts
 * const program = Effect.flatMap(Engine, (engine) => engine.list(Order))
 * Effect.provide(program, Workspace.open({ data: ".detent", role: "observe", config: defineConfig({ machines: [Order] }) }))
 * ```
 */
import { join } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import {
  Commands,
  DurableWorkflow,
  Engine,
  type EngineOptions,
  Journal,
  type LeasePlacementOptions,
  Leases,
  LoopHealth,
  Placement,
  Queues,
  Timers,
} from "@detent/durable"
import { storedCopy } from "@detent/durable/DatabaseCopy"
import { engineOfHandlers, executionsOf } from "@detent/durable/internal"
import { Schedules } from "@detent/durable/Schedules"
import type { Knowledge } from "@detent/knowledge"
import { CurrentEngine } from "@detent/machine/internal"
import type { Uploads, UploadsOptions } from "@detent/uploads"
import * as EffectConfig from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import type * as Workflow from "effect/workflow/Workflow"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { AccessTokens } from "./AccessTokens.ts"
import { AuditLog } from "./AuditLog.ts"
import { type EndedBatch, reportBatchEnds } from "./BatchEnds.ts"
import { ClusterMember, type ClusterSettings } from "./ClusterMember.ts"
import { type Config, decodeConfig, type ProvidedServices } from "./Config.ts"
import { CurrentWorkspace, type Role } from "./CurrentWorkspace.ts"
import { definitionOf, eventsOf, layerOfWorkflow } from "./config/Workflows.ts"
import { type Database, databaseOf, type Stores, storesIn } from "./Database.ts"
import { dataOf, localFolderOf } from "./DataLocation.ts"
import type { SystemName } from "./errors.ts"
import { makeFolder } from "./Folder.ts"
import { Machines } from "./Machines.ts"
import { takeNodeName, type WriteFailed } from "./NodeName.ts"
import { registerBulk } from "./operations/bulk.ts"
import { optional } from "./optional.ts"
import { RequestKeys } from "./RequestKeys.ts"
import { isUnderRestore, noteIn } from "./RestoreNote.ts"
import { bulkMachine, isStored, type KnowledgeServices, Systems } from "./Systems.ts"

export { CurrentWorkspace, type CurrentWorkspaceService, type Role } from "./CurrentWorkspace.ts"
export { DatabaseRefused, type Stores } from "./Database.ts"
export { type KnowledgeServices, Systems } from "./Systems.ts"

export interface WorkspaceOptions {
  /**
   * The data folder, created if it is missing, or `gs://BUCKET/PREFIX` or `s3://BUCKET/PREFIX`, which also need a database.
   * Default: `.detent`.
   */
  readonly data?: string
  /** `sqlite:PATH` or `postgres://…`. Default: DETENT_DATABASE_URL, then `detent.db` in the folder. */
  readonly database?: string | undefined
  readonly role: Role
  /**
   * Machines, workflows and settings of the user, from `defineConfig` or `readConfig`. Without a configuration, a system is on where
   * the database has data of the system.
   */
  readonly config?: Config | undefined
  readonly engine?: EngineOptions
  /** The settings of executions of workflows. */
  readonly workflow?: DurableWorkflow.WorkflowOptions
  /** Further folders whose documents may be read. */
  readonly readable?: ReadonlyArray<string>
  /** Returns the folders that were allowed since the workspace was opened. Called when a document is in none of the others. */
  readonly allowedSince?: Knowledge.KnowledgeOptions["allowedSince"]
  /** Turns knowledge on, regardless of the configuration. */
  readonly knowledge?: Omit<Knowledge.KnowledgeOptions, "folder" | "readable" | "allowedSince" | "nodeId">
  /** Turns uploads on, regardless of the configuration. */
  readonly uploads?: Omit<UploadsOptions, "folder">
  /**
   * Systems that the caller asks for by name. Such a system is on where there is no configuration, where the configuration has its
   * section, and where the database has data of the system.
   */
  readonly asked?: ReadonlyArray<SystemName>
  /**
   * Makes this process a node of a cluster. Default for each setting: that of the configuration. `false`: the process is no node,
   * although the configuration makes it one.
   */
  readonly cluster?: ClusterSettings | false
  /** Whether this process runs the tasks of batches. Default: true where it executes commands. */
  readonly tasks?: boolean
  /** Called when a batch ends in this process. Only in a process that resumes unfinished work. */
  readonly onBatchEnd?: (batch: EndedBatch) => void
}

/** The folder of a workspace cannot be created, or the services of a configuration cannot be started. */
export class WorkspaceRefused extends Schema.TaggedError<WorkspaceRefused>()("WorkspaceRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}; ${this.nextStep}`
  }
}

/** Nodes of a cluster are alive on the database, and this process would run work beside them that they run too. */
export class OutsideCluster extends Schema.TaggedError<OutsideCluster>()("OutsideCluster", { nodes: Schema.Array(Schema.String) }) {
  override get message() {
    const named = this.nodes.length > 3 ? `${this.nodes.slice(0, 3).join(", ")} and others` : this.nodes.join(", ")
    return (
      `nodes of a cluster work on this database (${named}), and this process is none of them: both would run the same state work; ` +
      "make it a node with --cluster HOST:PORT, read only with `detent serve --observe`, or stop the nodes first; " +
      "a node that was killed counts until its lease ends"
    )
  }
}

/** The services of every workspace. */
export type WorkspaceServices =
  | CurrentWorkspace
  | Machines
  | Schedules
  | RequestKeys
  | AuditLog
  | AccessTokens
  | ClusterMember
  | ProvidedServices

/** The services of the systems that the options turn on. `Systems` has the services of systems that a configuration turns on. */
type SystemServices<O> =
  | (O extends { readonly knowledge: object } ? KnowledgeServices : never)
  | (O extends { readonly uploads: object } ? Uploads : never)

/** Why a workspace could not be opened. */
export type WorkspaceError = Layer.Error<ReturnType<typeof opened>>

/** Opens a workspace: the layer has its services, `CurrentWorkspace` among them. */
const open = <const O extends WorkspaceOptions>(options: O): Layer.Layer<WorkspaceServices | SystemServices<O>, WorkspaceError> =>
  // The context holds the services of the systems that are on. Only the type of the options says which these are.
  opened(options) as Layer.Layer<WorkspaceServices | SystemServices<O>, WorkspaceError>

export const Workspace = { open }

const opened = (options: WorkspaceOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const data = dataOf(options.data ?? ".detent")
      const address = options.database ?? (yield* databaseInEnvironment)
      if (isBucketLocation(data)) yield* checkBucket(data, address)
      const database = yield* Effect.fromResult(databaseOf(address, data))
      yield* refuseHalfRestored(data, database)
      const config = options.config === undefined ? undefined : yield* decodeConfig("the configuration", options.config)
      yield* Effect.try({
        try: () => makeFolder(localFolderOf(data)),
        catch: (cause) =>
          new WorkspaceRefused({
            problem: `the folder ${localFolderOf(data)} cannot be created`,
            nextStep: isBucketLocation(data) ? "name another with XDG_STATE_HOME" : "choose another with --data",
            cause,
          }),
      })
      const node = options.role === "work" ? yield* Effect.mapError(takeNodeName(localFolderOf(data)), notWritable(data)) : undefined
      const facts = Layer.succeed(CurrentWorkspace, { data, database: database._tag, address: database, role: options.role, config, node })
      return Layer.effectContext(inhabited({ ...options, data, config, node })).pipe(
        Layer.provideMerge(Layer.mergeAll(facts, RequestKeys.layer, AuditLog.layer, AccessTokens.layer)),
        Layer.provideMerge(Layer.provideMerge(refuseHalfCopied, storesIn(database))),
      )
    }),
  )

/** A bucket cannot hold a database. An invalid address is refused here, before the first batch would find it. */
const checkBucket = (data: string, database: string) =>
  Effect.gen(function* () {
    const refused = (nextStep: string, cause: Error) =>
      new WorkspaceRefused({ problem: `no workspace can be opened in ${data}`, nextStep, cause })
    const { locate } = yield* Effect.promise(() => import("@detent/blobs/StorageLocation"))
    yield* Effect.mapError(Effect.fromResult(locate(data)), (cause) => refused("correct --data", cause))
    if (database === "") return yield* refused("give --database postgres://…", new Error("a bucket holds no database"))
  })

/** Refuses a partly restored folder: a process would work without the missing files and rows. */
const refuseHalfRestored = (data: string, database: Database) =>
  Effect.suspend(() => {
    const note = noteIn(data)
    if (note === undefined || !(database._tag === "Sqlite" ? isUnderRestore(data, database.file) : note.file === undefined))
      return Effect.void
    const place = database._tag === "Sqlite" ? "" : " --database postgres://…"
    return Effect.fail(
      new WorkspaceRefused({
        problem: `${data} is not a workspace yet`,
        nextStep: `restore it again: detent data restore --from ${note.from} --data ${data}${place}`,
        cause: new Error(`the restore of the backup of ${note.createdAt} has not ended`),
      }),
    )
  })

/** Refuses a partly written database: a restore or a copy writes its rows table by table. */
const refuseHalfCopied = Layer.effectDiscard(
  Effect.gen(function* () {
    const copy = yield* storedCopy(yield* SqlClient)
    if (copy === undefined || copy.completedAt !== undefined) return
    return yield* new WorkspaceRefused({
      problem: "the database does not hold a complete workspace yet",
      nextStep: "start the same `detent data restore` or `detent data copy` again: it resumes",
      cause: new Error(`the copy of ${copy.source} into it has not ended`),
    })
  }),
)

/** Every command and the server read the same variable. */
const databaseInEnvironment = Effect.orDie(EffectConfig.String("DETENT_DATABASE_URL").pipe(EffectConfig.withDefault("")))

type Opening = WorkspaceOptions & { readonly data: string; readonly node: string | undefined }

/**
 * Builds the engines and everything that runs on them. Services of machines and workflows are built after the engines, since they
 * may use the engines. Both engines still close first: work that runs in them needs the services until then.
 */
const inhabited = (options: Opening) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const stores: Context.Context<Stores> = Context.pick(
      Journal,
      Timers,
      Leases,
      Commands,
      LoopHealth,
      SqlClient,
    )(yield* Effect.context<Stores>())
    const memoMap = yield* Layer.makeMemoMap
    // The scope that is forked last closes first.
    const services = yield* Scope.fork(scope)
    const enginesScope = yield* Scope.fork(scope)
    // The shared memo map builds a layer once, even if several of these builds contain it.
    const buildIn = <A, E, R>(lifetime: Scope.Scope, layer: Layer.Layer<A, E, R>, context: Context.Context<R>) =>
      Effect.map(
        Effect.provideContext(Layer.buildWithMemoMap(layer, memoMap, lifetime), context),
        (built): Context.Context<A> => Context.omit(Layer.CurrentMemoMap)(built) as Context.Context<A>,
      )
    const build = <A, E, R>(layer: Layer.Layer<A, E, R>, context: Context.Context<R>) => buildIn(services, layer, context)
    const built = Context.merge(stores, yield* buildIn(enginesScope, yield* enginesOf(options), stores))
    const registered = new Map<string, Workflow.Any>()
    const workflowEngine = Context.get(built, WorkflowEngine.WorkflowEngine)
    const handlers = engineOfHandlers(Context.get(built, Engine))
    const engines = Context.add(
      Context.add(built, WorkflowEngine.WorkflowEngine, recording(workflowEngine, registered)),
      CurrentEngine,
      handlers.engine,
    )

    const hasKnowledge = yield* isOn("knowledge", options)
    // Reporting starts before machines are registered: a resumed batch may end immediately.
    if (hasKnowledge && runsWorkflows(options))
      yield* Scope.provide(reportBatchEnds(Context.get(built, Engine), options.onBatchEnd), enginesScope)
    const knowledge = hasKnowledge ? yield* build(yield* knowledgeIn(options), engines) : undefined
    const uploads = (yield* isOn("uploads", options)) ? yield* build(yield* uploadsIn(options), engines) : undefined
    // Tasks use the engines, so their scope closes before the engines do.
    if (knowledge !== undefined && runsTasks(options))
      yield* buildIn(yield* Scope.fork(scope), yield* tasksIn(options), Context.merge(engines, knowledge))
    const provided = Context.add(engines, Systems, {
      knowledge: Option.fromNullishOr(knowledge),
      uploads: Option.fromNullishOr(uploads),
    })

    const { config } = options
    if (config !== undefined) {
      const own = yield* refusing("the layers of the configuration could not be built", build(config.layers ?? Layer.empty, provided))
      const all = Context.merge(provided, own)
      yield* Effect.provideContext(registerMachines(config), all)
      const workflows = runsWorkflows(options) ? (config.workflows ?? []) : []
      yield* Effect.forEach(workflows, (workflow) => {
        const { _tag: name } = definitionOf(workflow)
        const problem = `workflow ${name} of the configuration could not be started`
        const cause = `its layer does not register it; give what ${name}.toLayer makes`
        return Effect.tap(refusing(problem, build(layerOfWorkflow(workflow), all)), () =>
          registered.has(name) ? Effect.void : Effect.fail(notCorrect(problem, cause)),
        )
      })
      const ofAsync = (config.workflows ?? []).flatMap((one) => ("workflow" in one ? [] : [one.definition]))
      let isClosed = false
      yield* Scope.addFinalizer(
        enginesScope,
        Effect.sync(() => {
          isClosed = true
        }),
      )
      const executions = executionsOf(Context.get(engines, WorkflowEngine.WorkflowEngine), new Set(ofAsync), () => isClosed)
      handlers.open({ services: all as Context.Context<never>, workflows: executions })
    }
    if (runsWorkflows(options)) {
      const declaring = Effect.forEach(Object.entries(config?.queues ?? {}), ([queue, limits]) => Queues.limitFirst(queue, limits))
      yield* refusing("the limits of queues of the configuration could not be stored", Effect.provideContext(declaring, provided))
    }
    // Declared last: their starts need the machines and workflows.
    const schedules = yield* refusing("the schedules of the configuration could not be stored", build(schedulesOf(options), provided))
    const configured = config?.workflows ?? []
    const known = [
      ...(knowledge === undefined ? [] : [(yield* loadKnowledge).ExtractionWorkflow]),
      ...configured.map(definitionOf),
      ...registered.values(),
    ]
    const events = new Map(configured.map((one) => [definitionOf(one)._tag, eventsOf(one)]))
    const machines = yield* build(Machines.layer(known, events), provided)
    // A process that runs one operation and exits does not resume bulk jobs.
    if (options.role === "observe" || runsWorkflows(options)) {
      const registering = registerBulk(config?.retention?.[bulkMachine])
      yield* Effect.provideContext(registering, Context.merge(provided, machines))
    }
    // Added last, so that it runs first. A process that was interrupted or has failed leaves due commands to the next one.
    if (runsWorkflows(options))
      yield* Scope.addFinalizerExit(scope, (exit) => (Exit.isSuccess(exit) ? Context.get(built, Engine).executeDue : Effect.void))
    return Context.mergeAll(provided, machines, schedules, knowledge ?? Context.empty(), uploads ?? Context.empty())
  })

const notWritable =
  (data: string) =>
  ({ cause }: WriteFailed): WorkspaceRefused =>
    new WorkspaceRefused({
      problem: `no process can work in the folder ${data}`,
      nextStep: "give this user write access to it, and free space on its disk",
      cause,
    })

/** Records which workflows are registered: a layer may register workflows that the configuration does not name. */
const recording = (
  engine: WorkflowEngine.WorkflowEngine["Service"],
  registered: Map<string, Workflow.Any>,
): WorkflowEngine.WorkflowEngine["Service"] => ({
  ...engine,
  register: (workflow, execute) =>
    Effect.suspend(() => {
      registered.set(workflow._tag, workflow)
      return engine.register(workflow, execute)
    }),
})

type Engines = Engine | WorkflowEngine.WorkflowEngine | ClusterMember

const enginesOf = (options: Opening) =>
  Effect.gen(function* () {
    const { node: nodeId } = options
    if (nodeId === undefined) return observingEngines(options)
    const settings = clusterOf(options)
    // A command that runs one operation and exits does not join the cluster.
    if (engineOptions(options).resume === false) return Layer.merge(workingEngines(options, nodeId), alone)
    if (settings === undefined || settings === false) {
      yield* refuseBesideNodes
      return Layer.merge(workingEngines(options, nodeId), alone)
    }
    return workingEngines(options, nodeId).pipe(Layer.provideMerge(yield* memberOf(settings)))
  })

/** The caller's settings replace those of the configuration, one by one. */
const clusterOf = ({ cluster, config }: Opening): ClusterSettings | false | undefined =>
  cluster === undefined || cluster === false ? (cluster ?? config?.cluster) : { ...config?.cluster, ...cluster }

const alone = Layer.succeed(ClusterMember, Option.none())

/** Refuses to resume all work beside live nodes of a cluster. Of processes that are no nodes, each takes over the work of dead owners. */
const refuseBesideNodes = Effect.gen(function* () {
  const { database } = yield* CurrentWorkspace
  if (database === "Sqlite" || !(yield* hasClusterTables)) return
  const { nodesOf } = yield* Effect.promise(() => import("@detent/cluster"))
  const nodes = yield* nodesOf()
  if (nodes.length > 0) return yield* new OutsideCluster({ nodes: nodes.map(({ address }) => address) })
})

/** Most databases have none: the code of the cluster is not loaded for them. */
const hasClusterTables = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [found] = yield* sql<{ readonly found: boolean }>`select to_regclass('detent.cluster_nodes') is not null as found`
  return found?.found === true
})

/** No workflow is registered in the workflow engine, so it runs none. */
const observingEngines = (options: Opening): Layer.Layer<Engines, never, Stores> =>
  Layer.mergeAll(Engine.layer({ ...engineOptions(options), observe: true }), WorkflowEngine.layerMemory, alone)

/** Joins the cluster. The code of the cluster is loaded on demand, since most workspaces are not nodes. */
const memberOf = (settings: ClusterSettings) =>
  Effect.gen(function* () {
    const { database } = yield* CurrentWorkspace
    if (database === "Sqlite") {
      return yield* new WorkspaceRefused({
        problem: "the cluster cannot be joined",
        nextStep: "give --database postgres://…, or leave the cluster out",
        cause: new Error("a SQLite file belongs to one machine"),
      })
    }
    const { Cluster, ClusterMisconfigured } = yield* Effect.promise(() => import("@detent/cluster"))
    const { address } = settings
    if (address === undefined) {
      return yield* new ClusterMisconfigured({
        problem: "this node of a cluster has no address",
        nextStep: "give host and port at which other nodes reach it with --cluster HOST:PORT, or as cluster.address in detent.config.ts",
      })
    }
    const token = settings.token ?? (yield* tokenInEnvironment)
    const member = Layer.effect(ClusterMember, Effect.asSome(Cluster))
    return Layer.provideMerge(member, Cluster.layer({ ...settings, address, token }))
  })

const tokenInEnvironment = Effect.orDie(EffectConfig.String("DETENT_CLUSTER_TOKEN").pipe(EffectConfig.withDefault("")))

const workingEngines = (options: Opening, nodeId: string): Layer.Layer<Engine | WorkflowEngine.WorkflowEngine, never, Stores> => {
  const engine = engineOptions(options)
  const workflow = {
    ...optional({ executionRetention: executionRetention(options.config) }),
    ...options.knowledge?.workflow,
    ...options.workflow,
  }
  const lease = engine.lease ?? workflow.lease
  const node: LeasePlacementOptions = { nodeId: engine.nodeId ?? workflow.nodeId ?? nodeId, ...optional({ lease }) }
  // The layer that is built last closes first: instances stop before the executions that they wait for.
  return Engine.layer({ ...node, ...engine }).pipe(
    Layer.provideMerge(DurableWorkflow.layer({ ...node, ...workflow })),
    // A process is one node with one lease, for its instances and for its executions.
    Layer.provide(Layer.effect(Placement, Placement.inContextOrMake(node))),
  )
}

/** The limits of the configuration, replaced by those of the caller where given. */
const engineOptions = ({ config, knowledge, engine }: Opening): EngineOptions => {
  const { eventSize, stateSize, mailbox, instances, commands } = config?.limits ?? {}
  const given = { ...knowledge?.engine, ...engine }
  return {
    ...given,
    limits: { ...optional({ eventSize, stateSize, mailbox, instances }), ...given.limits },
    worker:
      given.worker === false ? false : { ...optional({ concurrency: commands, retention: config?.commandRetention }), ...given.worker },
  }
}

/**
 * Without a configuration, the data in the database decides: the next server finds batches that a command started. A system that the
 * caller asks for is on, except where a configuration omits it and the database has no data of the system.
 */
const isOn = (system: SystemName, { config, asked = [], ...options }: Opening) => {
  if (options[system] !== undefined || config?.[system] !== undefined) return Effect.succeed(true)
  const isAsked = asked.includes(system)
  if (config === undefined && isAsked) return Effect.succeed(true)
  return config === undefined || isAsked ? isStored(system) : Effect.succeed(false)
}

const loadKnowledge = Effect.promise(() => import("@detent/knowledge"))

const knowledgeIn = (opening: Opening) =>
  Effect.map(loadKnowledge, ({ Knowledge }) => {
    const { data, role, readable = [], allowedSince, knowledge = {}, config } = opening
    const { engine: _, workflow: __, ...given } = knowledge
    const kept = optional({ settings: config?.knowledge, retention: config?.retention?.["batch"] })
    const continues = engineOptions(opening).resume !== false
    const options = { ...kept, ...given, folder: data, readable, allowedSince, continues }
    return role === "observe" ? Knowledge.layerOnObservingEngine(options) : Knowledge.layerOnEngine(options)
  })

const tasksIn = ({ data, knowledge = {}, config }: Opening) =>
  Effect.map(loadKnowledge, ({ Knowledge }) => {
    const { taskWorker, settings = config?.knowledge } = knowledge
    return Knowledge.runningTasks({ folder: data, ...optional({ settings, taskWorker }) })
  })

const runsTasks = (options: Opening): boolean => options.tasks ?? (options.role === "work" && engineOptions(options).worker !== false)

const uploadsIn = (opening: Opening) =>
  Effect.gen(function* () {
    const { data, role, uploads, config } = opening
    const { Uploads, Items } = yield* Effect.promise(() => import("@detent/uploads"))
    const named = config?.uploads?.map((one) => (one === "items" ? Items : one))
    const kinds = named === undefined ? {} : { uploads: named }
    const itemLimits = optional({ itemLimit: config?.limits?.uploadItem, maxItems: config?.limits?.uploadItems })
    const { worker } = engineOptions(opening)
    const deliver = role === "work" ? worker : false
    const given = { ...kinds, ...itemLimits, ...optional({ deliver }), ...uploads, folder: join(localFolderOf(data), "uploads") }
    if (!isBucketLocation(data)) return Uploads.layer(given)
    const { sharedUploads } = yield* Effect.promise(() => import("./SharedUploads.ts"))
    return Layer.unwrap(Effect.map(sharedUploads(data), (sharedFiles) => Uploads.layer({ ...given, sharedFiles })))
  })

/** Registers the machines with their upcasters, and the retention of all machines. */
const registerMachines = ({ machines, upcasters = {}, retention = {} }: Config) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    for (const machine of machines) yield* engine.register(machine, optional({ upcasters: upcasters[machine.name] }))
    for (const [name, kept] of Object.entries(retention)) {
      if (name.startsWith(workflowPrefix) || name === bulkMachine) continue
      // `checkConfig` has checked that every name here is a registered machine.
      yield* engine.register(Option.getOrThrow(engine.machine(name)), { retention: kept })
    }
  })

/** A process that runs one operation and exits stores and starts none of the declared schedules. */
const schedulesOf = (options: Opening) => {
  const { schedules = [], scheduleTargets: targets = [] } = options.config ?? {}
  return Schedules.layer({ schedules, targets, observe: !runsWorkflows(options) })
}

const workflowPrefix = DurableWorkflow.machineOf("")

/** The retention of executions, by the workflow's name. */
const executionRetention = (config: Config | undefined) => {
  const entries = Object.entries(config?.retention ?? {}).filter(([name]) => name.startsWith(workflowPrefix))
  return entries.length === 0 ? undefined : Object.fromEntries(entries.map(([name, kept]) => [name.slice(workflowPrefix.length), kept]))
}

/** A process that resumes no instances resumes no executions either. */
const runsWorkflows = (options: Opening): boolean => options.role === "work" && engineOptions(options).resume !== false

const refusing = <A, R>(problem: string, effect: Effect.Effect<A, unknown, R>): Effect.Effect<A, WorkspaceRefused, R> =>
  Effect.mapError(effect, (cause) => notCorrect(problem, cause))

const notCorrect = (problem: string, cause: unknown) => new WorkspaceRefused({ problem, nextStep: "correct detent.config.ts", cause })
