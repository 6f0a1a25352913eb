/**
 * Durable uploads of files with items of any kind: each file is a batch, each item an instance.
 *
 * ```ts
 * const products = (yield* Uploads).of(Products)
 * const { batchId } = yield* products.start("products.json")
 * const status = yield* uploads.finished(batchId)
 * const page = yield* products.search({ text: "lathe -used", where: { brand: "Acme" } })
 * ```
 */
import { readFileSync } from "node:fs"
import { CommandWorker, Engine, type WorkerOptions } from "@detent/durable"
import type { EntityWorkflowError } from "@detent/entity"
import type { PersistenceFailed } from "@detent/machine"
import type { TaskLimit } from "@detent/processes"
import { Commands, type CommandsService } from "@detent/store"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Notice } from "./batch/BatchWork.ts"
import { loadBatchWorkflow } from "./batch/UploadBatchWorkflow.ts"
import { type Deliveries, makeDeliveries } from "./deliver/Delivery.ts"
import { removeLeftovers } from "./file/OnceFiles.ts"
import { filesIn, type SharedFiles } from "./file/UploadFiles.ts"
import { defaultLimits, type UploadLimits } from "./file/UploadLimits.ts"
import { loadItemWorkflow } from "./item/ItemWorkflow.ts"
import type { ItemKind } from "./kind/ItemKind.ts"
import { Items } from "./kind/Items.ts"
import type { AnyUpload } from "./kind/UploadDefinition.ts"
import { defaultItemLimit, makeItemReader } from "./reading/ItemReader.ts"
import { makeBatchWork } from "./stages/makeBatchWork.ts"
import { ReadOnce } from "./stages/ReadOnce.ts"
import type { Kind, Uploading } from "./stages/Uploading.ts"
import { type ItemTable, itemTable } from "./store/ItemTable.ts"
import { makeViews } from "./store/ItemViews.ts"
import { UploadStore } from "./store/UploadStore.ts"
import { UploadService, type UploadsService } from "./UploadService.ts"

export interface UploadsOptions extends Partial<UploadLimits> {
  /** The kinds of uploads, the default kind first. Of two with the same name, the later one is used. Default: {@link Items} alone. */
  readonly uploads?: ReadonlyArray<AnyUpload>
  /**
   * Called when a batch is completed, partially completed or failed: at least once, always with the same `key`. The `notify` of a
   * definition replaces it for its kind.
   */
  readonly notify?: (notice: Notice) => Effect.Effect<void, unknown>
  /** Folder of received files. Default: `uploads` in the current folder. */
  readonly folder?: string
  /** Stores received files in a storage that all machines of the database share. Default: in the folder. */
  readonly sharedFiles?: SharedFiles | undefined
  /** Schema of the tables on PostgreSQL. Default: `detent`. */
  readonly schema?: string
  /** How long a failing database is retried before the batch fails. Default: one minute. */
  readonly storeTimeout?: Duration.Input
  /**
   * How many bytes of files are kept in memory between hash, validation and extraction, so that a file is read and parsed once. A
   * larger file is read again. Default: 24 MB.
   */
  readonly keptBytes?: number
  /**
   * How this process sends the deliveries of definitions with `deliver`; false leaves them to other processes. Default: the settings of any
   * worker of commands.
   */
  readonly deliver?: WorkerOptions | false
  /**
   * The time and memory (in MB, of a worker process) that reading one item may take, where worker processes read the items. Default:
   * 10 seconds and 512 MB.
   */
  readonly itemLimit?: Partial<TaskLimit>
}

const defaultKeptBytes = 24_000_000

const make = (options: UploadsOptions) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const store = yield* UploadStore.open(options.schema ?? "detent")
    const kinds = new Map<string, Kind>()
    const { uploads = [Items] } = options
    const commands = yield* Effect.serviceOption(Commands)
    for (const { kind } of uploads) {
      const table = itemTable(store, kind.name)
      kinds.set(kind.name, { ...kind, table, deliveries: deliveriesOf(kind, table, Option.getOrUndefined(commands)) })
    }
    yield* makeViews(store, kinds.values())
    yield* removeLeftovers(options.folder ?? "uploads")
    const items = yield* loadItemWorkflow(readDefinition("upload-item.json"))
    yield* engine.register(items.machine)
    const uploading: Uploading = {
      engine,
      items,
      store,
      kinds,
      limits: limitsOf(options),
      folder: options.folder ?? "uploads",
      shared: options.sharedFiles,
      files: filesIn(options.sharedFiles),
      notify: options.notify,
      storeTimeout: Duration.fromInputUnsafe(options.storeTimeout ?? "1 minute"),
      readOnce: new ReadOnce(options.keptBytes ?? defaultKeptBytes),
      reader: yield* makeItemReader({ ...defaultItemLimit, ...options.itemLimit }),
    }
    const workflow = yield* loadBatchWorkflow(readDefinition("upload-batch.json"), makeBatchWork(uploading))
    yield* engine.register(workflow.machine)
    const deliveries = [...kinds.values()].flatMap((kind) => (kind.deliveries === undefined ? [] : [kind.deliveries]))
    if (options.deliver !== false && deliveries.length > 0 && Option.isSome(commands)) {
      yield* Effect.forEach(deliveries, ({ limit }) => limit, { discard: true })
      const worker = CommandWorker.layer(
        deliveries.map(({ handler }) => handler),
        options.deliver,
      )
      yield* Layer.build(Layer.provide(worker, Layer.succeed(Commands, commands.value)))
    }
    return new UploadService(uploading, { workflow, defaultKind: (uploads[0] ?? Items).name })
  })

const deliveriesOf = (kind: ItemKind, table: ItemTable, commands: CommandsService | undefined): Deliveries | undefined => {
  const { name, deliver, decode } = kind
  if (deliver === undefined) return undefined
  if (commands === undefined)
    throw new TypeError(`the upload ${name} delivers its items, and its store has no commands; use SqliteStore or PostgresStore`)
  return makeDeliveries(name, deliver, { table, decode, commands })
}

/** The text of a workflow. The workflows are JSON files of this package, which can be read and changed. */
export const readDefinition = (name: "upload-batch.json" | "upload-item.json"): string =>
  readFileSync(new URL(`../${name}`, import.meta.url), "utf8")

const limitsOf = (options: UploadsOptions): UploadLimits => {
  const { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes, maxColumns, maxItems } = { ...defaultLimits, ...options }
  return { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes, maxColumns, maxItems }
}

export class Uploads extends Context.Service<Uploads, UploadsService>()("@detent/uploads/Uploads") {
  /** Uses the database of the engine's store. Unfinished batches resume. */
  static readonly layer = (
    options: UploadsOptions = {},
  ): Layer.Layer<Uploads, EntityWorkflowError | MigrationError | SqlError | PersistenceFailed, Engine | SqlClient> =>
    Layer.effect(Uploads, make(options))
}
