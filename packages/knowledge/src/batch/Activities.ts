/**
 * The stages of a batch as activities that a job runner starts one by one: extraction for each document, then resolution,
 * validation and ingestion. Each uses the configuration of its batch and reports to it, so that the activities of a batch with
 * `dispatch: "activities"` move it to its end. Run again with the same input, an activity finds what it did before or does the same.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { writeLines } from "../graph/StoredLines.ts"
import { documentLines } from "../rdf/FactGraph.ts"
import { Extractions } from "../runs/Extractions.ts"
import { documentNode } from "../runs/Run.ts"
import type { RunFailed } from "../runs/RunFailed.ts"
import { RunStore } from "../runs/RunStore.ts"
import { pathsOfDocument } from "../storage/Paths.ts"
import { Storage } from "../storage/Storage.ts"
import { blobIn, type StorageFolder } from "../storage/Uri.ts"
import {
  type ActivityName,
  ExtractionInput,
  ExtractionOutput,
  IngestionInput,
  IngestionOutput,
  ResolutionInput,
  ResolutionOutput,
  ValidationInput,
  ValidationOutput,
} from "./ActivityInput.ts"
import { selectionOf } from "./BatchConfig.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { E } from "./BatchMachine.ts"
import { roundOf, usageOf } from "./ExtractionReport.ts"
import { ingestGraph, resolveEntities, validateGraph } from "./GraphStages.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"
import { graphAt, linesAt, reported, type StageRequest, stageRequest } from "./StageRun.ts"

export * from "./ActivityInput.ts"
export { ActivityRefused } from "./StageRun.ts"

const facts = BatchEvent.cases

/** The input of an activity does not fit its schema. */
export class ActivityInputRefused extends Schema.TaggedError<ActivityInputRefused>()("ActivityInputRefused", {
  activity: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the input of ${this.activity} is refused: ${this.problem}`
  }
}

/** Runs an activity on JSON as it came, and gives its output as JSON. */
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
  Effect.mapError(
    Schema.decodeUnknownEffect(Schema.toCodecJson(inputSchema))(input),
    ({ message }) => new ActivityInputRefused({ activity, problem: message }),
  ).pipe(
    Effect.flatMap(run),
    Effect.flatMap((output) => Effect.orDie(Schema.encodeEffect(Schema.toCodecJson(outputSchema))(output))),
  )

const extraction = (folder: StorageFolder) => (input: typeof ExtractionInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Extracting")
    const { manifest, request } = stage
    const document = yield* documentOf(manifest, input)
    const extractions = yield* Extractions
    const startedAt = yield* Clock.currentTimeMillis
    const result = yield* extractions
      .complete(
        {
          sourceUri: document.sourceUri,
          contentType: document.contentType,
          ontologyUri: manifest.ontologyUri,
          ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
          config: request.config.pipeline,
          selection: selectionOf(request.config),
          part: { batchId: input.batchId, attempt: 0 },
        },
        // The job runner starts an activity again so that it is tried again.
        startedAt,
      )
      .pipe(Effect.tapError((failed) => reportFailure(stage, document, failed)))
    const paths = pathsOfDocument(input.documentId)
    const described = Stream.fromIterable(documentLines(documentNode(yield* extractions.get(result.runId))))
    const { uri } = yield* writeLines(blobIn(folder, paths.graph), Stream.concat(described, extractions.lines(result.runId)))
    yield* (yield* Storage).set(blobIn(folder, paths.input), yield* extractions.text(result.runId))
    yield* reportDocument(stage, document, (_round, at) =>
      facts.DocumentCompleted.make({
        batchId: input.batchId,
        at,
        documentId: input.documentId,
        entityCount: result.entities,
        relationCount: result.facts,
      }),
    )
    const durationMs = Math.round((yield* Clock.currentTimeMillis) - startedAt)
    return { documentId: input.documentId, graphUri: uri, entityCount: result.entities, relationCount: result.facts, durationMs }
  })

const refused = (activity: ActivityName, problem: string) => new ActivityInputRefused({ activity, problem })

/** The document as the manifest names it. */
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

type DocumentEnd = typeof facts.DocumentCompleted.Type | typeof facts.DocumentFailed.Type

/**
 * Logs what became of a document and counts for the batch. The activity that finds all documents done moves the batch on: of two
 * that end together, the later one finds both in the log.
 */
const reportDocument = (
  { batch, report }: StageRequest,
  { documentId }: ManifestDocument,
  eventOf: (round: number, at: number) => DocumentEnd,
) =>
  Effect.gen(function* () {
    if (batch?._tag !== "Extracting") return
    const { batchId, attempt, documentsTotal } = batch
    const log = yield* BatchEventLog
    const round = roundOf(batch)
    const at = yield* Clock.currentTimeMillis
    const standing = (yield* log.standings(batchId, [documentId])).get(documentId)
    if (standing?.status !== "completed") {
      yield* log.emit(facts.DocumentStarted.make({ batchId, at, documentId, round }))
      yield* log.emit(eventOf(round, at))
    }
    const { completed, failed } = yield* log.counts(batchId)
    const { entities, facts: relations, usage } = yield* Effect.flatMap(RunStore, (runs) => runs.totals(batchId))
    const counted = {
      documentsCompleted: completed,
      documentsFailed: failed,
      entityCount: entities,
      relationCount: relations,
      ...(usage.calls === 0 ? {} : { usage: usageOf(usage) }),
    }
    if (completed + failed < documentsTotal) return yield* report(E.DocumentsCounted(counted))
    yield* report(E.ExtractionComplete(counted), `${attempt}/extracted`)
  })

/** What the job runner can try again is not reported. A document that cannot be read counts as failed. */
const reportFailure = (stage: StageRequest, document: ManifestDocument, { retryable, stops, code, detail }: RunFailed) =>
  Effect.gen(function* () {
    const { batch, report } = stage
    if (batch?._tag !== "Extracting") return
    if (stops !== undefined || (!retryable && batch.config.failurePolicy === "failFast")) {
      const error = { code: stops ?? code, message: `document ${document.sourceUri}: ${detail}` }
      return yield* report(E.Fail({ stage: "extracting", attempt: batch.attempt, error }), `${batch.attempt}/Extracting/failed`)
    }
    if (retryable) return
    yield* reportDocument(stage, document, (round, at) =>
      facts.DocumentFailed.make({ batchId: batch.batchId, at, documentId: document.documentId, round, error: detail }),
    )
  })

const resolution = (folder: StorageFolder) => (input: typeof ResolutionInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Resolving")
    const documents = Stream.fromIterable(input.documentGraphUris.map(linesAt))
    const { event, durationMs } = yield* reported(stage, "ResolutionComplete", (tell) =>
      resolveEntities(folder, { ...stage.request, _tag: "Resolving" }, tell, documents),
    )
    return { resolvedUri: event.graph.uri, entitiesTotal: event.entitiesTotal, clustersFormed: event.clustersFormed, durationMs }
  })

const validation = (folder: StorageFolder) => (input: typeof ValidationInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Validating")
    if (stage.batch?._tag === "Validating" && stage.batch.resolvedGraph.uri !== input.resolvedUri)
      return yield* refused("validation", `${input.batchId} resolved to ${stage.batch.resolvedGraph.uri}, not to ${input.resolvedUri}`)
    const resolvedGraph = yield* graphAt(input.resolvedUri)
    const state = { entitiesTotal: 0, clustersFormed: 0, ...stage.request, _tag: "Validating", resolvedGraph } as const
    const { event, durationMs } = yield* reported(stage, "ValidationComplete", (tell) => validateGraph(folder, state, tell, input.shaclUri))
    return { validatedUri: event.graph.uri, conforms: event.violations === 0, violations: event.violations, durationMs }
  })

const ingestion = (folder: StorageFolder) => (input: typeof IngestionInput.Type) =>
  Effect.gen(function* () {
    const stage = yield* stageRequest(folder, input.batchId, "Ingesting")
    const { targetNamespace } = stage.request
    if (targetNamespace !== input.targetNamespace)
      return yield* refused("ingestion", `${input.batchId} adds to the graph ${targetNamespace}, not to ${input.targetNamespace}`)
    if (stage.batch?._tag === "Ingesting" && stage.batch.validatedGraph.uri !== input.validatedUri)
      return yield* refused("ingestion", `${input.batchId} validated ${stage.batch.validatedGraph.uri}, not ${input.validatedUri}`)
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
    const { event, durationMs } = yield* reported(stage, "IngestionComplete", (tell) => ingestGraph(folder, state, tell))
    return { canonicalUri: event.canonicalGraphUri, triplesIngested: validatedGraph.triples, durationMs }
  })
