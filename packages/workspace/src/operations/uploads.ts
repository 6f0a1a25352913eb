/** Operations on uploads: send a file, show, correct, retry, cancel, and search stored items. */
import { createHash } from "node:crypto"
import { formatText } from "@detent/tables/TableFormat"
import {
  BatchExists,
  type BatchStatus,
  type CorrectionReport,
  type Entry,
  type EntryQuery,
  type ErrorGroup,
  type Existing,
  type FailureOptions,
  type FailureReport,
  type FilePreviewOptions,
  type ItemQuery,
  type Mapping,
  type StartOptions,
  type TableOptions,
  type UploadPlan,
  Uploads,
} from "@detent/uploads"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { RequestKeyTaken, StoredItemNotFound, UploadComplete } from "../errors.ts"
import { optional, paged } from "../optional.ts"
import { CurrentAttempt } from "../RequestKeys.ts"

/** The status of an upload, with the field names of the API and of the command line. */
export const statusOf = ({
  batchId,
  kind,
  state,
  step,
  isResting,
  items: counts,
  itemsPerSecond,
  estimatedCompletionAt,
  canRetry,
  problem,
  batch,
}: BatchStatus) => ({
  batchId,
  kind,
  state,
  ...optional({ step }),
  isResting,
  fileName: batch.fileName,
  ...optional({ fileSize: batch.fileSize, table: batch.table, format: batch.table === undefined ? undefined : formatText(batch.table) }),
  ...optional({ mapping: batch.mapping, mappingSource: batch.mappingSource }),
  items: counts,
  // Items stored before a retry are not its work, so they do not count towards its rate.
  ...optional({ itemsPerSecond: isResting && batch.processingStartedAt !== batch.uploadedAt ? undefined : itemsPerSecond }),
  ...optional({ estimatedCompletionAt }),
  canRetry,
  canRetryItems: canRetry && counts.failed > 0 && state !== "failed",
  ...optional({ problem: batch.failure?.message ?? problem?.message }),
  ...(batch.failure === undefined ? {} : { failure: failureOf(batch.failure) }),
  ...optional({ notificationError: batch.notificationError }),
  errors: groupsOf(batch.errorSummary?.groups ?? []),
})

const groupsOf = (groups: ReadonlyArray<ErrorGroup>) =>
  groups.map(({ reason, count, examples: [first] }) => ({
    reason,
    count,
    ...optional({ example: first === undefined ? undefined : `item ${first.index}, line ${first.line}: ${first.message}` }),
  }))

export type UploadStatus = ReturnType<typeof statusOf>

/** Why an upload failed, or that a user cancelled it. */
const failureOf = ({ message, cause, cancelled, transition, processor, attempts, at }: FailureReport) => ({
  message,
  at,
  cancelled: cancelled === true,
  ...optional({ cause, transition, processor, attempts }),
})

const itemOf = ({ index, line, state, id, problem, correctedAt, attempts, instanceId }: Entry) => ({
  index,
  line,
  state,
  ...optional({ id, problem, correctedAt }),
  attempts,
  instanceId,
})

export const status = (id: string) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.status(id)),
    statusOf,
  )

/** Derives the upload id from the key: every process gets the same id. */
const uploadOfKey = (key: string): string => `batch-${createHash("sha256").update(key).digest("hex").slice(0, 16)}`

/** The status now and at every change, until no work is in progress. Includes work of other processes. */
export const watch = (id: string, interval?: Duration.Input) =>
  Stream.map(Stream.unwrap(Effect.map(Uploads, (uploads) => uploads.watch(id, interval))), statusOf)

export interface ReceivedFile<E, R> {
  readonly fileName: string
  /** As the sender declared it. */
  readonly contentType?: string | undefined
  readonly content: Stream.Stream<Uint8Array, E, R>
}

export interface ReceiveOptions {
  /** Sending the same file again with its key returns the existing upload; another file with the key is refused. */
  readonly key?: string | undefined
  /** Uploads a file that was uploaded before once more. */
  readonly force: boolean
  /** The name of an upload definition. Default: the first of the configuration. */
  readonly kind?: string | undefined
  /** The MD5 that the file must have, in hex. */
  readonly md5?: string | undefined
  /** What the sender says of the format of the file. */
  readonly given?: TableOptions | undefined
  /** Which columns the fields are read from; `none` is without one. Default: that of the kind. */
  readonly mapping?: Mapping | "none" | undefined
  /** What becomes of items whose id is stored already. Default: `update`. */
  readonly existing?: Existing | undefined
}

