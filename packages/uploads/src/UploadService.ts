/** The operations of the `Uploads` service, and the service that runs them. */

import { basename, join, resolve } from "node:path"
import type { Instance, ReadError } from "@detent/durable"
import type { EntityState, EntityWorkflow, TriggerEvent, UpdateEvent } from "@detent/entity"
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import { releasing } from "@detent/machine/internal"
import {
  checkMapping,
  type FileTooLarge,
  FileUnreadable,
  inspectTable,
  localFile,
  type Mapping,
  MappingRefused,
  type TableFile,
  type TableOptions,
  type TableProblem,
  type TargetField,
} from "@detent/tables"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { type BatchStatus, isResting, statusOf } from "./BatchStatus.ts"
import {
  AlreadyUploaded,
  BatchExists,
  BatchNotFound,
  BatchNotRetryable,
  FieldNotIndexed,
  ItemNotFailed,
  ItemNotFound,
  ItemStillInvalid,
  NothingToCorrect,
  type QueryRefused,
  type UploadUnknown,
} from "./batch/BatchProblem.ts"
import type { Existing } from "./batch/Existing.ts"
import { newBatch, type UploadBatch } from "./batch/UploadBatch.ts"
import { correctItems } from "./corrections/CorrectItems.ts"
import { type CorrectionReport, correctFromFile } from "./corrections/CorrectionFile.ts"
import { type FailureFile, type FailureOptions, type FailuresTooWide, failureFile } from "./corrections/FailureFile.ts"
import { CollectionLimit } from "./file/Collected.ts"
import { checkContentType, type HashedFile, inspect, md5Of, tableFile } from "./file/FileInspection.ts"
import { FileDamaged, type FileProblem } from "./file/FileProblem.ts"
import { onceFolder } from "./file/OnceFiles.ts"
import { isAddress, localFiles } from "./file/UploadFiles.ts"
import { tableLimits } from "./file/UploadLimits.ts"
import { type ItemStep, stepsOf } from "./ItemHistory.ts"
import { itemInstanceId } from "./item/ItemEntity.ts"
import type { ItemColumn } from "./kind/ItemColumns.ts"
import type { JsonObject } from "./kind/ItemKind.ts"
import type { AnyUpload, UploadDefinition } from "./kind/UploadDefinition.ts"
import { chooseMapping } from "./mapping/ChooseMapping.ts"
import type { Preview } from "./mapping/Preview.ts"
import { type PreviewOptions, previewFile } from "./mapping/PreviewFile.ts"
import { localTarget, receive, sharedTarget } from "./Receive.ts"
import { checkReadable } from "./stages/BatchFile.ts"
import { planUpload, type UploadPlan } from "./stages/PlanUpload.ts"
import { type Kind, kindNamed, kindOfBatch, kindOfFile, type Uploading } from "./stages/Uploading.ts"
import { claimBatch, findBatch, findByHash } from "./store/Batches.ts"
import { contentOf, findEntry } from "./store/Entries.ts"
import type { ItemPage, ItemQuery, StoredItem } from "./store/ItemTable.ts"
import { viewName } from "./store/ItemViews.ts"
import { deleteMapping, findMapping, type KeptMapping, writeMapping } from "./store/Mappings.ts"
import type { BatchRow } from "./store/Rows.ts"
import { type BatchPage, batchPage, type Entry, type EntryPage, type EntryQuery, entryOf, entryPage } from "./UploadLists.ts"

type BatchWorkflow = EntityWorkflow.EntityWorkflow<UploadBatch, string, string, never>
type BatchState = EntityState<string, UploadBatch>
type BatchInstance = Instance<BatchState, TriggerEvent<string, UploadBatch> | UpdateEvent<UploadBatch>>

export interface StartOptions {
  /** Default: a new id. */
  readonly batchId?: string
  /** Name of the file. Default: the last part of its path. */
  readonly fileName?: string
  /** The declared content type, such as a request's header. Default: detected from the content of the file. */
  readonly contentType?: string
  /** The format of the file: its encoding, delimiter, quote, header or sheet. What is not given is found in the file. */
  readonly given?: TableOptions
  /**
   * Which columns the fields are read from, and how; `none` reads each column as the field of its name. Default: the mapping that is
   * kept for the kind, or that of its definition, where the file has one of its columns.
   */
  readonly mapping?: Mapping | "none"
  /** What becomes of items whose id is stored already: `update` replaces those that differ, `skip` keeps them. Default: `update`. */
  readonly existing?: Existing
  /** Accepts a file whose content was uploaded before. */
  readonly force?: boolean
  /** The kind of its items: an upload definition, or its name. Default: the first kind of the service. */
  readonly kind?: string | AnyUpload
  /** The MD5 that the file must have, in hex: a file that was damaged in transit is refused. */
  readonly md5?: string
}

