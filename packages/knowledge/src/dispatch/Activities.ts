/**
 * The stages of a batch as activities that a job runner starts one by one: extraction for each document, then resolution,
 * validation and ingestion. Each uses its batch's configuration and reports its result to the batch. With `dispatch: "activities"` or
 * `"tasks"`, these reports move the batch to its end. Activities are idempotent: run again with the same input, an activity returns its
 * earlier result or computes the same one.
 */
import { isDeepStrictEqual } from "node:util"
import { blobIn, getText, Storage, type StorageFolder, StorageUri } from "@detent/blobs/Storage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { BatchEventLog, type DocumentStanding } from "../batch/BatchEventLog.ts"
import { Batches } from "../batch/Batches.ts"
import { BatchEvent, E, isPassedBy, stageOf } from "../batch/BatchMachine.ts"
import { countStage } from "../batch/BatchMetrics.ts"
import { type S, selectionOf } from "../batch/BatchState.ts"
import { stageInput } from "../batch/BatchWork.ts"
import { DocumentJson, documentRecord, settingOf, unchangedDocuments, writeMetadata } from "../batch/Document.ts"
import { type DocumentOutcome, endEvent, extractDocument, type FailureMeaning, meaningOf } from "../batch/DocumentExtraction.ts"
import { countedAtEnd, countedSoFar } from "../batch/ExtractionCounts.ts"
import { roundOf } from "../batch/ExtractionStage.ts"
import { addToGraph, type GivenGraphs, resolveEntities, takeBack, validateGraph, withdrawGraph } from "../batch/GraphStages.ts"
import type { Manifest, ManifestDocument } from "../batch/Manifest.ts"
import { documentLines } from "../fact/FactGraph.ts"
import { writeLines } from "../graph/GraphLines.ts"
import { Extractions } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import { documentNode, RunFailed } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { BatchId, DocumentId, Namespace, runIdOf } from "../storage/Identity.ts"
import { BatchLinesPath, pathsOfDocument } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"
import type { ActivityName } from "../tasks/Task.ts"
import { ActivityRefused, graphAt, linesAt, reported, type StageRequest, stageRequest, stateOfActivity } from "./StageRun.ts"

export { ActivityName } from "../tasks/Task.ts"
export { ActivityRefused } from "./StageRun.ts"

const durationMs = Count

/** The batch that an activity belongs to. Tasks set `attempt`: a task of an earlier attempt does nothing. */
const part = { batchId: BatchId, attempt: Schema.optionalKey(Count) }

export const ExtractionInput = Schema.Struct({ ...part, documentId: DocumentId, sourceUri: StorageUri, ontologyUri: StorageUri })

export const ExtractionOutput = Schema.Struct({
  documentId: DocumentId,
  graphUri: StorageUri,
  entityCount: Count,
  relationCount: Count,
  durationMs,
  /** Set when the graph already had this version of the document, so that it was not extracted again. */
  unchanged: Schema.optionalKey(Schema.Boolean),
})

export const ResolutionInput = Schema.Struct({
  ...part,
  /** Default: the graphs of all documents that the batch has extracted. */
  documentGraphUris: Schema.optionalKey(Schema.Array(StorageUri)),
})

export const ResolutionOutput = Schema.Struct({ resolvedUri: StorageUri, entitiesTotal: Count, clustersFormed: Count, durationMs })

export const ValidationInput = Schema.Struct({ ...part, resolvedUri: StorageUri, shaclUri: Schema.optionalKey(StorageUri) })

export const ValidationOutput = Schema.Struct({ validatedUri: StorageUri, conforms: Schema.Boolean, violations: Count, durationMs })

export const IngestionInput = Schema.Struct({ ...part, validatedUri: StorageUri, targetNamespace: Namespace })

export const IngestionOutput = Schema.Struct({ canonicalUri: StorageUri, triplesIngested: Count, durationMs })

