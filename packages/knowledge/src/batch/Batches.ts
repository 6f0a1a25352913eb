/**
 * Batches of documents, from a manifest to the canonical graph. A started batch survives the death of its process: a program that
 * opens the same database resumes every unfinished batch.
 *
 * ```ts
 * const batches = yield* Batches
 * const id = yield* batches.start(folder, manifest)
 * const end = yield* batches.awaitEnd(id)
 * ```
 */

import type { ContentHash } from "@detent/blobs/ContentHash"
import { blobIn, folderIn, Storage, type StorageError, type StorageFolder } from "@detent/blobs/Storage"
import { Engine, forkLoop, type Instance, type InstancePage, Journal, type ListOptions, type ReadError } from "@detent/durable"
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { streamOnWorkers } from "../document/DocumentReader.ts"
import { addUsage, noUsage, type Usage } from "../extract/Extractor.ts"
import { chunksOnWorkers } from "../extract/TextOnWorkers.ts"
import { CanonicalGraph, type GraphError, type GraphVersion, type GraphVersionUnknown } from "../graph/CanonicalGraph.ts"
import { diffGraphs, type GraphDiff } from "../graph/GraphDiff.ts"
import type { ExtractorSelection } from "../KnowledgeSettings.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { ReviewStore } from "../review/ReviewStore.ts"
import type { Extractions } from "../runs/Extractions.ts"
import { type EquipmentError, type Estimator, type ExtractorRefused, Extractors } from "../runs/Extractors.ts"
import { RunStore } from "../runs/RunStore.ts"
import { ArtifactStore } from "../storage/ArtifactStore.ts"
import { BatchId, type DocumentId, type Namespace, newBatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import type { TaskQueue } from "../tasks/TaskQueue.ts"
import type { BatchEventLog } from "./BatchEventLog.ts"
import { BatchMachine, E } from "./BatchMachine.ts"
import { type BatchConfig, type BatchState, type BatchUsage, defaultBatchConfig, isTerminal, S, selectionOf } from "./BatchState.ts"
import { batchMachine, endWork, writeStatus } from "./BatchWork.ts"
import { settingOf, unchangedDocuments } from "./Document.ts"
import { usageOf } from "./ExtractionStage.ts"
import { withdrawChecked, withdrawGraph } from "./GraphStages.ts"
import { encodeManifest, loadManifest, type ManifestDocument, type ManifestFile } from "./Manifest.ts"
import { fixManifest, type ManifestError, makeManifest } from "./ManifestMaking.ts"

export class BatchNotFound extends Schema.TaggedError<BatchNotFound>()("BatchNotFound", { batchId: Schema.String }) {
  override get message() {
    return `there is no batch ${this.batchId}; list the batches to find it`
  }
}

type Event = typeof E.Type

/** The settings that a new attempt may change: a larger budget, another address of the same model. */
export type SelectionChange = Pick<ExtractorSelection, "budget" | "baseUrl">

/** `documents` limits the retry to these failed documents. Default: all. */
export type RetryChange = SelectionChange & { readonly documents?: ReadonlyArray<DocumentId> }

/** The changes of a batch to its graph. */
export interface BatchChanges extends GraphDiff {
  readonly namespace: Namespace
  /** Absent when the batch has published nothing. */
  readonly version?: ContentHash
  /** The version before; absent when the batch published the first one. */
  readonly previous?: ContentHash
}

/** Errors of ending work or removing added facts. They can be retried. */
export type UndoError = Effect.Error<ReturnType<typeof endWork>> | Effect.Error<ReturnType<typeof writeStatus>>

/** Errors of removing old runs and files. They can be retried. */
export type PurgeError = Effect.Error<ReturnType<typeof purgeBatches<ReadError, never>>>

export interface BatchesOptions {
  /** How long batches, their runs and their stage files are kept after their end. Default: forever. */
  readonly retention?: Duration.Input | undefined
}

/** Errors of checking the graph before a batch is withdrawn, and the refusal. */
export type WithdrawError = Effect.Error<ReturnType<typeof withdrawChecked>>

export interface BatchesService {
  /** Checks the manifest, stores it and starts the batch. References in it are resolved against `folder`. */
  readonly start: (
    folder: StorageFolder,
    manifest: ManifestFile,
    options?: { readonly batchId?: BatchId; readonly config?: Partial<BatchConfig> },
  ) => Effect.Effect<BatchId, ManifestError | ExtractorRefused | StorageError | InvalidState | SendError | ReadError>
  /** Estimates a batch: chunks, calls, tokens and cost. Reads the documents, calls no model and stores nothing. */
  readonly estimate: (
    folder: StorageFolder,
    manifest: ManifestFile,
    options?: { readonly config?: Partial<BatchConfig> },
  ) => Effect.Effect<BatchEstimate, EstimateError>
  readonly state: (id: BatchId) => Effect.Effect<BatchState, BatchNotFound | ReadError>
  /** Emits the current state, then every new one, until the batch ends. */
  readonly watch: (id: BatchId) => Stream.Stream<BatchState, BatchNotFound | ReadError>
  /** Waits until the batch does nothing more without a request, and returns its state. */
  readonly awaitEnd: (id: BatchId) => Effect.Effect<BatchState, BatchNotFound | ReadError>
  /**
   * Cancels the running work. Extracted documents are kept, and the batch can be resumed. `eventId` is an idempotency key, here and in
   * the requests below.
   */
  readonly cancel: (id: BatchId, eventId?: string) => Effect.Effect<void, BatchNotFound | ReadError | SendError | UndoError>
  /** Restarts a failed or partially completed batch: failed documents are tried again, the others are kept. */
  readonly retry: (id: BatchId, changes?: RetryChange, eventId?: string) => Effect.Effect<void, BatchNotFound | ReadError | SendError>
  /** Like `retry`, but without a limit of attempts, and also for a cancelled batch. */
  readonly resume: (id: BatchId, changes?: SelectionChange, eventId?: string) => Effect.Effect<void, BatchNotFound | ReadError | SendError>
  /** Sends the result of an activity to the batch. `eventId` is an idempotency key. */
  readonly report: (id: BatchId, event: Event, eventId?: string) => Effect.Effect<void, BatchNotFound | ReadError | SendError>
  /**
   * Removes the batch's facts from the canonical graph, and returns the new version; none when the graph has no facts of the batch.
   * Refused when the graph would have violations that it does not have now, except with `force` or the policy `warn`.
   */
  readonly withdraw: (
    id: BatchId,
    options?: { readonly force?: boolean },
  ) => Effect.Effect<Option.Option<GraphVersion>, BatchNotFound | ReadError | UndoError | WithdrawError>
  /** The facts that the batch added to the graph and removed from it, by document. Lists at most `limit` of each. */
  readonly changes: (
    id: BatchId,
    options?: { readonly limit?: number },
  ) => Effect.Effect<BatchChanges, BatchNotFound | ReadError | GraphError | GraphVersionUnknown>
  /**
   * Removes the runs and stage files of batches that ended longer ago than this, unless a graph needs them. A batch that is resumed
   * after that extracts its documents again.
   */
  readonly purge: (options: { readonly endedBefore: Duration.Input }) => Effect.Effect<Purged, PurgeError>
  readonly list: (options?: ListOptions<BatchState["_tag"]>) => Effect.Effect<InstancePage, PersistenceFailed>
}

export class Batches extends Context.Service<Batches, BatchesService>()("@detent/knowledge/Batches") {
  /** Files of batches and of the canonical graph are kept below the folder. */
  static readonly layer = (folder: StorageFolder, options: BatchesOptions = {}) => Layer.effect(Batches, make(folder, options))
}

const manifestExtractor = ({ extractor }: ManifestFile) => (extractor === undefined ? {} : { manifest: extractor })

/** How often old runs and files are removed. */
const purgeInterval = "10 minutes"

const make = (folder: StorageFolder, { retention }: BatchesOptions) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const services = yield* Effect.context<
      Storage | ArtifactStore | RunStore | Extractors | Extractions | CanonicalGraph | BatchEventLog | ReviewStore | TaskQueue
    >()
    const storage = yield* Storage
    const extractors = yield* Extractors
    const canonical = yield* CanonicalGraph
    const machine = batchMachine(folder, (id) => storedState(id))

    const find = (id: BatchId): Effect.Effect<Instance<BatchState, Event>, BatchNotFound | PersistenceFailed> =>
      Effect.flatMap(
        Effect.provide(engine.get(machine, id), services),
        Option.match({ onNone: () => Effect.fail(new BatchNotFound({ batchId: id })), onSome: (one) => Effect.succeed(one) }),
      )

    const stateOf = (id: BatchId) => Effect.flatMap(find(id), (batch) => batch.state)
    const storedState = (id: BatchId) => Effect.catchTag(stateOf(id), "BatchNotFound", () => Effect.undefined)

    const send = (id: BatchId, event: Event, eventId?: string) =>
      Effect.flatMap(find(id), (batch) => Effect.asVoid(batch.send(event, eventId === undefined ? {} : { id: eventId })))
    const watch = (id: BatchId): Stream.Stream<BatchState, BatchNotFound | ReadError> =>
      Stream.unwrap(Effect.map(find(id), (batch) => Stream.takeUntil(batch.changes, isTerminal)))

    // Registering the machine resumes the unfinished batches of this database.
    yield* Effect.provide(engine.register(machine, retention === undefined ? {} : { retention }), services)

    const purge = ({ endedBefore }: { readonly endedBefore: Duration.Input }) =>
      Effect.provide(purgeBatches(folder, storedState, endedBefore), services)
    if (retention !== undefined)
      yield* forkLoop("the retention of batches", Effect.andThen(purge({ endedBefore: retention }), Effect.sleep(purgeInterval)))

    const service: BatchesService = {
      watch,
      start: (beside, file, options = {}) =>
        Effect.gen(function* () {
          const batchId = options.batchId ?? (yield* newBatchId)
          const wanted = { ...defaultBatchConfig, ...options.config }
          const manifest = yield* Effect.provide(fixManifest(folder, batchId, beside, file), services)
          const selection = yield* extractors.choose({ ...selectionOf(wanted), ...manifestExtractor(file) })
          // Activities may run in other processes, which have API keys of their own.
          if (wanted.dispatch === undefined || wanted.dispatch === "process") yield* extractors.check(selection)
          const manifestUri = blobIn(folder, pathsOfBatch(batchId).manifest)
          yield* storage.set(manifestUri, yield* Effect.orDie(encodeManifest(manifest)))
          const pending = S.Pending({
            batchId,
            manifestUri,
            ontologyVersion: manifest.ontologyVersion,
            targetNamespace: manifest.targetNamespace,
            config: { ...wanted, ...selection },
            documentsTotal: manifest.documents.length,
            retryCount: 0,
            attempt: 0,
            createdAt: yield* Clock.currentTimeMillis,
          })
          yield* Effect.provide(engine.ensure(machine, batchId, pending), services)
          return batchId
        }),
      state: stateOf,
      awaitEnd: (id) => Effect.flatMap(Stream.runLast(watch(id)), (last) => Effect.orDie(Effect.fromOption(last))),
      cancel: (id, eventId) =>
        Effect.gen(function* () {
          yield* send(id, E.Cancel(), eventId)
          const state = yield* stateOf(id)
          if (state._tag !== "Cancelled") return
          // The process that owns the batch does this too. Here the caller waits for it, also when no process owns the batch.
          yield* Effect.provide(endWork(folder, state), services)
          yield* Effect.provide(writeStatus(folder, storedState(id)), services)
        }),
      estimate: (beside, file, { config = {} } = {}) => Effect.provide(estimateBatch(beside, file, config), services),
      retry: (id, { documents, ...selection } = {}, eventId) =>
        send(
          id,
          E.Retry({
            ...(Object.keys(selection).length === 0 ? {} : { selection }),
            ...(documents === undefined ? {} : { documents }),
          }),
          eventId,
        ),
      resume: (id, changes, eventId) => send(id, E.Resume(changes === undefined ? {} : { selection: changes }), eventId),
      report: send,
      withdraw: (id, { force = false } = {}) =>
        Effect.gen(function* () {
          const state = yield* stateOf(id)
          return yield* Effect.provide(force ? withdrawGraph(folder, state) : withdrawChecked(folder, state), services)
        }),
      changes: (id, options) =>
        Effect.gen(function* () {
          const state = yield* stateOf(id)
          const { targetNamespace: namespace } = state
          const nothing = { namespace, added: 0, removed: 0, documents: [] }
          if (!("canonicalVersion" in state)) return nothing
          const after = yield* canonical.version(namespace, state.canonicalVersion)
          if (!after.contributions.some(({ batchId }) => batchId === id)) return nothing
          const previous = state.previousVersion === undefined ? Option.getOrNull(after.previous) : state.previousVersion
          const before = previous === null ? Stream.empty : canonical.lines(yield* canonical.version(namespace, previous))
          const changed = yield* diffGraphs(before, canonical.lines(after), options)
          return { ...changed, namespace, version: after.version, ...(previous === null ? {} : { previous }) }
        }),
      purge,
      list: (options) => engine.list(machine, options),
    }
    return service
  })

