/** Operations on batches of documents: start, show, cancel, retry, resume, withdraw, review, and read their results. */

import { createHash } from "node:crypto"
import { blobIn, folderIn, RelativePath, Storage, StorageFolder, type StorageUri } from "@detent/blobs/Storage"
import { folderAt } from "@detent/blobs/StorageLocation"
import type { ListedInstance } from "@detent/durable"
import {
  activeBatchStates,
  type BatchConfig,
  BatchEventLog,
  Batches,
  BatchId,
  type BatchState,
  CanonicalGraph,
  type DocumentId,
  type DocumentStanding,
  type ExtractionRun,
  isTerminal,
  loadManifest,
  type ManifestFile,
  type RetryChange,
  type ReviewOutcome,
  type ReviewQuery,
  type ReviewSelection,
  Reviews,
  RunStore,
  type RunWork,
  readFactMapping,
  readManifest,
  type SelectionChange,
  unreadNextStep,
  ValidationReportJson,
} from "@detent/knowledge"
import { explain } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CurrentWorkspace } from "../CurrentWorkspace.ts"
import { ArtifactNotFound } from "../errors.ts"
import { optional, paged } from "../optional.ts"
import { CurrentAttempt, RequestKeys } from "../RequestKeys.ts"
import { type BatchStatus, statusOf } from "./batchStatus.ts"
import { kindOfProblem } from "./commandGroups.ts"

export { type BatchStatus, statusOf } from "./batchStatus.ts"

const workspaceFolder = Effect.map(CurrentWorkspace, ({ data }) => folderAt(data))

export const state = (id: BatchId) => Effect.flatMap(Batches, (batches) => batches.state(id))

export const status = (id: BatchId) => Effect.flatMap(state(id), statusWithReview)

/**
 * The status with the counts of open, accepted and rejected facts of the review list, whose sum is `forReview`, and the number of the
 * batch's triples that the graph has now.
 */
export const statusWithReview = Effect.fn("batches.statusWithReview")(function* (batch: BatchState) {
  const review = yield* Effect.flatMap(Reviews, (reviews) => reviews.counts(batch.batchId))
  return { ...statusOf(batch), review, ...optional({ inGraph: yield* triplesInGraph(batch) }) }
})

/** Includes facts that were accepted later, excludes facts of documents that a later batch replaced. Zero after a withdrawal. */
const triplesInGraph = Effect.fnUntraced(function* (batch: BatchState) {
  if (!("stats" in batch)) return undefined
  const graph = yield* CanonicalGraph.CanonicalGraph
  // The status stays readable where the graph cannot be read.
  const current = yield* Effect.option(graph.current(batch.targetNamespace))
  return Option.getOrUndefined(
    Option.map(Option.flatten(current), ({ contributions }) => {
      const own = contributions.find(({ batchId }) => batchId === batch.batchId)
      return own === undefined ? 0 : (own.shown ?? own).triples
    }),
  )
})

/**
 * The ids of those batches whose triples were withdrawn from their graph. Only a withdrawal removes a contribution from a graph: a batch
 * whose documents were all replaced still has one, with no triples.
 */
export const withdrawnOf = Effect.fn("batches.withdrawnOf")(function* (
  batches: ReadonlyArray<Pick<BatchStatus, "batchId" | "namespace"> & Partial<Pick<BatchStatus, "outcome">>>,
) {
  const graph = yield* CanonicalGraph.CanonicalGraph
  const added = batches.filter(({ outcome }) => (outcome?.triplesIngested ?? 0) > 0)
  const found = new Set<string>()
  for (const [namespace, own] of Map.groupBy(added, (one) => one.namespace)) {
    const current = yield* graph.current(namespace).pipe(
      // The list stays readable where a graph cannot be read.
      Effect.catch((error) =>
        Effect.as(Effect.logDebug(`the graph ${namespace} cannot be read: ${explain(error)}`), Option.none<GraphVersion>()),
      ),
    )
    if (Option.isNone(current)) continue
    const contributing = new Set(current.value.contributions.map(({ batchId }) => batchId))
    for (const { batchId } of own) if (!contributing.has(batchId)) found.add(batchId)
  }
  return found
})

type GraphVersion = Option.Option.Value<Effect.Success<ReturnType<(typeof CanonicalGraph.CanonicalGraph)["Service"]["current"]>>>

interface StartManifest {
  /** The folder that paths in the manifest are relative to. Default: the folder of the workspace. */
  readonly folder?: StorageFolder | undefined
  readonly manifest: ManifestFile
  readonly config?: Partial<BatchConfig> | undefined
}

