/**
 * The whole pipeline as one layer, with files below a folder and the database in it, or on any store of `@detent/durable`.
 *
 * ```ts
 * const live = Knowledge.layerEmbedded({ folder: "data" })
 * const many = Knowledge.layer({ folder: "gs://bucket/data" }).pipe(Layer.provide(PostgresStore.layer({ url })))
 * ```
 */

import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { StorageLocation } from "@detent/blobs"
import { type Storage, StorageFailed } from "@detent/blobs/Storage"
import type { AllowedSince } from "@detent/blobs/StorageLocation"
import {
  type Commands,
  Engine,
  type EngineOptions,
  type Journal,
  type LeasePlacementOptions,
  type Leases,
  Placement,
  type Timers,
} from "@detent/durable"
import * as DurableWorkflow from "@detent/durable/DurableWorkflow"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { privateFolder } from "@detent/store/internal"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlClient } from "effect/sql/SqlClient"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { Answers } from "./answer/Answers.ts"
import { BatchEventLog } from "./batch/BatchEventLog.ts"
import { Batches, type BatchesOptions } from "./batch/Batches.ts"
import { refuseOtherData, warnOfOtherData } from "./batch/OtherData.ts"
import type { TaskWorkerOptions } from "./dispatch/TaskWorker.ts"
import * as TaskWorker from "./dispatch/TaskWorker.ts"
import * as CanonicalGraph from "./graph/CanonicalGraph.ts"
import { GraphFacts } from "./graph/GraphFacts.ts"
import { GraphQuery } from "./graph/GraphQuery.ts"
import type { KnowledgeSettings } from "./KnowledgeSettings.ts"
import { IdentityStore } from "./review/IdentityStore.ts"
import { ReviewStore } from "./review/ReviewStore.ts"
import { Extractions } from "./runs/Extractions.ts"
import * as ExtractionWorkflow from "./runs/ExtractionWorkflow.ts"
import { Extractors } from "./runs/Extractors.ts"
import { RunStore } from "./runs/RunStore.ts"
import * as ArtifactStore from "./storage/ArtifactStore.ts"
import * as CloudTasks from "./tasks/CloudTasks.ts"
import type { TaskSettings } from "./tasks/Task.ts"
import { TaskCallers } from "./tasks/TaskCallers.ts"
import { TaskQueue } from "./tasks/TaskQueue.ts"
import { type ContentLimitOptions, WorkerPool } from "./threads/WorkerPool.ts"
import { Identities } from "./verdict/Identities.ts"
import { Reviews } from "./verdict/Reviews.ts"

export interface KnowledgeOptions {
  /** Where everything but the database is kept: a folder, `gs://bucket/prefix` or `s3://bucket/prefix`. */
  readonly folder: string
  /** Further folders, in the same forms, whose documents may be read. */
  readonly readable?: ReadonlyArray<string>
  /** Folders that were allowed since the workspace was opened. */
  readonly allowedSince?: AllowedSince | undefined
  /** The name of this process. With the same name after a restart, it resumes its work immediately. */
  readonly nodeId?: string
  readonly engine?: EngineOptions
  /** Options of the workflows that extract documents, for example how long stopping waits for them. */
  readonly workflow?: DurableWorkflow.WorkflowOptions
  /** How long operations on an unavailable database are retried before a batch stops, to be resumed later. Default: 30 seconds. */
  readonly patience?: Duration.Input
  /** Which extractor runs use. Default: the one that a batch or `settings` names. */
  readonly extractors?: Layer.Layer<Extractors, never, Storage>
  /** How long batches, their runs and their stage files are kept after their end. Default: forever. */
  readonly retention?: Duration.Input | undefined
  /** Default: the built-in extractor. */
  readonly settings?: KnowledgeSettings
  /** How much time and memory the work on one document, ontology, batch or query may take. Default: those of `settings`. */
  readonly contentLimits?: ContentLimitOptions
  /** Where batches with `dispatch: "tasks"` put their tasks. Default: the queue of `settings`, which is the durable one by default. */
  readonly tasks?: Layer.Layer<TaskQueue, never, Commands>
  /** How tasks are run in this process. `false`: it runs none. */
  readonly taskWorker?: TaskWorkerOptions | false
  /** Where blobs are. Default: in the folder. */
  readonly storage?: Layer.Layer<Storage, StorageFailed>
}