/** The files of the database's unfinished batches are not in the data folder. Nothing was changed. */
export class OtherData extends Schema.TaggedError<OtherData>()("OtherData", {
  folder: Schema.String,
  manifestUri: Schema.String,
  batchId: Schema.String,
}) {
  override get message() {
    return (
      `the data folder ${this.folder} has no file ${this.manifestUri}, the manifest of ${this.batchId}, which is unfinished in this database: ` +
      "give every process of a database the same --data, a folder that all of them see or a bucket; or cancel the batch where its files are"
    )
  }
}

/** How many unfinished batches of each state are checked. */
const mostChecked = 20

const unfinished: ReadonlyArray<BatchState["_tag"]> = ["Pending", "Extracting", "Resolving", "Validating", "Ingesting"]

/**
 * Fails when the folder has the files of none of the unfinished batches of the database: they would all fail. Storage that is
 * unavailable does not keep a process from starting.
 */
export const refuseOtherData = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const [journal, storage] = [yield* Journal, yield* Storage]
    let missing: OtherData | undefined
    for (const tag of unfinished) {
      for (const { id } of (yield* journal.list({ machine: BatchMachine.name, tag }, mostChecked)).instances) {
        const manifestUri = blobIn(folder, pathsOfBatch(BatchId.make(id)).manifest)
        const isHere = yield* Effect.match(storage.info(manifestUri), { onFailure: () => true, onSuccess: Option.isSome })
        if (isHere) return
        missing ??= new OtherData({ folder, manifestUri, batchId: id })
      }
    }
    if (missing !== undefined) return yield* missing
  })

