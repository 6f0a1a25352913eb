/**
 * The stages of a batch as activities that a job runner starts one by one: extraction for each document, then resolution,
 * validation and ingestion. Run again with the same input, an activity finds what it did before or does the same again.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Extractions } from "../runs/Extractions.ts"
import { pathsOfDocument } from "../storage/Paths.ts"
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
import { ingestGraph, resolveEntities, validateGraph } from "./GraphStages.ts"
import { writeLines } from "./StageFiles.ts"
import { graphAt, heard, linesAt, stageRequest } from "./StageRun.ts"

export * from "./ActivityInput.ts"

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
    const { manifest } = yield* stageRequest(folder, input.batchId)
    const extractions = yield* Extractions
    const startedAt = yield* Clock.currentTimeMillis
    const contentType = manifest.documents.find(({ documentId }) => documentId === input.documentId)?.contentType
    const result = yield* extractions.complete(
      {
        sourceUri: input.sourceUri,
        ontologyUri: input.ontologyUri,
        ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
        ...(contentType === undefined ? {} : { contentType }),
        part: { batchId: input.batchId, attempt: 0 },
      },
      // Whoever starts the activity again wants it to be tried again.
      startedAt,
    )
    const { uri } = yield* writeLines(blobIn(folder, pathsOfDocument(input.documentId).graph), extractions.lines(result.runId))
    const durationMs = Math.round((yield* Clock.currentTimeMillis) - startedAt)
    return { documentId: input.documentId, graphUri: uri, entityCount: result.entities, relationCount: result.facts, durationMs }
  })

const resolution = (folder: StorageFolder) => (input: typeof ResolutionInput.Type) =>
  Effect.gen(function* () {
    const { request } = yield* stageRequest(folder, input.batchId)
    const documents = Stream.fromIterable(input.documentGraphUris.map(linesAt))
    const { event, durationMs } = yield* heard("ResolutionComplete", (tell) =>
      resolveEntities(folder, { _tag: "Resolving", ...request }, tell, documents),
    )
    return { resolvedUri: event.graph.uri, entitiesTotal: event.entitiesTotal, clustersFormed: event.clustersFormed, durationMs }
  })

const validation = (folder: StorageFolder) => (input: typeof ValidationInput.Type) =>
  Effect.gen(function* () {
    const { request } = yield* stageRequest(folder, input.batchId)
    const resolvedGraph = yield* graphAt(input.resolvedUri)
    const state = { _tag: "Validating", ...request, resolvedGraph, entitiesTotal: 0, clustersFormed: 0 } as const
    const { event, durationMs } = yield* heard("ValidationComplete", (tell) => validateGraph(folder, state, tell, input.shaclUri))
    return { validatedUri: event.graph.uri, conforms: event.violations === 0, violations: event.violations, durationMs }
  })

const ingestion = (folder: StorageFolder) => (input: typeof IngestionInput.Type) =>
  Effect.gen(function* () {
    const { request } = yield* stageRequest(folder, input.batchId)
    const validatedGraph = yield* graphAt(input.validatedUri)
    const state = {
      _tag: "Ingesting",
      ...request,
      targetNamespace: input.targetNamespace,
      resolvedGraph: validatedGraph,
      validatedGraph,
      entitiesTotal: 0,
      clustersFormed: 0,
      violations: 0,
      quarantined: 0,
      reportUri: request.manifestUri,
    } as const
    const { event, durationMs } = yield* heard("IngestionComplete", (tell) => ingestGraph(folder, state, tell))
    return { canonicalUri: event.canonicalGraphUri, triplesIngested: validatedGraph.triples, durationMs }
  })