/** Stores the bytes as a file and starts its upload. */
export const receive = <E, R>(
  { fileName, contentType, content }: ReceivedFile<E, R>,
  { key, force, kind, existing, md5, given, mapping }: ReceiveOptions,
) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    const options: StartOptions & { readonly fileName: string } = {
      fileName,
      force,
      ...optional({ contentType, kind, existing, md5, given, mapping }),
    }
    if (key === undefined) return statusOf(yield* uploads.receive(content, options))
    const batchId = uploadOfKey(key)
    const digest = createHash("md5")
    let bytes = 0
    const counted = Stream.tap(content, (chunk) =>
      Effect.sync(() => {
        digest.update(chunk)
        bytes += chunk.length
      }),
    )
    /** The upload of the key, if this is its file. */
    const sameFile = (earlier: BatchStatus): Effect.Effect<BatchStatus, RequestKeyTaken> =>
      digest.digest("hex") === earlier.batch.fileMd5Hash && (kind === undefined || kind === earlier.kind)
        ? Effect.succeed(earlier)
        : Effect.fail(new RequestKeyTaken({ key }))
    const known = Effect.catchTag(Effect.asSome(uploads.status(batchId)), "BatchNotFound", () => Effect.succeedNone)
    const earlier = yield* known
    if (Option.isSome(earlier)) {
      // A longer file is a different file: the rest need not be read.
      yield* Stream.runDrain(Stream.takeWhile(counted, () => bytes <= (earlier.value.batch.fileSize ?? 0)))
      return statusOf(yield* sameFile(earlier.value))
    }
    // A concurrent request with this key may have created the upload first.
    const received = yield* Effect.result(uploads.receive(counted, { ...options, batchId }))
    if (Result.isSuccess(received)) return statusOf(received.success)
    const other = received.failure instanceof BatchExists && bytes > 0 ? yield* known : Option.none<BatchStatus>()
    return Option.isSome(other) ? statusOf(yield* sameFile(other.value)) : yield* Effect.fail(received.failure)
  })

/** Starts the upload of a local file, which is read in place. */
export const start = (file: string, { force, kind, existing, md5, given, mapping }: Omit<ReceiveOptions, "key">) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.start(file, { force, ...optional({ kind, existing, md5, given, mapping }) })),
    statusOf,
  )

type Previewing = {
  readonly [K in Exclude<keyof FilePreviewOptions, "fileName" | "contentType">]?: FilePreviewOptions[K] | undefined
}

/** What the first rows of a received file would become. Nothing is stored, and the file is not kept. */
export const preview = <E, R>({ fileName, contentType, content }: ReceivedFile<E, R>, options: Previewing) =>
  Effect.flatMap(Uploads, (uploads) => uploads.previewBytes(content, { fileName, ...optional({ contentType, ...options }) }))

/** The same for a local file. */
export const previewHere = (file: string, options: Previewing) =>
  Effect.flatMap(Uploads, (uploads) => uploads.preview(file, optional(options)))

/** The mapping that is kept for files of a kind, if there is one. */
export const keptMapping = (kind: string) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.keptMapping(kind)),
    Option.match({ onNone: () => ({ kind }), onSome: (kept) => ({ kind, ...kept }) }),
  )

/** Keeps a mapping for later files of a kind. */
export const keepMapping = (kind: string, mapping: Mapping) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.keepMapping(kind, mapping)),
    (kept) => ({ kind, ...kept }),
  )

/** Forgets the mapping that is kept for a kind. */
export const forgetMapping = (kind: string) => Effect.asVoid(Effect.flatMap(Uploads, (uploads) => uploads.forgetMapping(kind)))

const planOf = ({ errors, table, ...counts }: UploadPlan) => ({ ...counts, errors: groupsOf(errors.groups), format: formatText(table) })

type PlanOptions = Pick<ReceiveOptions, "kind" | "existing" | "given" | "mapping">

/** Counts what an upload of a local file would do. Nothing is stored. */
export const plan = (file: string, options: PlanOptions) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.plan(file, optional(options))),
    planOf,
  )

/** Counts what an upload of a received file would do. Nothing is stored. */
export const receivePlan = <E, R>({ fileName, content }: ReceivedFile<E, R>, options: PlanOptions) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.receivePlan(content, { fileName, ...optional(options) })),
    planOf,
  )

/** A page of uploads, each with its state and number of items. An upload whose status cannot be read is listed without them. */
export const list = Effect.fn("uploads.list")(function* (query: { readonly limit: number; readonly after?: number | undefined }) {
  const uploads = yield* Uploads
  const page = yield* uploads.batches({ limit: query.limit, ...optional({ after: query.after }) })
  const listed = yield* Effect.forEach(
    page.batches,
    (batch) =>
      Effect.map(Effect.option(uploads.status(batch.batchId)), (read) => ({
        ...batch,
        ...Option.match(read, { onNone: () => ({}), onSome: ({ state, items: counts }) => ({ state, total: counts.total }) }),
      })),
    { concurrency: 8 },
  )
  return paged({ uploads: listed }, page.next)
})