/**
 * Logs a warning when the database has batches whose files are not in the data folder of this process: the process was started with
 * another `--data` than the one that started the batches, so that neither finds the files of the other. Checks the manifest of the
 * batch that changed last, since manifests are never removed.
 */
export const warnOfOtherData = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const storage = yield* Storage
    const [latest] = (yield* batches.list({ order: "newest", limit: 1 })).instances
    if (latest === undefined) return
    const { batchId, manifestUri } = yield* batches.state(BatchId.make(latest.id))
    const found = yield* Effect.catchTag(storage.info(manifestUri), "AddressRefused", () => Effect.succeedNone)
    if (Option.isSome(found)) return
    yield* Effect.logWarning(
      `the data folder is ${folder}, and the manifest ${manifestUri} of ${batchId}, a batch of this database, is not there: give every ` +
        "process of a database the same --data, a folder that all of them see or a bucket",
    )
  }).pipe(Effect.catch(({ message }) => Effect.logWarning(`cannot check whether the data folder belongs to the database: ${message}`)))

// Retention: removes the data of batches that ended long ago, as far as no graph needs it: their runs with their rows, and the files
// that one stage passes to the next. A run whose document is in the graph keeps the text that its spans refer to, and its review list.
// Files that a version of the graph references are kept, and so are manifest, status, metadata and reports.

