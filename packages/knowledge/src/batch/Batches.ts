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
import { blobIn, Storage, type StorageError, type StorageFolder } from "@detent/blobs/Storage"
import { Engine, forkLoop, type Instance, type InstanceList, type ListOptions, type ReadError } from "@detent/durable"
import type { InvalidState, PersistenceFailed, SendError } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CanonicalGraph, type GraphError, type GraphVersion, type GraphVersionUnknown } from "../graph/CanonicalGraph.ts"
import { diffGraphs, type GraphDiff } from "../graph/GraphDiff.ts"
import type { ExtractorSelection } from "../KnowledgeSettings.ts"
import type { IdentityStore } from "../review/IdentityStore.ts"
import type { ReviewStore } from "../review/ReviewStore.ts"
import type { Extractions } from "../runs/Extractions.ts"
import { type ExtractorRefused, Extractors } from "../runs/Extractors.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { type BatchId, type DocumentId, type Namespace, newBatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import type { TaskQueue } from "../tasks/TaskQueue.ts"
import type { BatchEventLog } from "./BatchEventLog.ts"
import { E } from "./BatchMachine.ts"
import { type BatchConfig, type BatchState, defaultBatchConfig, isTerminal, S, selectionOf } from "./BatchState.ts"
import { batchMachine, endWork, writeStatus } from "./BatchWork.ts"
import { type BatchEstimate, type EstimateError, estimateBatch } from "./Estimate.ts"
import { withdrawChecked, withdrawGraph } from "./GraphStages.ts"
import { encodeManifest, type ManifestFile } from "./Manifest.ts"
import { fixManifest, type ManifestError } from "./ManifestMaking.ts"
import { type MappingPreviewError, type MappingPreviewOptions, previewMapping } from "./MappingPreview.ts"
import type { MappingPreview } from "./MappingPreviewView.ts"
import { type Purged, purgeBatches } from "./Retention.ts"

export class BatchNotFound extends Schema.TaggedError<BatchNotFound>()("BatchNotFound", { batchId: Schema.String }) {
  override get message() {
    return `there is no batch ${this.batchId}; list the batches to find it`
  }
}

type Event = typeof E.Type

/** The settings that a new attempt may change: all but the model, such as a larger budget or another address. */
export type SelectionChange = Omit<ExtractorSelection, "extractor">

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
  /** Shows how the mapping of a manifest reads its tables and objects, or proposes one. Stores nothing. */
  readonly previewMapping: (
    folder: StorageFolder,
    manifest: ManifestFile,
    options?: MappingPreviewOptions,
  ) => Effect.Effect<MappingPreview, MappingPreviewError>
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
  readonly list: (options?: ListOptions<BatchState["_tag"]>) => Effect.Effect<InstanceList, PersistenceFailed>
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
      | Storage
      | ArtifactStore
      | RunStore
      | Extractors
      | Extractions
      | CanonicalGraph
      | BatchEventLog
      | ReviewStore
      | IdentityStore
      | TaskQueue
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
          const createdAt = yield* Clock.currentTimeMillis
          const pending = S.Pending({
            batchId,
            manifestUri,
            ontologyVersion: manifest.ontologyVersion,
            targetNamespace: manifest.targetNamespace,
            config: { ...wanted, ...selection },
            documentsTotal: manifest.documents.length,
            retryCount: 0,
            attempt: 0,
            createdAt,
            updatedAt: createdAt,
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
      previewMapping: (beside, file, options) => Effect.provide(previewMapping(beside, file, options), services),
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
          const { previousVersion: previous } = state
          const before = previous === null ? Stream.empty : canonical.lines(yield* canonical.version(namespace, previous))
          const changed = yield* diffGraphs(before, canonical.lines(after), options)
          return { ...changed, namespace, version: after.version, ...(previous === null ? {} : { previous }) }
        }),
      purge,
      // Its options name no indexed field.
      list: (options) => Effect.catchTag(engine.list(machine, options), "SearchRefused", Effect.die),
    }
    return service
  })
