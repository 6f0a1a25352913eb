/** The operations of the `Uploads` service, and the service that runs them. */
import { rm } from "node:fs/promises"
import { basename, join, resolve } from "node:path"
import type { Instance, ReadError } from "@detent/durable"
import type { EntityState, EntityWorkflow, TriggerEvent, UpdateEvent } from "@detent/entity"
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { type BatchStatus, isResting, statusOf } from "./BatchStatus.ts"
import { AlreadyUploaded, BatchExists, BatchNotFound, BatchNotRetryable, ItemNotFailed } from "./batch/BatchProblem.ts"
import { newBatch, type UploadBatch } from "./batch/UploadBatch.ts"
import { inspect, md5Of } from "./file/FileInspection.ts"
import type { FileProblem } from "./file/FileProblem.ts"
import { receive } from "./Receive.ts"
import type { Uploading } from "./stages/Uploading.ts"
import { claimBatch, findBatch, findByHash } from "./store/Batches.ts"
import { replaceContent } from "./store/Entries.ts"
import { findItem, type ItemPage, type ItemQuery, type StoredItem, searchItems } from "./store/Items.ts"
import type { BatchRow } from "./store/Rows.ts"
import { type BatchPage, batchPage, type EntryPage, type EntryQuery, entryPage } from "./UploadLists.ts"

type BatchWorkflow = EntityWorkflow.EntityWorkflow<UploadBatch, string, string, never>
type BatchState = EntityState<string, UploadBatch>
type BatchInstance = Instance<BatchState, TriggerEvent<string, UploadBatch> | UpdateEvent<UploadBatch>>

export interface StartOptions {
  /** Default: a new id. */
  readonly batchId?: string
  /** Name of the file. Default: the last part of its path. */
  readonly fileName?: string
  /** The declared content type, such as a request's header. Default: found by reading the file. */
  readonly contentType?: string
  /** Accepts a file whose content was uploaded before. */
  readonly force?: boolean
}

export type StartError = FileProblem | AlreadyUploaded | BatchExists | InvalidState | ReadError | SendError