/** Counts of removed data. */
interface Purged {
  readonly batches: number
  readonly runs: number
  readonly files: number
}

/** Batches per page. */
const pageSize = 100

/** When a batch ended. None while it is active. */
const endOf = (state: BatchState): Option.Option<number> => {
  if ("completedAt" in state) return Option.some(state.completedAt)
  if ("failedAt" in state) return Option.some(state.failedAt)
  return "cancelledAt" in state ? Option.some(state.cancelledAt) : Option.none()
}

/** `stateOf` returns undefined for a batch whose instance was removed. */
const purgeBatches = <E, R>(
  folder: StorageFolder,
  stateOf: (id: BatchId) => Effect.Effect<BatchState | undefined, E, R>,
  endedBefore: Duration.Input,
) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const reviews = yield* ReviewStore
    const artifacts = yield* ArtifactStore
    const storage = yield* Storage
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(endedBefore)
    let [batches, removed, files, after] = [0, 0, 0, ""]
    for (;;) {
      const page = yield* runs.endedBatches(before, after, pageSize)
      for (const id of page) {
        const state = yield* stateOf(id)
        if (state !== undefined && !Option.exists(endOf(state), (end) => end < before)) continue
        const namespace = state?.targetNamespace ?? (yield* namespaceOf(folder, id))
        const { shown, named } = namespace === undefined ? nothing : yield* neededBy(folder, namespace)
        const { gone, paths } = yield* runs.purge(id, shown)
        yield* reviews.retain(id, shown)
        yield* Effect.forEach(gone, artifacts.remove, { concurrency: 8, discard: true })
        yield* Effect.forEach(paths, (path) => storage.remove(blobIn(folder, path)), { concurrency: 8, discard: true })
        files += yield* removeStageFiles(folder, id, named)
        removed += gone.length
        batches++
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return { batches, runs: removed, files } satisfies Purged
      after = last
    }
  })