/** The whole pipeline. By default, with the built-in extractor and files. */
export const layer = (options: KnowledgeOptions) => {
  const placement = nodeOf(options)
  // The layer that is built last closes first: batches stop before the runs of their documents, and those before the storage.
  return runningTasks(options).pipe(
    Layer.provideMerge(Layer.mergeAll(Reviews.publishing, Identities.publishing, otherDataWarning(options))),
    Layer.provideMerge(withReviews(options, options)),
    Layer.provideMerge(Engine.layer({ ...placement, ...options.engine })),
    Layer.provideMerge(Layer.mergeAll(ExtractionWorkflow.layer, asking(options))),
    Layer.provideMerge(Extractions.layer),
    Layer.provideMerge(DurableWorkflow.layer({ ...placement, ...options.workflow })),
    Layer.provideMerge(otherDataRefusal({ ...options, continues: options.engine?.resume !== false })),
    // One process is one node with one lease, for its batches and for the runs of their documents.
    Layer.provideMerge(Layer.effect(Placement, Placement.inContextOrMake(placement))),
    Layer.provideMerge(kept(options)),
  ) satisfies Layer.Layer<
    Batches | Reviews | Identities | Answers | GraphQuery | GraphFacts,
    unknown,
    Journal | Timers | Leases | Commands | SqlClient
  >
}

/** Options of a pipeline on engines that its caller opens. */
export interface OnEngineOptions extends Omit<KnowledgeOptions, "nodeId" | "engine" | "workflow"> {
  /** Whether the engines resume unfinished batches by themselves, and do not only serve requests. Default: true. */
  readonly continues?: boolean
}

/**
 * The pipeline on the engines in the context. Those must close before this layer does: until then batches and runs use its services.
 */
export const layerOnEngine = (options: OnEngineOptions) =>
  Layer.mergeAll(Reviews.publishing, Identities.publishing, otherDataWarning(options)).pipe(
    Layer.provideMerge(withReviews(options, options)),
    Layer.provideMerge(Layer.mergeAll(ExtractionWorkflow.layer, asking(options))),
    Layer.provideMerge(Extractions.layer),
    Layer.provideMerge(otherDataRefusal(options)),
    Layer.provideMerge(kept(options)),
  ) satisfies Layer.Layer<
    Batches | Reviews | Identities | Answers | GraphQuery | GraphFacts,
    unknown,
    Engine | WorkflowEngine.WorkflowEngine | Journal | Commands | SqlClient
  >

/** Checks the data folder before the first run or batch is resumed. */
const otherDataRefusal = ({ folder, continues = true }: OnEngineOptions) =>
  continues ? Layer.effectDiscard(refuseOtherData(StorageLocation.folderAt(folder))) : Layer.empty

/** Runs in the background, so that unavailable storage does not delay the start. */
const otherDataWarning = ({ folder }: OnEngineOptions) =>
  Layer.effectDiscard(Effect.forkScoped(warnOfOtherData(StorageLocation.folderAt(folder))))

/**
 * Runs tasks with the services that `layerOnEngine` provides, until this layer closes. It is a separate layer, since it has to close
 * before the engines do.
 */
export const runningTasks = ({ folder, settings, taskWorker = {} }: Pick<KnowledgeOptions, "folder" | "settings" | "taskWorker">) =>
  taskWorker === false
    ? Layer.empty
    : TaskWorker.layer(StorageLocation.folderAt(folder), { concurrency: settings?.tasks?.concurrency, ...taskWorker })

/** Like `layerOnEngine`, on an observing engine: no run is resumed. */
export const layerOnObservingEngine = (options: OnEngineOptions) =>
  withReviews(options).pipe(
    Layer.provideMerge(Layer.mergeAll(asking(options), Extractions.layer)),
    Layer.provideMerge(kept(options)),
  ) satisfies Layer.Layer<
    Batches | Reviews | Identities | Answers | GraphQuery | GraphFacts,
    unknown,
    Engine | WorkflowEngine.WorkflowEngine | Commands | SqlClient
  >