interface StartManifestUri {
  /** Where the manifest is. Paths in it are relative to its own folder. */
  readonly manifestUri: StorageUri
  /** A mapping of tables and objects as YAML, in place of that of the manifest. */
  readonly mappingText?: string | undefined
  readonly config?: Partial<BatchConfig> | undefined
}

export type StartBatch = StartManifest | StartManifestUri

/** Derives the batch id from the key: every process gets the same id. */
const batchOfKey = (key: string): BatchId => BatchId.make(`batch-${createHash("sha256").update(key).digest("hex").slice(0, 12)}`)

/**
 * Checks the manifest, stores it and starts the batch. The same request with the same key returns that batch; a different request
 * with the key is refused.
 */
export const start = Effect.fn("batches.start")(function* (request: StartBatch, key?: string) {
  if (key === undefined) return yield* begin(request, undefined)
  const batchId = batchOfKey(key)
  const starting = Effect.catchTag(status(batchId), "BatchNotFound", () => begin(request, batchId))
  return yield* (yield* RequestKeys).guard({ operation: "batches.start", key, content: request }, starting)
})

/** Starting with a manifest that a batch has stored returns that batch. */
const begin = Effect.fnUntraced(function* (request: StartBatch, batchId: BatchId | undefined) {
  const batches = yield* Batches
  const { folder, manifest, stored } = yield* manifestOf(request)
  if (stored !== undefined && batchId === undefined) {
    const known = yield* Effect.catchTag(status(stored), "BatchNotFound", () => Effect.undefined)
    if (known !== undefined) return known
  }
  const id = yield* batches.start(folder, manifest, { ...optional({ batchId: batchId ?? stored }), config: request.config ?? {} })
  return yield* status(id)
})

const manifestOf = Effect.fnUntraced(function* (request: StartBatch) {
  if ("manifest" in request) return { folder: request.folder ?? (yield* workspaceFolder), manifest: request.manifest, stored: undefined }
  const { manifestUri } = request
  const { manifest, batchId } = yield* readManifest(manifestUri)
  const folder = StorageFolder.make(manifestUri.slice(0, manifestUri.lastIndexOf("/") + 1))
  // The manifest defines its collection: documents that it no longer names are removed from the graph.
  const mapping = request.mappingText === undefined ? {} : { mapping: yield* readFactMapping("the mapping", request.mappingText) }
  // A stored manifest with another mapping is another batch.
  const stored = request.mappingText === undefined ? batchId : undefined
  return { folder, manifest: { ...(batchId === undefined ? { collection: manifestUri } : {}), ...manifest, ...mapping }, stored }
})

/** Estimates a batch: chunks, calls, tokens and cost. No model is called, and nothing is stored. */
export const estimate = Effect.fn("batches.estimate")(function* (request: StartBatch) {
  const batches = yield* Batches
  const { folder, manifest } = yield* manifestOf(request)
  return yield* batches.estimate(folder, manifest, { config: request.config ?? {} })
})

/** Shows how the mapping of a manifest reads its tables and objects, or proposes one. Nothing is stored. */
export const previewMapping = Effect.fn("batches.previewMapping")(function* (request: StartBatch, options?: { readonly records?: number }) {
  const { folder, manifest } = yield* manifestOf(request)
  return yield* (yield* Batches).previewMapping(folder, manifest, options)
})

const listingOf = ({ id, tag, status: standing, reason, startedAt, updatedAt }: ListedInstance) => ({
  batchId: id,
  state: tag,
  status: standing,
  ...optional({ reason }),
  startedAt,
  updatedAt,
})

/** A page of batches, each with its status. A batch whose state cannot be read is listed without it. */
export const list = Effect.fn("batches.list")(function* (query: Parameters<(typeof Batches)["Service"]["list"]>[0]) {
  const page = yield* (yield* Batches).list(query)
  const listed = yield* Effect.forEach(page.instances, withProgress, { concurrency: 8 })
  return paged({ batches: listed }, page.next)
})

/** At most `limit` batches that have not ended. */
export const unfinished = Effect.fn("batches.unfinished")(function* (limit: number) {
  const batches = yield* Batches
  const pages = yield* Effect.forEach(activeBatchStates, (one) => batches.list({ state: one, status: "running", limit }))
  return pages.flatMap(({ instances }) => instances.map(({ id, tag }) => ({ batchId: id, state: tag }))).slice(0, limit)
})

const isBatchId = Schema.is(BatchId)