const nothing = { shown: new Set<string>(), named: new Set<string>() }

/** Undefined when the manifest is gone too. */
const namespaceOf = (folder: StorageFolder, id: BatchId) =>
  Effect.flatMap(Storage, (storage) => loadManifest(storage, blobIn(folder, pathsOfBatch(id).manifest))).pipe(
    Effect.map(({ targetNamespace }) => targetNamespace),
    Effect.catchTag("BlobNotFound", () => Effect.undefined),
  )

/** Returns the runs whose documents are in the graph, and the files that any version of the graph references. */
const neededBy = (folder: StorageFolder, namespace: Namespace) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const storage = yield* Storage
    const current = yield* canonical.current(namespace)
    if (Option.isNone(current)) return nothing
    const documents = yield* canonical.documents(current.value)
    const shown = new Set([...documents.values()].flatMap(({ runId }) => (runId === undefined ? [] : [runId])))
    const named = new Set<string>()
    yield* Stream.runForEach(storage.list(folderIn(folder, `canonical/${namespace}/versions`)), ({ uri }) =>
      Effect.map(storage.get(uri), ({ bytes }) => {
        for (const [address] of new TextDecoder().decode(bytes).matchAll(/"(?:file|gs|s3|mem):[^"]+"/g)) named.add(address.slice(1, -1))
      }),
    )
    return { shown, named }
  })

