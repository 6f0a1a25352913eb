/**
 * Uploads of files of Hacker News items: each file is a batch, each item an instance, all of it kept through crashes.
 *
 * ```ts
 * const uploads = yield* Uploads
 * const { batchId } = yield* uploads.start("items.json")
 * const status = yield* uploads.finished(batchId)
 * const page = yield* uploads.search({ text: "rust -crypto", type: "story" })
 * ```
 */
import { readFileSync } from "node:fs"
import { Engine, type ReadError } from "@detent/durable"
import type { EntityWorkflowError } from "@detent/entity"
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { BatchStatus } from "./BatchStatus.ts"
import type { AlreadyUploaded, BatchExists, BatchNotFound, BatchNotRetryable, ItemNotFailed } from "./batch/BatchProblem.ts"
import type { Notice } from "./batch/BatchWork.ts"
import { loadBatchWorkflow } from "./batch/UploadBatchWorkflow.ts"
import type { FileProblem } from "./file/FileProblem.ts"
import { defaultLimits, type UploadLimits } from "./file/UploadLimits.ts"
import { loadItemWorkflow } from "./item/HNItemWorkflow.ts"
import type { ItemCheck } from "./item/ReadItem.ts"
import { makeBatchWork } from "./stages/makeBatchWork.ts"
import type { Uploading } from "./stages/Uploading.ts"
import type { ItemPage, ItemQuery, StoredItem } from "./store/Items.ts"
import { UploadStore } from "./store/UploadStore.ts"
import type { BatchPage, EntryPage, EntryQuery } from "./UploadLists.ts"
import { UploadService } from "./UploadService.ts"

export interface UploadsOptions extends Partial<UploadLimits> {
  /** A check of your own on every item that is otherwise fine; what it returns is why the item is refused. */
  readonly check?: ItemCheck
  /** Told when a batch is completed, partially completed or has failed; at least once, by `key` you tell that it is again. */
  readonly notify?: (notice: Notice) => Effect.Effect<void, unknown>
  /** Where received files are kept; `uploads` in the current folder unless told. */
  readonly folder?: string
  /** Where the tables are on PostgreSQL; `detent` unless told. */
  readonly schema?: string
  /** For how long a database that fails is asked again before a batch fails; a minute unless told. */
  readonly storeTimeout?: Duration.Input
}

export interface StartOptions {
  /** A new one unless told. */
  readonly batchId?: string
  /** What the file is called; the last part of its path unless told. */
  readonly fileName?: string
  /** What it is said to be, such as the header of a request says; found out unless told. */
  readonly contentType?: string
  /** Uploads a file again that was uploaded before. */
  readonly force?: boolean
}

export type StartError = FileProblem | AlreadyUploaded | BatchExists | InvalidState | ReadError | SendError

export interface UploadsService {
  /** Uploads a file that is on this machine. It returns once the batch is stored; the batch then goes on by itself. */
  start(file: string, options?: StartOptions): Effect.Effect<BatchStatus, StartError>
  /** Keeps bytes as a file and uploads it. */
  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: StartOptions & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R>
  status(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError>
  /** The status now and whenever it changes, until the batch rests. */
  watch(batchId: string, interval?: Duration.Input): Stream.Stream<BatchStatus, BatchNotFound | ReadError>
  /** Waits until nothing is under way: the batch is completed, partially completed or failed, or kept where it is. */
  finished(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Batches, the newest first. */
  batches(options?: { readonly limit?: number; readonly after?: number }): Effect.Effect<BatchPage, PersistenceFailed>
  /** The items of a batch and what became of them, in the order of its file. */
  items(batchId: string, query?: EntryQuery): Effect.Effect<EntryPage, BatchNotFound | PersistenceFailed>
  /** Gives a failed item other content, for the next retry. */
  correct(batchId: string, index: number, item: object): Effect.Effect<void, BatchNotFound | ItemNotFailed | PersistenceFailed>
  /** Tries the failed items of a partially completed batch again, and only those. */
  retryFailed(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Tries a failed batch again, from where it got to: until it has failed three times, within 24 hours. */
  retryBatch(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | BatchNotRetryable | ReadError | SendError>
  /** Ends whatever the batch is doing. What it has stored stays. */
  markFailed(batchId: string, reason?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** `markFailed`, for the one who changed their mind. */
  cancel(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** A stored item. */
  item(hnId: number): Effect.Effect<Option.Option<StoredItem>, PersistenceFailed>
  /** Stored items by type, author, time and words. */
  search(query: ItemQuery): Effect.Effect<ItemPage, PersistenceFailed>
}

const make = (options: UploadsOptions) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const store = yield* UploadStore.open(options.schema ?? "detent")
    const itemWorkflow = yield* loadItemWorkflow(readDefinition("hn-item.json"))
    const uploading: Uploading = {
      engine,
      store,
      itemWorkflow,
      limits: limitsOf(options),
      check: options.check,
      notify: options.notify,
      storeTimeout: Duration.fromInputUnsafe(options.storeTimeout ?? "1 minute"),
    }
    const batchWorkflow = yield* loadBatchWorkflow(readDefinition("upload-batch.json"), makeBatchWork(uploading))
    yield* engine.register(itemWorkflow.machine)
    yield* engine.register(batchWorkflow.machine)
    return new UploadService(uploading, batchWorkflow, options.folder ?? "uploads")
  })

/** The workflows are files of this package, for people to read and change. */
export const readDefinition = (name: "upload-batch.json" | "hn-item.json"): string =>
  readFileSync(new URL(`../${name}`, import.meta.url), "utf8")

const limitsOf = (options: UploadsOptions): UploadLimits => {
  const { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes } = { ...defaultLimits, ...options }
  return { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes }
}

export class Uploads extends Context.Service<Uploads, UploadsService>()("@detent/uploads/Uploads") {
  /** In the database of the engine's store. Batches that were under way go on. */
  static readonly layer = (
    options: UploadsOptions = {},
  ): Layer.Layer<Uploads, EntityWorkflowError | MigrationError | SqlError | PersistenceFailed, Engine | SqlClient> =>
    Layer.effect(Uploads, make(options))
}