/** What a preview of a file is made by. */
export interface FilePreviewOptions extends Pick<StartOptions, "fileName" | "contentType" | "given" | "kind">, PreviewOptions {}

export type PreviewError = FileProblem | UploadUnknown | PersistenceFailed

export type StartError = FileProblem | MappingRefused | UploadUnknown | AlreadyUploaded | BatchExists | InvalidState | ReadError | SendError
/** How a dry run reads a file. */
export type PlanOptions = Pick<StartOptions, "fileName" | "given" | "existing" | "kind" | "mapping">

export type PlanError = FileProblem | MappingRefused | UploadUnknown | PersistenceFailed

export type CorrectError = BatchNotFound | BatchNotRetryable | ItemNotFailed | ItemStillInvalid | UploadUnknown | ReadError

export interface CorrectionOptions {
  /** Name of the file. Default: the last part of its path. */
  readonly fileName?: string
  /** The format of the file. What is not given is found in the file. */
  readonly given?: TableOptions
}

export type CorrectFileError = BatchNotFound | BatchNotRetryable | NothingToCorrect | TableProblem | UploadUnknown | ReadError

export type RetryBatchError = BatchNotFound | BatchNotRetryable | FileUnreadable | ReadError | SendError

export type SearchError = BatchNotFound | QueryRefused | PersistenceFailed

/** An item of a file with the history of its states. */
export interface ItemHistory {
  readonly entry: Entry
  readonly steps: ReadonlyArray<ItemStep>
  /** The text of a failed item in its file or in a correction; undefined where it was not kept. */
  readonly source: string | undefined
}

/** A kind of uploads that the service knows. */
export interface KnownUpload {
  readonly name: string
  /** The fields that the `where` of a search can use. */
  readonly fields: ReadonlyArray<string>
  /** Whether this is the default kind of uploads. */
  readonly isDefault: boolean
  /** The name of the SQL view of its stored items. */
  readonly view: string
  /** The columns of the view that are fields of the items. */
  readonly columns: ReadonlyArray<Pick<ItemColumn, "name" | "type">>
  /** The fields that a mapping can fill; absent where it can be any. */
  readonly targets?: ReadonlyArray<TargetField>
}

/** Uploads of one kind, with the type of its items. */
export interface KindUploads<Item, Field extends string> {
  /** Uploads a local file, or a file of the shared storage by its address, as this kind. */
  start(file: string, options?: Omit<StartOptions, "kind">): Effect.Effect<BatchStatus, StartError>
  /** Stores the bytes as a file and uploads it as this kind. */
  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: Omit<StartOptions, "kind"> & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R>
  /** Replaces the content of a failed item. Content that would fail again is refused with the reason. */
  correct(batchId: string, index: number, item: Item): Effect.Effect<void, CorrectError>
  /** Finds a stored item. */
  item(id: string | number): Effect.Effect<Option.Option<StoredItem<Item>>, UploadUnknown | PersistenceFailed>
  /** Searches stored items by words, fields and time. */
  search(query: ItemQuery<Field>): Effect.Effect<ItemPage<Item>, UploadUnknown | FieldNotIndexed | SearchError>
}