/** Matches the graph files that one stage passes to the next. */
const stageFile =
  /\/(resolution\/merged|validation\/validated|validation\/quarantine|canonical\/reviewed)-[a-f0-9]{16}\.nt$|\/canonical\/final\.ttl$/

const removeStageFiles = (folder: StorageFolder, id: BatchId, named: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const found = yield* Stream.runCollect(storage.list(folderIn(folder, `batches/${id}`)))
    const removed = yield* Effect.filter(found, ({ uri }) =>
      stageFile.test(uri) && !named.has(uri) ? storage.remove(uri) : Effect.succeed(false),
    )
    return removed.length
  })

// The estimate of a batch before it starts: its documents are read and cut into chunks, and no model is called.

export interface BatchEstimate extends BatchUsage {
  readonly extractor: string
  readonly documents: number
  /** Documents that the graph already has in this version. They are not extracted again. */
  readonly unchanged: number
  /** Documents that cannot be read, and would fail. */
  readonly unreadable: number
  readonly chunks: number
}

export type EstimateError = ManifestError | ExtractorRefused | EquipmentError | Effect.Error<ReturnType<typeof unchangedDocuments>>

/** Documents that an estimate reads concurrently. */
const estimatedAtOnce = 4

const estimateBatch = (
  folder: StorageFolder,
  file: ManifestFile,
  config: Partial<BatchConfig>,
): Effect.Effect<BatchEstimate, EstimateError, Storage | Extractors | CanonicalGraph> =>
  Effect.gen(function* () {
    const extractors = yield* Extractors
    const wanted = { ...defaultBatchConfig, ...config }
    const manifest = yield* makeManifest(yield* newBatchId, folder, file)
    const selection = yield* extractors.choose({
      ...selectionOf(wanted),
      ...(file.extractor === undefined ? {} : { manifest: file.extractor }),
    })
    const estimator = extractors.estimator(selection)
    const ontology = yield* extractors.ontology(manifest.ontologyUri)
    const unchangedIn = yield* unchangedDocuments(manifest, yield* settingOf(manifest, { ...wanted, ...selection }))
    const changed = yield* Effect.filter(
      manifest.documents,
      (document) => Effect.map(unchangedIn(document), (same) => same === undefined),
      { concurrency: estimatedAtOnce },
    )
    const found = yield* Effect.forEach(
      changed,
      (document) => Effect.exit(estimateDocument(document, wanted.pipeline, ontology, estimator)),
      { concurrency: estimatedAtOnce },
    )
    const read = found.filter(Exit.isSuccess).map(({ value }) => value)
    const usage = read.reduce((sum, one) => addUsage(sum, one.usage), noUsage)
    return {
      extractor: estimator.extractor,
      documents: manifest.documents.length,
      unchanged: manifest.documents.length - changed.length,
      unreadable: found.length - read.length,
      chunks: read.reduce((sum, one) => sum + one.chunks, 0),
      ...usageOf({ ...usage, currency: estimator.currency }),
    }
  })

const estimateDocument = (
  { sourceUri, contentType }: ManifestDocument,
  { windowSize, overlap }: BatchConfig["pipeline"],
  ontology: OntologyIndex,
  { estimate }: Estimator,
) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    return yield* streamOnWorkers({ name: sourceUri, contentType }, storage.getStream(sourceUri)).pipe(
      chunksOnWorkers(sourceUri, { size: windowSize, overlap }),
      Stream.runFoldEffect(
        (): { readonly chunks: number; readonly usage: Usage } => ({ chunks: 0, usage: noUsage }),
        // Yields before every chunk: the estimate compares its words with all classes of the ontology, and many chunks arrive at once.
        (sum, chunk) =>
          Effect.map(Effect.yieldNow, () => ({ chunks: sum.chunks + 1, usage: addUsage(sum.usage, estimate(chunk, ontology)) })),
      ),
    )
  })