/** The input of an activity does not fit its schema. */
export class ActivityInputRefused extends Schema.TaggedError<ActivityInputRefused>()("ActivityInputRefused", {
  activity: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the input of ${this.activity} is refused: ${this.problem}`
  }
}

/** Decodes the JSON input, runs the activity and returns its output as JSON. */
export const runActivity = (folder: StorageFolder, name: ActivityName, input: unknown) => {
  switch (name) {
    case "extraction":
      return running(name, ExtractionInput, ExtractionOutput, input, extraction(folder))
    case "resolution":
      return running(name, ResolutionInput, ResolutionOutput, input, resolution(folder))
    case "validation":
      return running(name, ValidationInput, ValidationOutput, input, validation(folder))
    case "ingestion":
      return running(name, IngestionInput, IngestionOutput, input, ingestion(folder))
  }
}

const running = <I, O, E, R>(
  activity: ActivityName,
  inputSchema: Schema.Codec<I, unknown>,
  outputSchema: Schema.Codec<O, unknown>,
  input: unknown,
  run: (input: I) => Effect.Effect<O, E, R>,
): Effect.Effect<unknown, E | ActivityInputRefused, R> =>
  decoded(activity, inputSchema, input).pipe(
    Effect.flatMap(run),
    Effect.flatMap((output) => Effect.orDie(Schema.encodeEffect(Schema.toCodecJson(outputSchema))(output))),
  )

const decoded = <I>(activity: ActivityName, schema: Schema.Codec<I, unknown>, input: unknown): Effect.Effect<I, ActivityInputRefused> =>
  Effect.mapError(Schema.decodeUnknownEffect(Schema.toCodecJson(schema))(input), ({ message }) => refused(activity, message))

const extraction = (folder: StorageFolder) => (input: typeof ExtractionInput.Type) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const stage = yield* stageRequest(folder, input.batchId, "Extracting")
    const { manifest, request } = stage
    const document = yield* documentOf(manifest, input)
    const extractions = yield* Extractions
    const unchanged = yield* unchangedRun(stage, document)
    // Retries a run that failed before now: the job runner repeats an activity for that purpose.
    const result =
      unchanged?.result ??
      (yield* Effect.tapError(extractDocument(request, manifest, document, startedAt), (failed) =>
        settleFailure(folder, stage, document, failed),
      ))
    const run = yield* extractions.get(result.runId)
    const paths = pathsOfDocument(input.documentId)
    const described = Stream.fromIterable(documentLines(documentNode(run)))
    const { uri } = yield* writeLines(blobIn(folder, paths.graph), Stream.concat(described, extractions.lines(result.runId)))
    yield* (yield* Storage).set(blobIn(folder, paths.input), yield* extractions.text(result.runId))
    yield* writeRecord(folder, stage, document, { run, extractionOutputUri: uri })
    const outcome =
      unchanged === undefined ? ({ _tag: "Completed", result } as const) : ({ _tag: "Unchanged", before: unchanged.before } as const)
    yield* settle(folder, stage, document, { outcome })
    const { documentId } = input
    const counts = { entityCount: result.entities, relationCount: result.facts }
    const durationMs = Math.round((yield* Clock.currentTimeMillis) - startedAt)
    return { documentId, graphUri: uri, ...counts, durationMs, ...(unchanged === undefined ? {} : { unchanged: true }) }
  })

/**
 * Returns the run of an earlier batch that extracted this version of the document with the same settings, and its counts, so that the
 * document is not extracted again. Undefined when its findings were removed since, or when this batch has started the document itself.
 */
const unchangedRun = ({ manifest, request }: StageRequest, document: ManifestDocument) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const { batchId } = request
    const own = yield* runs.get(runIdOf({ batchId, documentId: document.documentId, attempt: 0 }))
    if (Option.isSome(own)) return undefined
    const unchangedIn = yield* unchangedDocuments(request, yield* settingOf(manifest, request.config))
    const before = yield* unchangedIn(document)
    if (before?.runId === undefined || !(yield* runs.withGraphs([before.runId])).has(before.runId)) return undefined
    const { entities, facts, forReview } = yield* runs.totals({ runId: before.runId })
    return { before, result: { runId: before.runId, entities, facts, forReview } }
  })

/** Writes `metadata.json` of the document, with the problems of earlier attempts. */
const writeRecord = (
  folder: StorageFolder,
  { request }: StageRequest,
  document: ManifestDocument,
  recorded: Pick<Parameters<typeof documentRecord>[3], "run" | "extractionOutputUri">,
) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const uri = blobIn(folder, pathsOfDocument(document.documentId).metadata)
    const { extractor } = (yield* Extractors).estimator(selectionOf(request.config))
    const before = yield* getText(storage, uri).pipe(
      Effect.flatMap((text) => Effect.orDie(Schema.decodeEffect(DocumentJson)(text))),
      Effect.catchTag("BlobNotFound", () => Effect.undefined),
    )
    // A record of another batch is about that batch's version of the document: its problems are not kept.
    const own = before?.batchId === request.batchId ? { before } : {}
    const record = documentRecord(request, extractor, document, { ...recorded, ...own })
    yield* storage.set(uri, yield* Effect.orDie(Schema.encodeEffect(DocumentJson)(record)))
  })

/**
 * Reports a permanently failed activity to its batch: the document counts as failed, or the batch fails in this stage. Reports nothing
 * twice, and nothing to a batch that is in another stage. Refuses input that the batch did not enqueue: that input may have caused the
 * failure, which is then no failure of the batch.
 */
export const reportGivenUp = (folder: StorageFolder, name: ActivityName, input: unknown, problem: string) =>
  Effect.gen(function* () {
    if (name === "extraction") return yield* documentGivenUp(folder, yield* decoded(name, ExtractionInput, input), problem)
    const given = yield* decoded(name, inputSchemas[name], input)
    const { batchId } = given
    const batch = yield* Effect.flatMap(Batches, (batches) => batches.state(batchId))
    if (batch._tag !== stateOfActivity[name]) return
    // A manual call may omit the attempt.
    const enqueued = stageInput(batch)
    if (!isDeepStrictEqual({ ...enqueued, ...given }, enqueued))
      return yield* refused(name, `${batchId} enqueued this input instead: ${JSON.stringify(enqueued)}`)
    const fault = E.Fail({ stage: stageOf(batch), attempt: batch.attempt, error: { code: givenUpCode, message: problem } })
    const { report } = yield* Batches
    yield* Effect.catchIf(report(batchId, fault, `${batch.attempt}/${batch._tag}/failed`), isPassedBy, () => Effect.void)
  })

const inputSchemas = {
  resolution: ResolutionInput,
  validation: ValidationInput,
  ingestion: IngestionInput,
} as const satisfies Readonly<Record<Exclude<ActivityName, "extraction">, unknown>>

/** The error code of a batch whose stage failed as often as its queue allows. */
const givenUpCode = "TaskGivenUp"

const documentGivenUp = (folder: StorageFolder, input: typeof ExtractionInput.Type, problem: string) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Extracting")
    const { batch } = stage
    if (batch?._tag !== "Extracting") return
    const { batchId } = batch
    const document = yield* documentOf(stage.manifest, input)
    const standing = (yield* Effect.flatMap(BatchEventLog, (log) => log.standings(batchId, [document.documentId]))).get(document.documentId)
    // A result that the activity itself has logged is not logged again, but the batch may not have received it.
    if (standing?.status === "completed" || standing?.status === "set-aside" || isFailedIn(standing, roundOf(batch)))
      return yield* reportCounts(folder, stage, document.documentId)
    const runId = runIdOf({ batchId, documentId: document.documentId, attempt: 0 })
    const failed = new RunFailed({ runId, code: givenUpCode, detail: problem, retryable: false })
    yield* settle(folder, stage, document, meaningOf(batch.config, document, failed))
  })

const isFailedIn = (standing: DocumentStanding | undefined, round: number): boolean =>
  standing?.status === "failed" && standing.round >= round

const refused = (activity: ActivityName, problem: string) => new ActivityInputRefused({ activity, problem })

/** Finds the document in the manifest. Refuses input that contradicts the manifest. */
const documentOf = (manifest: Manifest, { batchId, documentId, sourceUri, ontologyUri }: typeof ExtractionInput.Type) =>
  Effect.gen(function* () {
    const found = manifest.documents.find((one) => one.documentId === documentId)
    if (found === undefined)
      return yield* refused("extraction", `${batchId} has no document ${documentId}; take the ids of its manifest.json`)
    if (found.sourceUri !== sourceUri)
      return yield* refused("extraction", `document ${documentId} is at ${found.sourceUri}, not at ${sourceUri}`)
    if (manifest.ontologyUri !== ontologyUri)
      return yield* refused("extraction", `the ontology of ${batchId} is at ${manifest.ontologyUri}, not at ${ontologyUri}`)
    return found
  })

/** Writes the outcome of a document to the event log, and reports to the batch: the progress of the extraction, or that it stops. */
const settle = (folder: StorageFolder, stage: StageRequest, document: ManifestDocument, { outcome, stop }: FailureMeaning) =>
  Effect.gen(function* () {
    const { batch, report, manifest } = stage
    if (batch?._tag !== "Extracting") return
    if (outcome !== undefined) yield* logEnd(batch, document, outcome)
    if (stop === undefined) return yield* reportCounts(folder, stage, document.documentId)
    yield* report(E.DocumentsCounted(yield* countedSoFar(batch)))
    yield* writeMetadata(folder, batch, manifest)
    const { attempt } = batch
    const error = { code: stop.code, message: stop.problem }
    yield* report(E.Fail({ stage: "extracting", attempt, error }), `${attempt}/Extracting/failed`)
  })

const logEnd = (batch: typeof S.Extracting.Type, document: ManifestDocument, outcome: DocumentOutcome) =>
  Effect.gen(function* () {
    const { batchId } = batch
    const { documentId } = document
    const log = yield* BatchEventLog
    const [round, at] = [roundOf(batch), yield* Clock.currentTimeMillis]
    if ((yield* log.standings(batchId, [documentId])).get(documentId)?.status === "completed") return
    if (outcome._tag !== "Unchanged") yield* log.emit(BatchEvent.cases.DocumentStarted.make({ batchId, at, documentId, round }))
    yield* log.emit(endEvent({ batchId, at, round }, document, outcome))
  })

/** Reports the progress of the extraction, or its completion when all documents have ended. */
export const reportExtracted = (folder: StorageFolder, batchId: BatchId, documentId: DocumentId) =>
  Effect.flatMap(stageRequest(folder, batchId, "Extracting"), (stage) => reportCounts(folder, stage, documentId))

/**
 * Sends the counts to the batch. The activity that finds all documents done completes the stage: when two activities end together, the
 * later one finds both results in the log.
 */
const reportCounts = (folder: StorageFolder, { batch, report, manifest }: StageRequest, documentId: DocumentId) =>
  Effect.gen(function* () {
    if (batch?._tag !== "Extracting") return
    const { attempt, documentsTotal } = batch
    const counted = yield* countedSoFar(batch)
    if (counted.documentsCompleted + counted.documentsFailed + counted.documentsSetAside < documentsTotal)
      return yield* Effect.asVoid(report(E.DocumentsCounted({ ...counted, currentDocumentId: documentId })))
    yield* writeMetadata(folder, batch, manifest)
    // Several activities may find all documents done. Each sends its own event id: the batch takes the first event and refuses the others.
    const event = E.ExtractionComplete({ ...(yield* countedAtEnd(batch, manifest)), attempt })
    if (yield* report(event, `${attempt}/extracted/${documentId}`)) yield* countStage("extracting", batch.failuresSince)
  })

/** A failure that the queue or the job runner can retry is not settled: it repeats the activity, or gives it up. */
const settleFailure = (folder: StorageFolder, stage: StageRequest, document: ManifestDocument, failed: RunFailed) =>
  Effect.gen(function* () {
    const run = yield* Effect.flatMap(RunStore, (runs) => runs.get(failed.runId))
    yield* writeRecord(folder, stage, document, { run: Option.getOrUndefined(run) })
    if (failed.retryable && failed.stops === undefined) return
    yield* settle(folder, stage, document, meaningOf(stage.request.config, document, failed))
  })

/** Keeps only the graphs of documents that this batch extracted. The canonical graph already has the other documents unchanged. */
const extractedGraphs = (folder: StorageFolder, { manifest, request }: StageRequest, uris: ReadonlyArray<StorageUri>) =>
  Effect.map(
    Effect.flatMap(RunStore, (runs) => runs.ofBatch(request.batchId)),
    (runs) => {
      const own = new Set(runs.filter(({ status }) => status === "succeeded").map(({ documentId }) => documentId))
      const others = manifest.documents.filter(({ documentId }) => !own.has(documentId))
      const unchanged = new Set(others.map(({ documentId }) => blobIn(folder, pathsOfDocument(documentId).graph)))
      return uris.filter((uri) => !unchanged.has(uri))
    },
  )

/** Refuses files that are not graphs of the batch, even readable ones: their lines would make its graph unreadable for queries. */
const checkGraphs = (folder: StorageFolder, { manifest, request }: StageRequest, uris: ReadonlyArray<StorageUri>) => {
  const known = new Set(manifest.documents.map(({ documentId }) => blobIn(folder, pathsOfDocument(documentId).graph)))
  const other = uris.find((uri) => !known.has(uri))
  return other === undefined
    ? Effect.void
    : Effect.fail(
        refused("resolution", `${other} is not a graph of a document of ${request.batchId}; pass those that its extractions returned`),
      )
}

/** Refuses a file that no stage of the batch has written. */
const checkLines = (folder: StorageFolder, activity: ActivityName, batchId: BatchId, uri: StorageUri) => {
  const path = uri.startsWith(folder) ? uri.slice(folder.length) : ""
  return isLinesPath(path) && path.startsWith(`batches/${batchId}/`)
    ? Effect.void
    : Effect.fail(
        refused(activity, `${uri} is not a file that a stage of ${batchId} has written; pass the one that the previous activity returned`),
      )
}

const isLinesPath = Schema.is(BatchLinesPath)

const givenGraphs = (uris: ReadonlyArray<StorageUri>) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const infos = yield* Effect.forEach(uris, storage.info, { concurrency: 16 })
    const versions = infos.flatMap(Option.toArray).map(({ uri, generation }) => [uri, generation] as const)
    return { graphs: Stream.fromIterable(uris.map(linesAt)), versions } satisfies GivenGraphs
  })

const resolution = (folder: StorageFolder) => (input: typeof ResolutionInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Resolving")
    const { documentGraphUris: given } = input
    if (given !== undefined) yield* checkGraphs(folder, stage, given)
    const state = { ...stage.request, _tag: "Resolving" } as const
    const work =
      given === undefined
        ? resolveEntities(folder, state)
        : resolveEntities(folder, state, yield* givenGraphs(yield* extractedGraphs(folder, stage, given)))
    const { value, durationMs } = yield* reported(stage, "Resolving", work, (done, attempt) => E.ResolutionComplete({ ...done, attempt }))
    return { resolvedUri: value.graph.uri, entitiesTotal: value.entitiesTotal, clustersFormed: value.clustersFormed, durationMs }
  })

const validation = (folder: StorageFolder) => (input: typeof ValidationInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Validating")
    if (stage.batch?._tag === "Validating" && stage.batch.resolvedGraph.uri !== input.resolvedUri)
      return yield* refused("validation", `${input.batchId} resolved to ${stage.batch.resolvedGraph.uri}, not to ${input.resolvedUri}`)
    if (stage.batch?._tag !== "Validating") yield* checkLines(folder, "validation", input.batchId, input.resolvedUri)
    const resolvedGraph = yield* graphAt(input.resolvedUri)
    const state = { entitiesTotal: 0, clustersFormed: 0, ...stage.request, _tag: "Validating", resolvedGraph } as const
    const { value, durationMs } = yield* reported(stage, "Validating", validateGraph(folder, state, input.shaclUri), (done, attempt) =>
      E.ValidationComplete({ ...done, attempt }),
    )
    return { validatedUri: value.graph.uri, conforms: value.violations === 0, violations: value.violations, durationMs }
  })

/** Another batch has published since this one was resolved, so this batch's graph is out of date. */
const movedOn = (batchId: BatchId) =>
  new ActivityRefused({
    batchId,
    problem: "was resolved against an earlier version of the graph",
    nextStep: "run the activities resolution, validation and ingestion again",
  })

/** Removes the added facts when the batch failed or was cancelled before this activity added them. */
const takeBackLate = (folder: StorageFolder, ingesting: typeof S.Ingesting.Type) =>
  Effect.gen(function* () {
    const now = yield* Effect.flatMap(Batches, (batches) => batches.state(ingesting.batchId))
    if (now.attempt !== ingesting.attempt) return
    if (now._tag === "Failed") yield* takeBack(folder, ingesting)
    if (now._tag === "Cancelled") yield* withdrawGraph(folder, ingesting)
  })

const ingestion = (folder: StorageFolder) => (input: typeof IngestionInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Ingesting")
    const { targetNamespace } = stage.request
    if (targetNamespace !== input.targetNamespace)
      return yield* refused("ingestion", `${input.batchId} adds to the graph ${targetNamespace}, not to ${input.targetNamespace}`)
    if (stage.batch?._tag === "Ingesting" && stage.batch.validatedGraph.uri !== input.validatedUri)
      return yield* refused("ingestion", `${input.batchId} validated ${stage.batch.validatedGraph.uri}, not ${input.validatedUri}`)
    if (stage.batch?._tag !== "Ingesting") yield* checkLines(folder, "ingestion", input.batchId, input.validatedUri)
    // A finished batch is not ingested again: its facts may have been reviewed, replaced by later batches or withdrawn since.
    if (stage.batch?._tag === "Completed" || stage.batch?._tag === "PartiallyCompleted") {
      const { canonicalGraphUri, stats } = stage.batch
      return { canonicalUri: canonicalGraphUri, triplesIngested: stats.triplesIngested, durationMs: 0 }
    }
    const validatedGraph = yield* graphAt(input.validatedUri)
    const state = {
      resolvedGraph: validatedGraph,
      entitiesTotal: 0,
      clustersFormed: 0,
      violations: 0,
      quarantined: 0,
      reportUri: stage.request.manifestUri,
      ...stage.request,
      _tag: "Ingesting",
      validatedGraph,
    } as const
    const { value, isTaken, durationMs } = yield* reported(stage, "Ingesting", addToGraph(folder, state), (done, attempt) =>
      "movedTo" in done ? E.GraphMoved({ version: done.movedTo, attempt }) : E.IngestionComplete({ ...done, attempt }),
    )
    if ("movedTo" in value) return yield* movedOn(input.batchId)
    if (!isTaken && stage.batch?._tag === "Ingesting") yield* takeBackLate(folder, stage.batch)
    return { canonicalUri: value.canonicalGraphUri, triplesIngested: validatedGraph.triples, durationMs }
  })