const withProgress = Effect.fnUntraced(function* (record: ListedInstance) {
  const read = isBatchId(record.id) ? yield* Effect.option(state(record.id)) : Option.none<BatchState>()
  return { ...listingOf(record), ...optional({ progress: Option.getOrUndefined(Option.map(read, statusOf)) }) }
})

/** A request that changes the state of a batch. A repeated request with the same key sends the same event, which is applied once. */
const requesting = <A, E, R>(id: BatchId, request: (batches: (typeof Batches)["Service"], eventId?: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { eventId } = yield* CurrentAttempt
    yield* request(yield* Batches, eventId)
    return yield* status(id)
  })

export const cancel = (id: BatchId) => requesting(id, (batches, eventId) => batches.cancel(id, eventId))

/** `changes`: a larger budget, another address of the model, or the failed documents to retry. */
export const retry = (id: BatchId, changes?: RetryChange) => requesting(id, (batches, eventId) => batches.retry(id, changes, eventId))

export const resume = (id: BatchId, changes?: SelectionChange) => requesting(id, (batches, eventId) => batches.resume(id, changes, eventId))

/** Removes the facts of a batch from its graph. The batch and its artifacts stay. */
export const withdraw = Effect.fn("batches.withdraw")(function* (id: BatchId, options?: { readonly force?: boolean }) {
  const { before } = yield* CurrentAttempt
  const { targetNamespace: namespace } = yield* state(id)
  const current = Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.current(namespace))
  const contributed = yield* before(
    Effect.map(
      current,
      Option.exists(({ contributions }) => contributions.some(({ batchId }) => batchId === id)),
    ),
  )
  const version = yield* Effect.flatMap(Batches, (batches) => batches.withdraw(id, options))
  // An earlier attempt at the request may have withdrawn the batch.
  const now = Option.isSome(version) || !contributed ? version : yield* current
  return { batchId: id, namespace, ...optional({ version: Option.getOrUndefined(now)?.version }) }
})

/** A page of the review list of a batch: facts whose confidence was too low for the graph. */
export const review = (id: BatchId, query?: ReviewQuery) => Effect.flatMap(Reviews, (reviews) => reviews.list(id, query))

/** The name of a person in one line, as the database and the graph store it. */
export const actorName = (by: string): string => by.replace(/\s+/gu, " ").trim().slice(0, 200)

export const accept = (id: BatchId, selection: ReviewSelection, by: string) =>
  deciding(
    id,
    "accepted",
    Effect.flatMap(Reviews, (reviews) => reviews.accept(id, selection, actorName(by))),
  )

export const reject = (id: BatchId, selection: ReviewSelection, by: string) =>
  deciding(
    id,
    "rejected",
    Effect.flatMap(Reviews, (reviews) => reviews.reject(id, selection, actorName(by))),
  )

/** Also counts the decisions of an earlier attempt at the same request. */
const deciding = <E, R>(id: BatchId, status: "accepted" | "rejected" | "open", decide: Effect.Effect<ReviewOutcome, E, R>) =>
  Effect.gen(function* () {
    const { before, eventId, isRepeated } = yield* CurrentAttempt
    if (eventId === undefined) return yield* decide
    const decided = Effect.map(
      Effect.flatMap(Reviews, (reviews) => reviews.counts(id)),
      (counts) => counts[status],
    )
    const first = yield* before(decided)
    const outcome = yield* decide
    const earlier = isRepeated ? Math.max(0, outcome.review[status] - first - outcome.decided) : 0
    return { ...outcome, decided: outcome.decided + earlier, unchanged: Math.max(0, outcome.unchanged - earlier) }
  })

/** Reverses decisions on facts: they leave the graph and are open again. */
export const reopen = (id: BatchId, selection: ReviewSelection, by: string) =>
  deciding(
    id,
    "open",
    Effect.flatMap(Reviews, (reviews) => reviews.reopen(id, selection, actorName(by))),
  )

/** The facts that a batch added to its graph and removed from it, by document. */
export const changes = (id: BatchId, limit: number) =>
  Effect.map(
    Effect.flatMap(Batches, (batches) => batches.changes(id, { limit })),
    (changed) => ({ batchId: id, ...changed }),
  )

/** The status now and after every change by any process, until the batch ends. */
export const watch = (id: BatchId) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const log = yield* BatchEventLog
      const position = yield* log.position
      return Stream.concat(
        Stream.fromEffect(status(id)),
        Stream.mapEffect(
          Stream.filter(log.events(position), ({ primaryKey }) => primaryKey === id),
          () => status(id),
        ),
      ).pipe(
        Stream.changesWith((left, right) => JSON.stringify(left) === JSON.stringify(right)),
        Stream.takeUntil(({ isTerminal: ended }) => ended),
      )
    }),
  )