export interface UploadsService {
  /** Uploads a file of this machine. Returns when the batch is stored; the batch then runs by itself. */
  start(file: string, options?: StartOptions): Effect.Effect<BatchStatus, StartError>
  /** Stores the bytes as a file and uploads it. */
  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: StartOptions & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R>
  status(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError>
  /** The status now and whenever it changes, until the batch rests. */
  watch(batchId: string, interval?: Duration.Input): Stream.Stream<BatchStatus, BatchNotFound | ReadError>
  /** Waits until the batch rests: it is completed, partially completed or failed, or held. */
  finished(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Batches, the newest first. */
  batches(options?: { readonly limit?: number; readonly after?: number }): Effect.Effect<BatchPage, PersistenceFailed>
  /** The items of a batch with their results, in the order of the file. */
  items(batchId: string, query?: EntryQuery): Effect.Effect<EntryPage, BatchNotFound | PersistenceFailed>
  /** Replaces the content of a failed item. The next retry uses it. */
  correct(batchId: string, index: number, item: object): Effect.Effect<void, BatchNotFound | ItemNotFailed | PersistenceFailed>
  /** Retries the failed items of a partially completed batch, and only these. */
  retryFailed(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Retries a failed batch from the stage that failed. Refused after three failures or 24 hours. */
  retryBatch(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | BatchNotRetryable | ReadError | SendError>
  /** Stops the batch's work and marks it as failed. Stored items stay. */
  markFailed(batchId: string, reason?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** `markFailed` with the reason that the user cancelled it. */
  cancel(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** A stored item. */
  item(hnId: number): Effect.Effect<Option.Option<StoredItem>, PersistenceFailed>
  /** Stored items by type, author, time and words. */
  search(query: ItemQuery): Effect.Effect<ItemPage, PersistenceFailed>
}

interface KnownFile extends StartOptions {
  readonly batchId: string
  readonly path: string
  readonly fileName: string
  readonly md5: string
}

export class UploadService implements UploadsService {
  readonly #uploading: Uploading
  readonly #workflow: BatchWorkflow
  readonly #folder: string

  constructor(uploading: Uploading, workflow: BatchWorkflow, folder: string) {
    this.#uploading = uploading
    this.#workflow = workflow
    this.#folder = folder
  }

  // Beginning

  start(file: string, options: StartOptions = {}): Effect.Effect<BatchStatus, StartError> {
    return Effect.gen({ self: this }, function* () {
      const path = resolve(file)
      const fileName = options.fileName ?? basename(path)
      const { limits } = this.#uploading
      yield* inspect(path, fileName, limits, options.contentType)
      const md5 = yield* md5Of(path, fileName, limits)
      const batchId = options.batchId ?? (yield* freshId)
      return yield* this.#begin(yield* this.#claim({ ...options, batchId, path, fileName, md5 }))
    })
  }

  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: StartOptions & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R> {
    return Effect.gen({ self: this }, function* () {
      const batchId = options.batchId ?? (yield* freshId)
      const { limits } = this.#uploading
      if (yield* this.#isBegun(batchId)) return yield* Effect.fail(new BatchExists({ batchId }))
      // The name is unique: another request may send a batch of the same id at the same time.
      const target = resolve(join(this.#folder, `${fileNameOf(batchId)}-${yield* freshNumber}`))
      const { path, md5 } = yield* receive(bytes, target, options.fileName, limits.maxFileBytes)
      const remove = Effect.promise(() => rm(path, { force: true }))
      // A file that became no batch is removed. After the claim an error does not prove that the batch has not begun, so the file stays.
      const batch = yield* Effect.onError(this.#claim({ ...options, batchId, path, md5 }), () => remove)
      const status = yield* this.#begin(batch)
      if (status.batch.filePath !== path) yield* remove
      return status
    })
  }

  #begin(batch: UploadBatch): Effect.Effect<BatchStatus, StartError> {
    const { engine } = this.#uploading
    return Effect.andThen(
      engine.ensure(this.#workflow.machine, batch.batchId, batch),
      Effect.catchTag(this.status(batch.batchId), "BatchNotFound", (error) => Effect.die(error)),
    )
  }

  /** Enters the batch in the table and returns its first state. */
  #claim(file: KnownFile): Effect.Effect<UploadBatch, StartError> {
    const { fileName, path, md5 } = file
    return Effect.gen({ self: this }, function* () {
      const { fileSize, modifiedAt, contentType, packed } = yield* inspect(path, fileName, this.#uploading.limits, file.contentType)
      const batchId = yield* this.#claimId(file)
      return {
        ...newBatch({ batchId, fileName, filePath: path }),
        fileSize,
        fileModifiedAt: modifiedAt,
        fileMd5Hash: md5,
        contentType,
        contentEncoding: packed ? "gzip" : "identity",
      }
    })
  }

  /** The id of a new batch, or of one that a process entered and died before it began. */
  #claimId({ batchId, fileName, md5, force = false }: KnownFile): Effect.Effect<string, StartError> {
    return Effect.gen({ self: this }, function* () {
      const { store, engine } = this.#uploading
      const claim = { batchId, fileName, md5, at: Math.floor(yield* Clock.currentTimeMillis) }
      if (yield* claimBatch(store, { ...claim, original: true })) return batchId
      const named = yield* findBatch(store, batchId)
      if (named !== undefined) {
        const isFree = named.md5 === md5 && !(yield* this.#isBegun(batchId))
        return isFree ? batchId : yield* Effect.fail(new BatchExists({ batchId }))
      }
      const earlier = yield* findByHash(store, md5)
      if (earlier === undefined || force) {
        const isFree = yield* claimBatch(store, { ...claim, original: false })
        return isFree ? batchId : yield* Effect.fail(new BatchExists({ batchId }))
      }
      const instance = yield* engine.get(this.#workflow.machine, earlier.batch_id)
      if (Option.isNone(instance)) return earlier.batch_id
      const { _tag: state } = yield* instance.value.state
      return yield* Effect.fail(new AlreadyUploaded({ file: fileName, md5, batchId: earlier.batch_id, state }))
    })
  }

  #isBegun(batchId: string): Effect.Effect<boolean, PersistenceFailed> {
    return Effect.map(this.#uploading.engine.get(this.#workflow.machine, batchId), Option.isSome)
  }

  // Looking

  status(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { row, instance } = yield* this.#find(batchId)
      return statusOf(yield* instance.state, row, yield* Clock.currentTimeMillis)
    })
  }

  watch(batchId: string, interval: Duration.Input = "500 millis"): Stream.Stream<BatchStatus, BatchNotFound | ReadError> {
    return Stream.unwrap(
      Effect.map(this.#find(batchId), ({ instance }) =>
        Stream.merge(
          Stream.map(instance.changes, () => undefined),
          Stream.tick(interval),
        ).pipe(
          Stream.mapEffect(() => this.status(batchId)),
          Stream.changesWith((left, right) => JSON.stringify(visible(left)) === JSON.stringify(visible(right))),
          Stream.takeUntil((status) => status.isResting),
        ),
      ),
    )
  }

  finished(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError> {
    return Effect.gen({ self: this }, function* () {
      const { instance } = yield* this.#find(batchId)
      yield* instance.waitFor(isResting)
      return yield* this.status(batchId)
    })
  }

  batches(options: { readonly limit?: number; readonly after?: number } = {}) {
    return batchPage(this.#uploading.store, options)
  }

  items(batchId: string, query = {}) {
    return Effect.flatMap(this.#row(batchId), (row) => entryPage(this.#uploading.store, row, query))
  }

  item(hnId: number) {
    return findItem(this.#uploading.store, hnId)
  }

  search(query: Parameters<UploadsService["search"]>[0]) {
    return searchItems(this.#uploading.store, query)
  }

  // Asking for something

  correct(batchId: string, index: number, item: object): Effect.Effect<void, BatchNotFound | ItemNotFailed | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const { batch } = yield* this.#row(batchId)
      const content = JSON.stringify(item).replaceAll("\u0000", "\ufffd")
      const replaced = yield* replaceContent(this.#uploading.store, batch, index, content)
      if (!replaced) return yield* Effect.fail(new ItemNotFailed({ batchId, index }))
    })
  }

  retryFailed(batchId: string) {
    return this.#ask(batchId, "retry_failed_items")
  }

  retryBatch(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | BatchNotRetryable | ReadError | SendError> {
    return Effect.catchTag(this.#ask(batchId, "retry_batch"), "TransitionRefused", (refused) =>
      Effect.flatMap(this.status(batchId), ({ batch: { retryCount, lastRetryAt = 0 }, state }) =>
        Effect.fail(state === "failed" ? new BatchNotRetryable({ batchId, retryCount, lastRetryAt }) : refused),
      ),
    )
  }

  markFailed(batchId: string, reason = "it was marked as failed") {
    return Effect.gen({ self: this }, function* () {
      const { instance } = yield* this.#find(batchId)
      yield* instance.send(this.#workflow.trigger("mark_failed", { argument: { reason } }))
      yield* instance.waitFor((state) => state._tag === "failed" && isResting(state))
      return yield* this.status(batchId)
    }).pipe(notFound(batchId))
  }

  cancel(batchId: string) {
    return this.markFailed(batchId, "it was cancelled")
  }

  #ask(batchId: string, transition: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError> {
    return Effect.gen({ self: this }, function* () {
      const { instance } = yield* this.#find(batchId)
      yield* instance.send(this.#workflow.trigger(transition))
      return yield* this.status(batchId)
    }).pipe(notFound(batchId))
  }

  #row(batchId: string): Effect.Effect<BatchRow, BatchNotFound | PersistenceFailed> {
    return Effect.flatMap(
      findBatch(this.#uploading.store, batchId),
      (row): Effect.Effect<BatchRow, BatchNotFound> =>
        row === undefined ? Effect.fail(new BatchNotFound({ batchId })) : Effect.succeed(row),
    )
  }

  #find(batchId: string): Effect.Effect<{ readonly row: BatchRow; readonly instance: BatchInstance }, BatchNotFound | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const row = yield* this.#row(batchId)
      const found = yield* this.#uploading.engine.get(this.#workflow.machine, batchId)
      if (Option.isNone(found)) return yield* Effect.fail(new BatchNotFound({ batchId }))
      return { row, instance: found.value }
    })
  }
}

const notFound =
  (batchId: string) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, Exclude<E, { readonly _tag: "InstanceNotFound" }> | BatchNotFound> =>
    Effect.mapError(effect, (error) =>
      (error as { readonly _tag?: string })._tag === "InstanceNotFound" ? new BatchNotFound({ batchId }) : (error as never),
    )

/** What people watch; the time until completion is a guess that changes with every look. */
const visible = ({ state, step, items, problem }: BatchStatus) => [state, step, items, problem]

const freshNumber = Effect.map(Effect.all([Random.nextIntBetween(0, 2 ** 32), Random.nextIntBetween(0, 2 ** 32)]), (parts) =>
  parts.map((part) => part.toString(16).padStart(8, "0")).join(""),
)

const freshId = Effect.map(freshNumber, (number) => `batch-${number}`)

/** What of an id can be part of a file name: no way out of the folder, and not longer than a name may be. */
const fileNameOf = (batchId: string): string => encodeURIComponent(batchId.toWellFormed()).replaceAll(".", "%2E").slice(0, 100)
