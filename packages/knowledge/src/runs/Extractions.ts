/**
 * Extracts documents, one run each, and keeps their findings through crashes.
 *
 * ```ts
 * const extractions = yield* Extractions
 * const result = yield* extractions.run({ sourceUri, ontologyUri })
 * const lines = extractions.lines(result.runId)
 * ```
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import type { StorageUri } from "@detent/blobs/Storage"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import { mergedParts } from "../graph/GraphLines.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { type BatchId, documentIdOf, newBatchId, RunId, runIdOf } from "../storage/Identity.ts"
import * as ExtractionWorkflow from "./ExtractionWorkflow.ts"
import { type ExtractionSetting, Extractors } from "./Extractors.ts"
import { type EntityRegistry, EntityRegistryJson, emptyRegistry, register } from "./ExtractStep.ts"
import {
  defaultPipelineConfig,
  ExtractionRun,
  isEndedWithBatch,
  isSetAside,
  isStoreAway,
  type PipelineConfig,
  RunEnding,
  type RunFailed,
  type RunStatusConflict,
  type RunStatusRefused,
  runFailed,
} from "./Run.ts"
import { type ArtifactError, loadArtifact } from "./RunArtifacts.ts"
import { RunStore } from "./RunStore.ts"
import { contentKey, entitiesKey, graphKey, type RunStoreFailed } from "./RunTables.ts"

export interface ExtractionRequest extends ExtractionSetting {
  readonly sourceUri: StorageUri
  readonly contentType?: string
  readonly config?: Partial<PipelineConfig>
  /** The batch and attempt of the run: a repeated request gets the same run. Without it, every request is a new run. */
  readonly part?: Part
}

interface Part {
  readonly batchId: BatchId
  readonly attempt: number
  /** The attempt of the batch: a run that was cancelled in this attempt is resumed only in the next one. */
  readonly batchAttempt?: number
}

export class RunNotFound extends Schema.TaggedError<RunNotFound>()("RunNotFound", { runId: RunId }) {
  override get message() {
    return `there is no run ${this.runId}; list the runs to find it`
  }
}

export interface ExtractionsService {
  /** Starts a run, or joins the one that was started before, and waits for its end. */
  readonly run: (request: ExtractionRequest) => Effect.Effect<ExtractionWorkflow.RunResult, RunFailed>
  /** Stores runs as `queued`, to be started later. Runs that exist already are left unchanged. */
  readonly queue: (requests: ReadonlyArray<ExtractionRequest & { readonly part: Part }>) => Effect.Effect<void, RunFailed>
  /** Starts a run and returns its id. */
  readonly start: (request: ExtractionRequest) => Effect.Effect<RunId, RunFailed>
  /**
   * Like `run`, and resumes a run that failed or was cancelled before `failuresSince`. A later failure stands, so that a program that
   * restarts does not retry forever. A document that is set aside stays set aside.
   */
  readonly complete: (request: ExtractionRequest, failuresSince: number) => Effect.Effect<ExtractionWorkflow.RunResult, RunFailed>
  /** Resumes a run that failed or was cancelled, after its last checkpoint. Of two concurrent callers, one gets the conflict. */
  readonly resume: (
    id: RunId,
    request: ExtractionRequest,
  ) => Effect.Effect<ExtractionWorkflow.RunResult, RunFailed | RunNotFound | RunStoreFailed | RunStatusConflict | RunStatusRefused>
  /** Cancels a run in progress. Its rows are kept, with the reason. Default: the run itself is cancelled, and not with its batch. */
  readonly cancel: (
    id: RunId,
    why?: RunEnding,
  ) => Effect.Effect<ExtractionRun, RunNotFound | RunStoreFailed | RunStatusConflict | RunStatusRefused>
  readonly get: (id: RunId) => Effect.Effect<ExtractionRun, RunNotFound | RunStoreFailed>
  /** The findings of the run so far, as sorted lines of N-Triples, each once. */
  readonly lines: (id: RunId) => Stream.Stream<string, ArtifactError | SortFailed>
  /** The text that the spans of the run's facts refer to, as far as the run has read. */
  readonly text: (id: RunId) => Effect.Effect<string, ArtifactError>
  /** The entities that the run has found so far. */
  readonly registry: (id: RunId) => Effect.Effect<EntityRegistry, ArtifactError>
}