export interface DocumentQuery {
  /** `pending`: not begun yet. */
  readonly status?: DocumentStanding["status"] | "pending" | undefined
  readonly limit: number
  /** The id of a document. */
  readonly after?: string | undefined
}

/** The language of a document, and why its prose was not read. */
const readingOf = ({ language, unread }: Pick<ExtractionRun, "language" | "unread">) => ({
  ...(language === undefined ? {} : { language }),
  ...(unread === undefined ? {} : { unread, nextStep: unreadNextStep(language ?? "und", unread) }),
})

const timeOf = (time: ExtractionRun["startedAt"]): number | undefined =>
  Option.getOrUndefined(Option.map(time, ({ epochMilliseconds }) => epochMilliseconds))

/** The latest run of a document. */
const runOf = (run: ExtractionRun) => ({
  runId: run.runId,
  attempt: run.attempt,
  ...optional({ startedAt: timeOf(run.startedAt), completedAt: timeOf(run.completedAt) }),
  ...readingOf(run),
})

/** Counts of entities and facts extracted from a document, where known. */
const foundIn = ({ entities, facts, forReview }: Pick<ListedStanding, "entities" | "facts" | "forReview">) =>
  optional({ entities: entities ?? undefined, facts: facts ?? undefined, forReview: forReview ?? undefined })

/** The chunks that are done, and the usage of models for them. */
const doneIn = ({ chunks, usage: { calls, inputTokens, outputTokens, cost } }: RunWork) => ({
  chunks,
  ...(calls === 0 ? {} : { tokens: inputTokens + outputTokens, ...optional({ cost }) }),
})

type ListedStanding = Omit<DocumentStanding, "status" | "round"> & {
  readonly status: DocumentStanding["status"] | "pending"
  readonly round?: number
}

/** A page of the documents of a batch, by id. */
export const documents = Effect.fn("batches.documents")(function* (id: BatchId, { limit, status: asked, after }: DocumentQuery) {
  const batch = yield* state(id)
  const manifest = yield* loadManifest(yield* Storage, batch.manifestUri)
  const sources = new Map<string, string>(manifest.documents.map(({ documentId, sourceUri }) => [documentId, sourceUri]))
  const found = yield* standingsOf(batch, manifest.documents, { asked, limit, after })
  const store = yield* RunStore
  const ids = found.map(({ documentId }) => documentId)
  const read = new Map((yield* store.ofDocuments(id, ids)).map((run): [string, ReturnType<typeof runOf>] => [run.documentId, runOf(run)]))
  const work = yield* store.workOf(id, ids)
  const documents = found.map(({ documentId, status: standing, error, round, ...counted }) => {
    const run = read.get(documentId)
    const done = run === undefined ? undefined : work.get(run.runId)
    return {
      documentId,
      status: standing,
      error,
      ...optional({ round }),
      source: sources.get(documentId) ?? documentId,
      ...run,
      ...foundIn(counted),
      ...(done === undefined ? {} : doneIn(done)),
    }
  })
  return paged({ documents }, found.length === limit ? found.at(-1)?.documentId : undefined)
})

interface StandingQuery {
  readonly asked: DocumentQuery["status"]
  readonly limit: number
  readonly after: string | undefined
}

/**
 * The log has the documents that were begun. All others of the manifest are pending, and so are those that were begun in a batch that has
 * ended: it was cancelled, or one document failed it.
 */
const standingsOf = Effect.fnUntraced(function* (
  batch: BatchState,
  all: ReadonlyArray<{ readonly documentId: DocumentId }>,
  { asked, limit, after }: StandingQuery,
) {
  const log = yield* BatchEventLog
  const { batchId: id } = batch
  const isOver = isTerminal(batch)
  if (isOver && asked === "processing") return []
  const present = (standing: ListedStanding): ListedStanding =>
    isOver && standing.status === "processing" ? { ...standing, status: "pending" } : standing
  if (asked !== undefined && asked !== "pending")
    return (yield* log.documents(id, { status: asked, limit, ...optional({ after }) })) as ReadonlyArray<ListedStanding>
  const ids = [...new Set(all.map(({ documentId }) => documentId))].sort().filter((one) => after === undefined || one > after)
  const found: Array<ListedStanding> = []
  for (let from = 0; from < ids.length && found.length < limit; from += standingsAtOnce) {
    const some = ids.slice(from, from + standingsAtOnce)
    const known = yield* log.standings(id, some)
    for (const documentId of some) {
      const standing = present(known.get(documentId) ?? { documentId, status: "pending", error: null })
      if (asked === undefined || standing.status === asked) found.push(standing)
      if (found.length === limit) break
    }
  }
  return found as ReadonlyArray<ListedStanding>
})

