/**
 * The whole pipeline as one layer, on any store of `@detent/durable`, with files below a folder.
 *
 * ```ts
 * const live = Knowledge.layer({ folder: "data" }).pipe(Layer.provide(SqliteStore.layer({ filename: "data/detent.db" })))
 * ```
 */
import { Engine, type EngineOptions, type Journal, type Leases, type Timers } from "@detent/durable"
import * as DurableWorkflow from "@detent/durable/DurableWorkflow"
import * as Layer from "effect/Layer"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import { BatchEventLog } from "./batch/BatchEventLog.ts"
import { Batches } from "./batch/Batches.ts"
import * as CanonicalGraph from "./graph/CanonicalGraph.ts"
import { GraphQuery } from "./graph/GraphQuery.ts"
import { Extractions } from "./run/Extractions.ts"
import * as ExtractionWorkflow from "./run/ExtractionWorkflow.ts"
import { Extractors } from "./run/Extractors.ts"
import { RunStore } from "./run/RunStore.ts"
import * as ArtifactStore from "./storage/ArtifactStore.ts"
import * as FileStorage from "./storage/FileStorage.ts"
import { folderOf } from "./storage/file/FileAddress.ts"
import type { Storage } from "./storage/Storage.ts"
import type { StorageFailed } from "./storage/StorageError.ts"

export interface KnowledgeOptions {
  /** Where everything but the database is kept. */
  readonly folder: string
  /** Further folders whose documents may be read. */
  readonly readable?: ReadonlyArray<string>
  /** The name of this process, the same after every restart: then it goes on the moment it is back. */
  readonly nodeId?: string
  readonly engine?: EngineOptions
  /** How the extraction of documents is kept: for one, how long stopping waits for it. */
  readonly workflow?: DurableWorkflow.WorkflowOptions
  /** Which extractor runs use; the built-in one unless told. */
  readonly extractors?: Layer.Layer<Extractors, never, Storage>
  /** Where blobs are; in the folder, as files, unless told. */
  readonly storage?: Layer.Layer<Storage, StorageFailed>
}

/** Unless told otherwise, with the built-in extractor and files. */
export const layer = (options: KnowledgeOptions) => {
  const folder = folderOf(options.folder)
  const node = options.nodeId === undefined ? {} : { nodeId: options.nodeId }
  const kept = Layer.mergeAll(
    RunStore.layer,
    BatchEventLog.layer,
    ArtifactStore.layer(folder),
    CanonicalGraph.layer(folder),
    options.extractors ?? Extractors.layerBuiltIn,
  )
  // What is built last ends first: batches stop before the runs of their documents do, and those before what they write to.
  return Batches.layer(folder).pipe(
    Layer.provideMerge(Engine.layer({ ...node, ...options.engine })),
    Layer.provideMerge(Layer.mergeAll(ExtractionWorkflow.layer, GraphQuery.layer)),
    Layer.provideMerge(Extractions.layer),
    Layer.provideMerge(DurableWorkflow.layer({ ...node, ...options.workflow })),
    Layer.provideMerge(kept),
    Layer.provideMerge(
      options.storage ??
        FileStorage.layer({ root: options.folder, ...(options.readable === undefined ? {} : { readable: options.readable }) }),
    ),
  ) satisfies Layer.Layer<Batches | GraphQuery, unknown, Journal | Timers | Leases | SqlClient>
}