const withReviews = (options: OnEngineOptions, batches: BatchesOptions = {}) => {
  const folder = StorageLocation.folderAt(options.folder)
  return Layer.provideMerge(Layer.mergeAll(Reviews.layer(folder), Identities.layer(folder), Answers.layer), Batches.layer(folder, batches))
}

const nodeOf = ({ nodeId, engine, workflow }: KnowledgeOptions): LeasePlacementOptions => {
  const name = nodeId ?? engine?.nodeId ?? workflow?.nodeId
  const lease = engine?.lease ?? workflow?.lease
  return { ...(name === undefined ? {} : { nodeId: name }), ...(lease === undefined ? {} : { lease }) }
}

/** Like `layer`, with a SQLite file in the folder, which is created if it does not exist. Provides the store too. */
export const layerEmbedded = (options: KnowledgeOptions) => layer(options).pipe(Layer.provideMerge(embeddedStore(options.folder)))

const embeddedStore = (folder: string) =>
  Layer.unwrap(
    Effect.tryPromise({
      try: () => mkdir(folder, { recursive: true, mode: privateFolder }),
      catch: (cause) => new StorageFailed({ uri: folder, operation: "open", retryable: false, cause }),
    }).pipe(Effect.as(SqliteStore.layer({ filename: join(folder, "detent.db") }))),
  )

/** Read-only, beside a working process: no batch or run is resumed here, and every event that is sent is refused. */
export const layerObserving = (options: KnowledgeOptions) =>
  layerOnObservingEngine(options).pipe(
    Layer.provideMerge(Engine.layer({ ...options.engine, observe: true })),
    // No workflow is registered with this engine, so it runs none.
    Layer.provideMerge(WorkflowEngine.layerMemory),
  ) satisfies Layer.Layer<
    Batches | Reviews | Identities | Answers | GraphQuery | GraphFacts,
    unknown,
    Journal | Timers | Leases | Commands | SqlClient
  >

const asking = (options: OnEngineOptions) => Layer.provideMerge(GraphFacts.layer, GraphQuery.layerWith(limitsOf(options)))

const limitsOf = ({ contentLimits, settings }: OnEngineOptions): ContentLimitOptions => contentLimits ?? settings?.contentLimits ?? {}

/** All user content is read on these workers. Pipelines without limits of their own use a pool in the context. */
const workersOf = (options: OnEngineOptions): Layer.Layer<WorkerPool> => {
  const limits = options.contentLimits ?? options.settings?.contentLimits
  return limits === undefined ? WorkerPool.layerInContext : WorkerPool.layer({ limits })
}

const kept = (options: OnEngineOptions) => {
  const folder = StorageLocation.folderAt(options.folder)
  return Layer.mergeAll(
    options.patience === undefined ? RunStore.layer : RunStore.layerWith({ patience: options.patience }),
    BatchEventLog.layer(options.patience),
    options.patience === undefined ? ReviewStore.layer : ReviewStore.layerWith({ patience: options.patience }),
    IdentityStore.layer(options.patience),
    ArtifactStore.layer(folder),
    CanonicalGraph.layer(folder, { iriBase: options.settings?.iriBase }),
    options.extractors ?? Extractors.layerWith(options.settings ?? {}),
    options.tasks ?? taskQueueOf(options.settings?.tasks),
    TaskCallers.layer(options.settings?.tasks),
  ).pipe(
    Layer.provideMerge(workersOf(options)),
    Layer.provideMerge(
      options.storage ??
        StorageLocation.layer({ location: options.folder, readable: options.readable ?? [], allowedSince: options.allowedSince }),
    ),
  )
}

/** The queue that the settings choose. Default: the durable one. */
const taskQueueOf = (settings: TaskSettings = { queue: "durable" }): Layer.Layer<TaskQueue, never, Commands> => {
  switch (settings.queue) {
    case "durable":
      return TaskQueue.layerDurable
    case "memory":
      return TaskQueue.layerMemory
    case "cloud-tasks":
      return CloudTasks.layer(settings)
  }
}