const standingsAtOnce = 500

/** The most failed documents that are examined for groups. */
const mostFailures = 10_000

/** The documents of a batch that failed or were set aside, grouped by problem, largest group first. */
export const failures = Effect.fn("batches.failures")(function* (id: BatchId) {
  const { manifestUri } = yield* state(id)
  const manifest = yield* loadManifest(yield* Storage, manifestUri)
  const sources = new Map<string, string>(manifest.documents.map(({ documentId, sourceUri }) => [documentId, sourceUri]))
  const log = yield* BatchEventLog
  const groups = new Map<
    string,
    { readonly problem: string; readonly status: "failed" | "set-aside"; count: number; documents: Array<string> }
  >()
  for (const one of ["failed", "set-aside"] as const) {
    for (let after: string | undefined, looked = 0; looked < mostFailures; ) {
      const page = yield* log.documents(id, { status: one, limit: 1000, ...optional({ after }) })
      for (const { documentId, error } of page) {
        const problem = error ?? "no reason was given"
        const key = `${one} ${kindOfProblem(withoutSource(problem, sources.get(documentId) ?? documentId))}`
        const group = groups.get(key) ?? { problem, status: one, count: 0, documents: [] }
        group.count++
        if (group.documents.length < sampledDocuments) group.documents.push(documentId)
        groups.set(key, group)
      }
      looked += page.length
      after = page.at(-1)?.documentId
      if (page.length < 1000) break
    }
  }
  const all = [...groups].map(([key, group]) => ({ fingerprint: createHash("sha256").update(key).digest("hex").slice(0, 12), ...group }))
  return { groups: all.sort((left, right) => right.count - left.count) }
})

const sampledDocuments = 1000

/** The problem without the document's address, path and name, plain and percent-encoded: documents with one problem form one group. */
const withoutSource = (problem: string, source: string): string => {
  const address = Option.getOrElse(Option.liftThrowable(decodeURIComponent)(source), () => source)
  const path = address.replace(/^[a-z0-9]+:\/\//, "")
  const object = path.slice(path.indexOf("/") + 1)
  const name = object.slice(object.lastIndexOf("/") + 1)
  const forms = [source, address, path, object, name].flatMap((form) => [form, encodeURIComponent(form)])
  return forms.filter((form) => form !== "").reduce((text, form) => text.replaceAll(form, "…"), problem)
}

const folderOfBatch = (id: BatchId) => Effect.map(workspaceFolder, (folder) => folderIn(folder, `batches/${id}`))

export const artifacts = Effect.fn("batches.artifacts")(function* (id: BatchId) {
  yield* status(id)
  const folder = yield* folderOfBatch(id)
  const blobs = yield* Stream.runCollect((yield* Storage).list(folder))
  return { artifacts: blobs.map(({ uri, size }) => ({ name: decodeURIComponent(uri.slice(folder.length)), bytes: size })) }
})

/** The content of an artifact. Its name is a path in the batch's folder; a path that leaves the folder is not found. */
export const artifact = Effect.fn("batches.artifact")(function* (batchId: BatchId, name: string) {
  const path = Schema.decodeUnknownOption(RelativePath)(name)
  if (Option.isNone(path)) return yield* new ArtifactNotFound({ batchId, name })
  const storage = yield* Storage
  const uri = blobIn(yield* folderOfBatch(batchId), path.value)
  const info = yield* storage.info(uri)
  if (Option.isNone(info)) return yield* new ArtifactNotFound({ batchId, name })
  return { bytes: info.value.size, content: storage.getStream(uri) }
})

/** The findings of validation, with the statements held back; undefined before the batch was validated. */
export const validationReport = Effect.fn("batches.validationReport")(function* (batchId: BatchId) {
  const found = yield* Effect.catchTag(artifact(batchId, "validation/report.json"), "ArtifactNotFound", () => Effect.undefined)
  if (found === undefined) return undefined
  const text = yield* Stream.mkString(Stream.decodeText(found.content))
  return yield* Schema.decodeEffect(ValidationReportJson)(text)
})