export interface UploadsService {
  /** The kinds of uploads. */
  readonly kinds: ReadonlyArray<KnownUpload>
  /** Uploads of one kind, typed by its definition. */
  of<Item, Field extends string>(upload: UploadDefinition<Item, Field>): KindUploads<Item, Field>
  /** Uploads of the kind with this name, with items as JSON: for programs that work with any kind. */
  named(kind: string): Effect.Effect<KindUploads<JsonObject, string>, UploadUnknown>
  /** Uploads a local file, or a file of the shared storage by its address. Returns when the batch is stored; the engine then runs it. */
  start(file: string, options?: StartOptions): Effect.Effect<BatchStatus, StartError>
  /** Counts what an upload of the file would do with its items: insert, update, skip or refuse. Nothing is stored. */
  plan(file: string, options?: PlanOptions): Effect.Effect<UploadPlan, PlanError>
  /** The same for bytes from the network. */
  receivePlan<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: PlanOptions & { readonly fileName: string },
  ): Effect.Effect<UploadPlan, PlanError | E, R>
  /** Stores the bytes as a file and uploads it. */
  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: StartOptions & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R>
  /** What the first rows of a local file would become, by a mapping or the one that is found for it. Stores nothing. */
  preview(file: string, options?: FilePreviewOptions): Effect.Effect<Preview, PreviewError>
  /** The same for received bytes, which are not kept. */
  previewBytes<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: FilePreviewOptions & { readonly fileName: string },
  ): Effect.Effect<Preview, PreviewError | E, R>
  /** The mapping that is kept for files of a kind. */
  keptMapping(kind: string): Effect.Effect<Option.Option<KeptMapping>, UploadUnknown | PersistenceFailed>
  /** Keeps a mapping for later files of a kind, in place of the one that was kept. */
  keepMapping(kind: string, mapping: Mapping): Effect.Effect<KeptMapping, UploadUnknown | MappingRefused | PersistenceFailed>
  /** Forgets the kept mapping of a kind. Returns whether there was one. */
  forgetMapping(kind: string): Effect.Effect<boolean, UploadUnknown | PersistenceFailed>
  status(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError>
  /** The status now and whenever it changes, until no work is in progress. */
  watch(batchId: string, interval?: Duration.Input): Stream.Stream<BatchStatus, BatchNotFound | ReadError>
  /** Waits until no work is in progress: the batch is completed, partially completed or failed, or held. */
  finished(batchId: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Batches, newest first. */
  batches(options?: { readonly limit?: number; readonly after?: number }): Effect.Effect<BatchPage, PersistenceFailed>
  /** The items of a batch with their results, in the order of the file. */
  items(batchId: string, query?: EntryQuery): Effect.Effect<EntryPage, BatchNotFound | PersistenceFailed>
  /** An item of a batch with its history: ingested, validated, stored or failed, with the times of every attempt. */
  history(batchId: string, index: number): Effect.Effect<ItemHistory, BatchNotFound | ItemNotFound | ReadError>
  /**
   * Replaces the content of a failed item, as JSON, for the next retry. Refused with the reason where the content would fail again, and
   * where the batch can no longer be retried.
   */
  correct(batchId: string, index: number, item: object): Effect.Effect<void, CorrectError>
  /** The failed items as a file: CSV, or JSON lines; each with its number, line, id, reason and content. */
  failures(batchId: string, options?: FailureOptions): Effect.Effect<FailureFile, BatchNotFound | FailuresTooWide | ReadError>
  /**
   * Corrects failed items by a local file, as {@link failures} made it, for the next retry: CSV, XLSX, JSON or JSON lines. Of a table, rows
   * and columns may be left out; its cells replace those of the items. Each row is checked, and refused rows are reported with their line.
   */
  correctFrom(batchId: string, file: string, options?: CorrectionOptions): Effect.Effect<CorrectionReport, CorrectFileError>
  /** The same for bytes from the network. */
  receiveCorrections<E, R>(
    batchId: string,
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: CorrectionOptions & { readonly fileName: string },
  ): Effect.Effect<CorrectionReport, CorrectFileError | E, R>
  /**
   * Retries only the failed items of a partially completed batch. `eventId` is a dedupe id, here and in the requests below: the batch
   * takes an event with the same id once.
   */
  retryFailed(batchId: string, eventId?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /**
   * Retries a failed or cancelled batch from the stage that ended. Refused after three failures or 24 hours, and while its file is missing, if it has
   * items that were not taken from the file yet.
   */
  retryBatch(batchId: string, eventId?: string): Effect.Effect<BatchStatus, RetryBatchError>
  /** Stops the batch's work and marks it as failed. Stored items stay. */
  markFailed(batchId: string, reason?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
  /** Like `markFailed`, and records that a user cancelled the batch, with the reason. */
  cancel(batchId: string, reason?: string, eventId?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError>
}

interface KnownFile extends Omit<StartOptions, "kind"> {
  readonly kind: Kind
  readonly batchId: string
  readonly path: string
  readonly fileName: string
  readonly hashed: HashedFile
}

export interface UploadServiceOptions {
  readonly workflow: BatchWorkflow
  /** The kind of files for which the caller names none. */
  readonly defaultKind: string
}

export class UploadService implements UploadsService {
  readonly #uploading: Uploading
  readonly #workflow: BatchWorkflow
  readonly #defaultKind: string
  readonly kinds: ReadonlyArray<KnownUpload>

  constructor(uploading: Uploading, { workflow, defaultKind }: UploadServiceOptions) {
    this.#uploading = uploading
    this.#workflow = workflow
    this.#defaultKind = defaultKind
    this.kinds = [...uploading.kinds.values()].map(({ name, fields, columns, targets }) => ({
      name,
      fields,
      isDefault: name === defaultKind,
      view: uploading.store.dialect.viewName(viewName(name)),
      columns: columns.map(({ name: column, type }) => ({ name: column, type })),
      ...(targets === undefined ? {} : { targets }),
    }))
  }

  of<Item, Field extends string>(upload: UploadDefinition<Item, Field>): KindUploads<Item, Field> {
    const { encode, decode } = upload.kind
    const { store } = this.#uploading
    return this.#uploadsOf(
      upload.name,
      kindNamed(this.#uploading, upload.name),
      // The definition decodes the items of its table to this type. Decoding may fail: the schema may have changed since.
      (item) => store.decoding("searchKind", () => decode(item) as Item),
      (item) => encode(item as object),
    )
  }

  named(name: string): Effect.Effect<KindUploads<JsonObject, string>, UploadUnknown> {
    return Effect.map(kindNamed(this.#uploading, name), (kind) =>
      this.#uploadsOf(
        name,
        Effect.succeed(kind),
        (item) => Effect.succeed(item),
        (item) => item,
      ),
    )
  }

  #uploadsOf<Item, Field extends string>(
    name: string,
    kind: Effect.Effect<Kind, UploadUnknown>,
    shown: (item: JsonObject) => Effect.Effect<Item, PersistenceFailed>,
    given: (item: Item) => object,
  ): KindUploads<Item, Field> {
    const show = (stored: StoredItem<JsonObject>): Effect.Effect<StoredItem<Item>, PersistenceFailed> =>
      Effect.map(shown(stored.item), (item) => ({ ...stored, item }))
    return {
      start: (file, options) => this.start(file, { ...options, kind: name }),
      receive: (bytes, options) => this.receive(bytes, { ...options, kind: name }),
      correct: (batchId, index, item) => this.correct(batchId, index, given(item)),
      item: (id) =>
        Effect.gen(function* () {
          const found = yield* (yield* kind).table.find(String(id))
          return Option.isNone(found) ? Option.none() : Option.some(yield* show(found.value))
        }),
      search: (query) =>
        Effect.gen({ self: this }, function* () {
          const { table, fields } = yield* kind
          yield* checkFields(name, fields, query.where ?? {})
          yield* this.#checkBatch(query)
          const { items, next } = yield* table.search(query)
          return { items: yield* Effect.forEach(items, show), next }
        }),
    }
  }

  #kind(kind: StartOptions["kind"]): Effect.Effect<Kind, UploadUnknown> {
    return kindNamed(this.#uploading, typeof kind === "object" ? kind.name : (kind ?? this.#defaultKind))
  }

  // Starting

  start(file: string, options: StartOptions = {}): Effect.Effect<BatchStatus, StartError> {
    return Effect.gen({ self: this }, function* () {
      const { limits, readOnce, files, shared } = this.#uploading
      const isShared = shared !== undefined && isAddress(file)
      const path = isShared ? file : resolve(file)
      const fileName = options.fileName ?? basename(path)
      const kind = yield* this.#kind(options.kind)
      if (shared !== undefined && !isShared) return yield* this.#share(path, { ...options, fileName })
      const before = yield* inspect(files, path, fileName, limits, options.contentType, options.given)
      const { md5, chunks } = yield* md5Of(files, path, fileName, limits, readOnce.collecting)
      const batchId = options.batchId ?? (yield* freshId)
      const batch = yield* this.#claim({ ...options, kind, batchId, path, fileName, hashed: { md5, chunks } })
      const isSame = before.fileSize === batch.fileSize && before.modifiedAt === batch.fileModifiedAt
      return yield* this.#begin(batch, isSame ? { md5, chunks } : undefined)
    })
  }

  receive<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: StartOptions & { readonly fileName: string },
  ): Effect.Effect<BatchStatus, StartError | E, R> {
    return Effect.gen({ self: this }, function* () {
      const batchId = options.batchId ?? (yield* freshId)
      const { limits, readOnce, folder, files, shared } = this.#uploading
      const kind = yield* this.#kind(options.kind)
      // Checked before the bytes are read, so that a file of another type is refused immediately.
      yield* checkContentType(options.fileName, options.contentType)
      if (yield* this.#isBegun(batchId)) return yield* Effect.fail(new BatchExists({ batchId }))
      // A unique name, because a concurrent request may send a batch with the same id.
      const name = `${fileNameOf(batchId)}-${yield* freshNumber}`
      const target = shared === undefined ? localTarget(resolve(join(folder, name))) : sharedTarget(shared, shared.addressOf(name))
      const { path, ...hashed } = yield* receive(bytes, target, options.fileName, limits.maxFileBytes, readOnce.collecting)
      const remove = releasing(path, () => files.remove(path))
      // Removes the file if the claim fails. An error after the claim does not prove that the batch has not begun, so the file stays.
      const batch = yield* Effect.onError(this.#claim({ ...options, kind, batchId, path, hashed }), () => remove)
      const status = yield* this.#begin(batch, hashed)
      if (status.batch.filePath === path) return status
      // A concurrent request has begun the batch with its own copy of the file.
      yield* remove
      const { md5 } = hashed
      const { state } = status
      if (batch.batchId === options.batchId) return status
      return yield* Effect.fail(new AlreadyUploaded({ file: options.fileName, md5, batchId: batch.batchId, state }))
    })
  }

  plan(file: string, options: PlanOptions = {}): Effect.Effect<UploadPlan, PlanError> {
    const path = isAddress(file) ? file : resolve(file)
    return this.#plan(path, options.fileName ?? basename(path), options)
  }

  receivePlan<E, R>(bytes: Stream.Stream<Uint8Array, E, R>, options: PlanOptions & { readonly fileName: string }) {
    return this.#receiveOnce(bytes, "plan", options.fileName, (path) => this.#plan(path, options.fileName, options))
  }

  #plan(
    path: string,
    name: string,
    { given = {}, existing = "update", kind: named, mapping }: PlanOptions,
  ): Effect.Effect<UploadPlan, PlanError> {
    return Effect.gen({ self: this }, function* () {
      const { files, limits } = this.#uploading
      const kind = yield* this.#kind(named)
      const file = tableFile(files, path, name)
      const { format: table } = yield* inspectTable(file, given, tableLimits(limits))
      const mapped = yield* chooseMapping(this.#uploading, kind, { path, name, table }, mapping)
      return yield* planUpload(this.#uploading, kindOfFile(kind, table, mapped?.mapping), { file, table, existing })
    })
  }

  /** Stores bytes as a file that is used once, and removes it. */
  #receiveOnce<A, E, R, E2>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    purpose: string,
    fileName: string,
    use: (path: string) => Effect.Effect<A, E2>,
  ): Effect.Effect<A, E | E2 | FileUnreadable | FileTooLarge, R> {
    return Effect.gen({ self: this }, function* () {
      const { folder, limits } = this.#uploading
      const path = resolve(join(onceFolder(folder), `${purpose}-${yield* freshNumber}`))
      const receiving = receive(bytes, localTarget(path), fileName, limits.maxFileBytes, new CollectionLimit(0))
      return yield* Effect.ensuring(
        Effect.andThen(
          receiving,
          Effect.suspend(() => use(path)),
        ),
        releasing(path, () => localFiles.remove(path)),
      )
    })
  }

  /** Copies a local file to the storage that all machines share. */
  #share(path: string, options: StartOptions & { readonly fileName: string }): Effect.Effect<BatchStatus, StartError> {
    const { fileName } = options
    const unreadable = (cause: unknown) =>
      new FileUnreadable({ file: fileName, problem: isMissing(cause) ? "there is no such file" : String(cause), while: "reading" })
    const bytes = Stream.unwrap(
      Effect.map(
        Effect.acquireRelease(Effect.tryPromise({ try: () => localFiles.open(path), catch: unreadable }), (file) =>
          releasing(path, () => file.close()),
        ),
        (file) => Stream.fromAsyncIterable(file.read(0), unreadable),
      ),
    )
    return this.receive(bytes, options)
  }

  #begin(batch: UploadBatch, hashed: HashedFile | undefined): Effect.Effect<BatchStatus, StartError> {
    const { engine, readOnce } = this.#uploading
    const { fileSize, fileModifiedAt } = batch
    if (hashed?.chunks !== undefined && fileSize !== undefined && fileModifiedAt !== undefined)
      readOnce.keepBytes(batch.batchId, { md5: hashed.md5, chunks: hashed.chunks, fileSize, modifiedAt: fileModifiedAt })
    return Effect.andThen(
      engine.ensure(this.#workflow.machine, batch.batchId, batch),
      Effect.catchTag(this.status(batch.batchId), "BatchNotFound", (error) => Effect.die(error)),
    )
  }

  /** Enters the batch in the table and returns its first state. */
  #claim(file: KnownFile): Effect.Effect<UploadBatch, StartError> {
    const { kind, fileName, path, hashed, md5: expected } = file
    const { md5 } = hashed
    return Effect.gen({ self: this }, function* () {
      if (expected !== undefined && expected.toLowerCase() !== md5)
        return yield* Effect.fail(new FileDamaged({ file: fileName, md5, expected }))
      const { fileSize, modifiedAt, contentType, table } = yield* inspect(
        this.#uploading.files,
        path,
        fileName,
        this.#uploading.limits,
        file.contentType,
        file.given,
      )
      const mapped = yield* chooseMapping(this.#uploading, kind, { path, name: fileName, table }, file.mapping)
      const batchId = yield* this.#claimId(file)
      return {
        ...newBatch({ batchId, kind: kind.name, fileName, filePath: path }),
        fileSize,
        fileModifiedAt: modifiedAt,
        fileMd5Hash: md5,
        contentType,
        table,
        ...(file.given === undefined ? {} : { given: file.given }),
        ...(mapped === undefined ? {} : { mapping: mapped.mapping, mappingSource: mapped.source }),
        ...(file.existing === undefined ? {} : { existing: file.existing }),
      }
    })
  }

  /** The id of a new batch, or of a batch whose process died between the claim and the start. */
  #claimId({ kind: { name: kind }, batchId, fileName, hashed: { md5 }, force = false }: KnownFile): Effect.Effect<string, StartError> {
    return Effect.gen({ self: this }, function* () {
      const { store, engine } = this.#uploading
      const claim = { batchId, kind, fileName, md5, at: Math.floor(yield* Clock.currentTimeMillis) }
      if (yield* claimBatch(store, { ...claim, original: true })) return batchId
      const named = yield* findBatch(store, batchId)
      if (named !== undefined) {
        const isFree = named.md5 === md5 && named.kind === kind && !(yield* this.#isBegun(batchId))
        return isFree ? batchId : yield* Effect.fail(new BatchExists({ batchId }))
      }
      const earlier = yield* findByHash(store, kind, md5)
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

  // Mapping

  preview(file: string, options: FilePreviewOptions = {}): Effect.Effect<Preview, PreviewError> {
    const path = isAddress(file) ? file : resolve(file)
    return this.#preview(path, { ...options, fileName: options.fileName ?? basename(path) })
  }

  previewBytes<E, R>(
    bytes: Stream.Stream<Uint8Array, E, R>,
    options: FilePreviewOptions & { readonly fileName: string },
  ): Effect.Effect<Preview, PreviewError | E, R> {
    const { fileName } = options
    return Effect.gen({ self: this }, function* () {
      yield* this.#kind(options.kind)
      yield* checkContentType(fileName, options.contentType)
      return yield* this.#receiveOnce(bytes, "preview", fileName, (path) => this.#preview(path, options))
    })
  }

  #preview(path: string, options: FilePreviewOptions & { readonly fileName: string }): Effect.Effect<Preview, PreviewError> {
    return Effect.gen({ self: this }, function* () {
      const { files, limits } = this.#uploading
      const kind = yield* this.#kind(options.kind)
      const { fileName: name, contentType, given } = options
      const { table } = yield* inspect(files, path, name, limits, contentType, given)
      return yield* previewFile(this.#uploading, kind, { path, name, table }, options)
    })
  }

  keptMapping(name: string): Effect.Effect<Option.Option<KeptMapping>, UploadUnknown | PersistenceFailed> {
    return Effect.flatMap(this.#kind(name), (kind) => Effect.map(findMapping(this.#uploading.store, kind.name), Option.fromNullishOr))
  }

  keepMapping(name: string, mapping: Mapping): Effect.Effect<KeptMapping, UploadUnknown | MappingRefused | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const kind = yield* this.#kind(name)
      const problems = checkMapping(mapping, { fields: kind.targets })
      if (problems.length > 0) return yield* Effect.fail(new MappingRefused({ target: name, problems }))
      const kept = { mapping, keptAt: Math.floor(yield* Clock.currentTimeMillis) }
      yield* writeMapping(this.#uploading.store, name, kept)
      return kept
    })
  }

  forgetMapping(name: string): Effect.Effect<boolean, UploadUnknown | PersistenceFailed> {
    return Effect.flatMap(this.#kind(name), (kind) => deleteMapping(this.#uploading.store, kind.name))
  }

  // Reading

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

  history(batchId: string, index: number): Effect.Effect<ItemHistory, BatchNotFound | ItemNotFound | ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { engine, store, items } = this.#uploading
      const row = yield* this.#row(batchId)
      const entry = yield* findEntry(store, row.batch, index)
      if (entry === undefined) return yield* Effect.fail(new ItemNotFound({ batchId, index }))
      const found = yield* engine.get(items.machine, itemInstanceId(batchId, index))
      if (Option.isNone(found)) return yield* Effect.fail(new ItemNotFound({ batchId, index }))
      const first = yield* Effect.catchTag(found.value.stateAt(0), "SequenceNotReached", (error) => Effect.die(error))
      const steps = stepsOf(first, yield* found.value.historyPage({ limit: historyLimit }))
      return { entry: entryOf(entry, batchId), steps, source: yield* contentOf(store, row.batch, index) }
    })
  }

  /** Refuses a search in a batch that does not exist. */
  #checkBatch({ batchId }: { readonly batchId?: string }): Effect.Effect<void, BatchNotFound | PersistenceFailed> {
    return batchId === undefined ? Effect.void : Effect.asVoid(this.#row(batchId))
  }

  // Requests

  correct(batchId: string, index: number, item: object): Effect.Effect<void, CorrectError> {
    return Effect.gen({ self: this }, function* () {
      const row = yield* this.#row(batchId)
      const entry = yield* findEntry(this.#uploading.store, row.batch, index)
      if (entry?.state !== "failed") return yield* Effect.fail(new ItemNotFailed({ batchId, index }))
      const status = yield* this.status(batchId)
      yield* checkUsable(status, index)
      const kind = yield* kindOfBatch(this.#uploading, status.batch)
      const [result] = yield* correctItems(this.#uploading, kind, row.batch, [{ index, item }])
      if (result?._tag !== "Refused") return
      const { problem } = result
      if (problem === undefined) return yield* Effect.fail(new ItemNotFailed({ batchId, index }))
      return yield* Effect.fail(new ItemStillInvalid({ batchId, index, reason: problem.reason, problem: problem.message }))
    })
  }

  failures(batchId: string, options: FailureOptions = {}) {
    return Effect.gen({ self: this }, function* () {
      const { store, limits } = this.#uploading
      const row = yield* this.#row(batchId)
      const { batch } = yield* this.status(batchId)
      return yield* failureFile(store, row.batch, batch, options, limits.maxColumns)
    })
  }

  correctFrom(batchId: string, file: string, options: CorrectionOptions = {}): Effect.Effect<CorrectionReport, CorrectFileError> {
    const path = resolve(file)
    return this.#correctFrom(batchId, localFile(path, options.fileName ?? basename(path)), options.given)
  }

  receiveCorrections<E, R>(
    batchId: string,
    bytes: Stream.Stream<Uint8Array, E, R>,
    { fileName, given }: CorrectionOptions & { readonly fileName: string },
  ): Effect.Effect<CorrectionReport, CorrectFileError | E, R> {
    return Effect.gen({ self: this }, function* () {
      // Refused before the bytes are read.
      yield* this.#correctable(batchId, fileName)
      return yield* this.#receiveOnce(bytes, "corrections", fileName, (path) =>
        this.#correctFrom(batchId, localFile(path, fileName), given),
      )
    })
  }

  #correctFrom(batchId: string, file: TableFile, given: TableOptions = {}): Effect.Effect<CorrectionReport, CorrectFileError> {
    return Effect.gen({ self: this }, function* () {
      const { row, status } = yield* this.#correctable(batchId, file.name)
      const kind = yield* kindOfBatch(this.#uploading, status.batch)
      return yield* correctFromFile(this.#uploading, kind, row.batch, status.batch, file, given)
    })
  }

  /** A batch whose failed items can be corrected by a file. */
  #correctable(batchId: string, file: string) {
    return Effect.gen({ self: this }, function* () {
      const row = yield* this.#row(batchId)
      const status = yield* this.status(batchId)
      const { state, items } = status
      yield* checkUsable(status, file)
      if (items.failed === 0) return yield* Effect.fail(new NothingToCorrect({ batchId, stored: items.stored, state }))
      return { row, status }
    })
  }

  retryFailed(batchId: string, eventId?: string) {
    return this.#request(batchId, "retry_failed_items", eventId)
  }

  retryBatch(batchId: string, eventId?: string): Effect.Effect<BatchStatus, RetryBatchError> {
    const requested = Effect.andThen(this.#checkFile(batchId), this.#request(batchId, "retry_batch", eventId))
    return Effect.catchTag(requested, "TransitionRefused", (refused) =>
      Effect.flatMap(this.status(batchId), ({ batch: { retryCount, lastRetryAt = 0 }, state }) =>
        Effect.fail(state === "failed" ? new BatchNotRetryable({ batchId, retryCount, lastRetryAt }) : refused),
      ),
    )
  }

  /** Refuses a retry whose file is missing before it begins: a try that fails counts as one of three. */
  #checkFile(batchId: string): Effect.Effect<void, BatchNotFound | FileUnreadable | ReadError> {
    return Effect.gen({ self: this }, function* () {
      const { row, instance } = yield* this.#find(batchId)
      const { state, canRetry, batch } = statusOf(yield* instance.state, row, yield* Clock.currentTimeMillis)
      if (state === "failed" && canRetry) yield* checkReadable(this.#uploading, batch, row)
    })
  }

  markFailed(batchId: string, reason = "it was marked as failed") {
    return this.#markFailed(batchId, { reason })
  }

  cancel(batchId: string, reason?: string, eventId?: string) {
    const message = reason === undefined || reason === "" ? "it was cancelled" : `it was cancelled: ${reason}`
    return this.#markFailed(batchId, { reason: message, cancelled: true }, eventId)
  }

  #markFailed(batchId: string, argument: { readonly reason: string; readonly cancelled?: true }, eventId?: string) {
    return Effect.gen({ self: this }, function* () {
      const { instance } = yield* this.#find(batchId)
      yield* instance.send(this.#workflow.trigger("mark_failed", { argument }), sentUnder(eventId))
      yield* instance.waitFor((state) => state._tag === "failed" && isResting(state))
      return yield* this.status(batchId)
    }).pipe(notFound(batchId))
  }

  #request(batchId: string, transition: string, eventId?: string): Effect.Effect<BatchStatus, BatchNotFound | ReadError | SendError> {
    return Effect.gen({ self: this }, function* () {
      const { instance } = yield* this.#find(batchId)
      yield* instance.send(this.#workflow.trigger(transition), sentUnder(eventId))
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

/** Refuses a correction, of an item or of a file, that no retry could use. */
const checkUsable = (
  { batchId, state, isResting, canRetry, batch: { retryCount, lastRetryAt = 0 } }: BatchStatus,
  correction: number | string,
): Effect.Effect<void, BatchNotRetryable> =>
  state === "failed" && isResting && !canRetry
    ? Effect.fail(new BatchNotRetryable({ batchId, retryCount, lastRetryAt, correction }))
    : Effect.void

const sentUnder = (eventId: string | undefined) => (eventId === undefined ? {} : { id: eventId })

const notFound =
  (batchId: string) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, Exclude<E, { readonly _tag: "InstanceNotFound" }> | BatchNotFound> =>
    Effect.mapError(effect, (error) =>
      (error as { readonly _tag?: string })._tag === "InstanceNotFound" ? new BatchNotFound({ batchId }) : (error as never),
    )

const checkFields = (upload: string, known: ReadonlyArray<string>, where: object): Effect.Effect<void, FieldNotIndexed> => {
  const field = Object.keys(where).find((one) => !known.includes(one))
  return field === undefined ? Effect.void : Effect.fail(new FieldNotIndexed({ upload, field, known }))
}

/** More attempts than an item ever has. */
const historyLimit = 1000

/** The part of the status whose changes are watched. Excludes the estimated end, which changes with every read. */
const visible = ({ state, step, items, problem }: BatchStatus) => [state, step, items, problem]

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

const freshNumber = Effect.map(Effect.all([Random.nextIntBetween(0, 2 ** 32), Random.nextIntBetween(0, 2 ** 32)]), (parts) =>
  parts.map((part) => part.toString(16).padStart(8, "0")).join(""),
)

const freshId = Effect.map(freshNumber, (number) => `batch-${number}`)

/** An id as part of a file name: it cannot leave the folder, and is not too long for a name. */
const fileNameOf = (batchId: string): string => encodeURIComponent(batchId.toWellFormed()).replaceAll(".", "%2E").slice(0, 100)