export class Extractions extends Context.Service<Extractions, ExtractionsService>()("@detent/knowledge/Extractions") {
  /** Needs the workflow itself registered too: see `ExtractionWorkflow.layer`. */
  static readonly layer: Layer.Layer<Extractions, never, WorkflowEngine | RunStore | ArtifactStore | Extractors> = Layer.effect(
    Extractions,
    Effect.suspend(() => make),
  )
}

/** The version of the stored findings. When it changes, every document is extracted again. */
export const schemaVersion = "1.2.0"

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const context = yield* Effect.context<WorkflowEngine | RunStore | ArtifactStore>()
  const extractors = yield* Extractors
  const provided = <A, E>(effect: Effect.Effect<A, E, WorkflowEngine | RunStore | ArtifactStore>) => Effect.provide(effect, context)

  const newRun = (request: ExtractionRequest, runId: RunId, part: Part, ontologyHash: ContentHash, status: "queued" | "running") =>
    Effect.map(DateTime.now, (now) => {
      const isRunning = status === "running"
      return new ExtractionRun({
        runId,
        status,
        statusVersion: isRunning ? 1 : 0,
        documentId: documentIdOf(request.sourceUri),
        batchId: request.part === undefined ? Option.none() : Option.some(part.batchId),
        attempt: part.attempt,
        ontologyHash,
        schemaVersion,
        inputUri: request.sourceUri,
        inputHash: Option.none(),
        config: { ...defaultPipelineConfig, ...request.config },
        createdAt: now,
        startedAt: isRunning ? Option.some(now) : Option.none(),
        completedAt: Option.none(),
        ending: Option.none(),
        errorMessage: Option.none(),
      })
    })

  const madeRun = (request: ExtractionRequest, status: "queued" | "running") =>
    Effect.gen(function* () {
      const part = request.part ?? { batchId: yield* newBatchId, attempt: 0 }
      const runId = runIdOf({ ...part, documentId: documentIdOf(request.sourceUri) })
      const ontology = yield* Effect.mapError(extractors.ontology(request.ontologyUri), runFailed(runId))
      return yield* newRun(request, runId, part, ContentHash.make(ontology.hash.slice(0, 16)), status)
    })

  /** Stores the run as `running`. The same write starts a queued run. */
  const created = (request: ExtractionRequest) =>
    Effect.flatMap(madeRun(request, "running"), (run) => Effect.mapError(runs.create(run), runFailed(run.runId)))

  const payloadOf = (run: ExtractionRun, { ontologyUri, examplesUri, mappingUri, contentType, selection }: ExtractionRequest) => ({
    runId: run.runId,
    resumption: ExtractionWorkflow.resumptionOf(run),
    ontologyUri,
    ...(examplesUri === undefined ? {} : { examplesUri }),
    ...(mappingUri === undefined ? {} : { mappingUri }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(selection === undefined ? {} : { selection }),
  })

  const get = (id: RunId) =>
    Effect.flatMap(runs.get(id), Option.match({ onNone: () => Effect.fail(new RunNotFound({ runId: id })), onSome: Effect.succeed }))

  const batchesOf = (id: RunId) =>
    Effect.map(runs.lastCheckpoint(id), Option.match({ onNone: () => 0, onSome: ({ batch_index }) => batch_index + 1 }))

  const linesOfBatch = (id: RunId, index: number): Stream.Stream<string, ArtifactError> =>
    Stream.unwrap(
      Effect.map(provided(loadArtifact(id, graphKey(index))), (text) =>
        Stream.fromIterable(text.split("\n").filter((line) => line !== "")),
      ),
    )

  const execute = (run: ExtractionRun, request: ExtractionRequest) => provided(ExtractionWorkflow.execute(payloadOf(run, request)))

  /** Sets the run back to `running`, also when an outage kept its end from being stored. */
  const takenUp = (id: RunId) =>
    Effect.gen(function* () {
      const run = yield* get(id)
      const at = yield* DateTime.now
      const failed =
        run.status === "running" ? yield* runs.changeStatus(run, { expectedVersion: run.statusVersion, status: "failed", at }) : run
      return failed.status === "failed"
        ? yield* runs.changeStatus(failed, { expectedVersion: failed.statusVersion, status: "running", at })
        : failed
    }).pipe(
      // Another process has just resumed it.
      Effect.catchTag("RunStatusConflict", () => get(id)),
      Effect.mapError(runFailed(id)),
    )

  /**
   * Repeats an execution that failed because the store was unavailable for long: here, or when the restarted batch finds that failure.
   * The store is back, since it holds the failure. Only once: a store may accept small writes and refuse large ones, and a paid
   * extractor is paid for each try.
   */
  const insisting = (run: ExtractionRun, request: ExtractionRequest) =>
    Effect.catchIf(execute(run, request), isStoreAway, () => Effect.flatMap(takenUp(run.runId), (again) => execute(again, request)))

  const complete = (request: ExtractionRequest, failuresSince: number): Effect.Effect<ExtractionWorkflow.RunResult, RunFailed> =>
    Effect.gen(function* () {
      const run = yield* created(request)
      const endedAt = Option.match(run.completedAt, { onNone: () => 0, onSome: ({ epochMilliseconds }) => epochMilliseconds })
      const attempt = request.part?.batchAttempt
      const isOver = Option.exists(run.ending, (ending) => ending._tag === "BatchCancelled" && ending.attempt === attempt)
      // Another process has cancelled the batch, and this one is about to be notified.
      if (isOver) return yield* Effect.interrupt
      const isToResume =
        (run.status === "failed" && endedAt < failuresSince && !isSetAside(run)) ||
        // `<=`: a batch may be cancelled and resumed within a millisecond. And a process may die after it has ended the runs and before it
        // has stored that the batch failed: then the batch continues with these runs.
        (run.status === "cancelled" && (endedAt <= failuresSince || isEndedWithBatch(run)))
      if (!isToResume) return yield* insisting(run, request)
      const change = { expectedVersion: run.statusVersion, status: "running", at: yield* DateTime.now } as const
      return yield* runs.changeStatus(run, change).pipe(
        Effect.mapError((error) => (error._tag === "RunStatusConflict" ? error : runFailed(run.runId)(error))),
        Effect.flatMap((resumed) => insisting(resumed, request)),
        // Another process has just resumed it: it is still the same run.
        Effect.catchTag("RunStatusConflict", () => complete(request, failuresSince)),
      )
    })

  const service: ExtractionsService = {
    get,
    queue: (requests) =>
      Effect.gen(function* () {
        const queued = yield* Effect.forEach(requests, (request) => madeRun(request, "queued"))
        const [first] = queued
        if (first !== undefined) yield* Effect.mapError(runs.queue(queued), runFailed(first.runId))
      }),
    start: (request) =>
      Effect.gen(function* () {
        const run = yield* created(request)
        yield* provided(ExtractionWorkflow.start(payloadOf(run, request)))
        return run.runId
      }),
    run: (request) => runs.working(Effect.flatMap(created(request), (run) => execute(run, request))),
    complete: (request, failuresSince) => runs.working(complete(request, failuresSince)),
    resume: (id, request) =>
      Effect.gen(function* () {
        const run = yield* get(id)
        const change = { expectedVersion: run.statusVersion, status: "running", at: yield* DateTime.now } as const
        return yield* execute(yield* runs.changeStatus(run, change), request)
      }).pipe(runs.working),
    cancel: (id, ending = RunEnding.cases.Cancelled.make({})) =>
      Effect.gen(function* () {
        const run = yield* get(id)
        const change = { expectedVersion: run.statusVersion, status: "cancelled", at: yield* DateTime.now, ending } as const
        const cancelled = yield* runs.changeStatus(run, change)
        yield* provided(ExtractionWorkflow.interrupt(payloadOf(run, { sourceUri: run.inputUri, ontologyUri: run.inputUri })))
        return cancelled
      }),
    lines: (id) =>
      Stream.unwrap(
        Effect.map(batchesOf(id), (count) => mergedParts(Array.from({ length: count }, (_, index) => linesOfBatch(id, index)))),
      ),
    text: (id) =>
      Effect.gen(function* () {
        const keys = Array.from({ length: yield* batchesOf(id) }, (_, index) => contentKey(index))
        return (yield* Effect.forEach(keys, (key) => provided(loadArtifact(id, key)))).join("")
      }),
    registry: (id) =>
      Effect.gen(function* () {
        let registry = emptyRegistry
        for (let index = 0; index < (yield* batchesOf(id)); index++) {
          const text = yield* provided(loadArtifact(id, entitiesKey(index)))
          registry = register(registry, Schema.decodeSync(EntityRegistryJson)(text).entities)
        }
        return registry
      }),
  }
  return service
})