/** A page of the items of an upload; with a reason, only items that failed for that reason. */
export const items = (id: string, query: EntryQuery) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.items(id, query)),
    (page) => paged({ items: page.items.map(itemOf) }, page.next),
  )

/** One item of an upload, with the history of its states and its source. */
export const history = Effect.fn("uploads.history")(function* (id: string, index: number) {
  const uploads = yield* Uploads
  const { entry, steps, source } = yield* uploads.history(id, index)
  return {
    ...itemOf(entry),
    ...optional({ source: source ?? (yield* storedSource(uploads, id, entry)) }),
    history: steps.map(({ state, at, attempt, problem }) => ({ state, at, attempt, ...optional({ problem }) })),
  }
})

/** The JSON of a stored item; undefined if another item has replaced it since, whose content is not that of this upload. */
const storedSource = Effect.fnUntraced(function* (uploads: (typeof Uploads)["Service"], batchId: string, { state, id, index }: Entry) {
  if (state !== "stored" || id === undefined) return undefined
  const { kind } = yield* uploads.status(batchId)
  const found = yield* Effect.flatMap(uploads.named(kind), (named) => named.item(id))
  const own = Option.filter(found, (stored) => stored.batchId === batchId && stored.index === index)
  return Option.getOrUndefined(Option.map(own, ({ item }) => JSON.stringify(item)))
})

/** Replaces the content of a failed item, for the next retry. Content that would fail again is refused. */
export const correct = Effect.fn("uploads.correct")(function* (id: string, index: number, item: object) {
  const { before, isRepeated } = yield* CurrentAttempt
  const uploads = yield* Uploads
  const failed = Effect.map(uploads.items(id, { state: "failed", limit: 1, ...(index === 0 ? {} : { after: index - 1 }) }), (page) =>
    page.items.some((one) => one.index === index),
  )
  const wasFailed = yield* before(failed)
  // An earlier attempt at the request may have corrected the item, and a retry may have stored it since.
  yield* Effect.catchTag(uploads.correct(id, index, item), "ItemNotFailed", (notFailed) =>
    isRepeated && wasFailed ? Effect.void : Effect.fail(notFailed),
  )
})

/** The failed items of an upload as a file. */
export const failures = (id: string, options: FailureOptions) => Effect.flatMap(Uploads, (uploads) => uploads.failures(id, options))

const reportOf = ({ refusals, ...counts }: CorrectionReport) => ({
  ...counts,
  refusals: refusals.map(({ line, item, refusal, message }) => ({ line, ...optional({ item }), refusal, message })),
})

/** Corrects failed items by a local file, for the next retry. The same file again changes nothing. */
export const correctFrom = (id: string, file: string, given: TableOptions) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.correctFrom(id, file, { given })),
    reportOf,
  )

/** Corrects failed items by a received file, for the next retry. The same file again changes nothing. */
export const receiveCorrections = <E, R>(id: string, { fileName, content }: ReceivedFile<E, R>, given: TableOptions) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.receiveCorrections(id, content, { fileName, given })),
    reportOf,
  )

/** Retries the failed items of a partially completed upload, or resumes a failed upload. */
export const retry = Effect.fn("uploads.retry")(function* (id: string) {
  const { before, eventId } = yield* CurrentAttempt
  const uploads = yield* Uploads
  const now = yield* uploads.status(id)
  const state = yield* before(Effect.succeed(now.state))
  if (state === "completed") return yield* new UploadComplete({ batchId: id, stored: now.items.stored })
  const retried: ReturnType<typeof uploads.retryBatch> =
    state === "failed" ? uploads.retryBatch(id, eventId) : uploads.retryFailed(id, eventId)
  return statusOf(yield* retried)
})

/** Stops the work of an upload. Stored items stay. */
export const cancel = Effect.fn("uploads.cancel")(function* (id: string, reason?: string) {
  const { eventId } = yield* CurrentAttempt
  const uploads = yield* Uploads
  return statusOf(yield* uploads.cancel(id, reason, eventId))
})

/** The kinds of uploads. */
export const kinds = Effect.map(Uploads, (uploads) => ({ kinds: uploads.kinds }))

/** Stored items of a kind by words, fields and time, as JSON. */
export const searchKind = Effect.fn("uploads.searchKind")(function* (kind: string, query: ItemQuery<string>) {
  const named = yield* (yield* Uploads).named(kind)
  const page = yield* named.search(query)
  return paged({ items: page.items }, page.next)
})

/** One stored item of a kind, as JSON. */
export const itemOfKind = Effect.fn("uploads.itemOfKind")(function* (kind: string, id: string) {
  const named = yield* (yield* Uploads).named(kind)
  return yield* Effect.flatMap(
    named.item(id),
    Option.match({ onNone: () => Effect.fail(new StoredItemNotFound({ kind, id })), onSome: (item) => Effect.succeed(item) }),
  )
})
