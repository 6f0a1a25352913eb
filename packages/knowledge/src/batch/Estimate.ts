/** The estimate of a batch before it starts: its documents are read and cut into chunks, and no model is called. */

import { Storage, type StorageFolder } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { streamOnWorkers } from "../document/DocumentReader.ts"
import { recordChunks } from "../document/RecordChunks.ts"
import { addUsage, noUsage, type Usage } from "../extract/Extractor.ts"
import { chunksOnWorkers } from "../extract/TextOnWorkers.ts"
import type { CanonicalGraph } from "../graph/CanonicalGraph.ts"
import { type CompiledFile, compileMapping } from "../mapping/CompiledMapping.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { passingDocument } from "../runs/ExtractionWorkflow.ts"
import { type EquipmentError, type Estimator, type ExtractorRefused, Extractors } from "../runs/Extractors.ts"
import { newBatchId } from "../storage/Identity.ts"
import { type BatchConfig, type BatchUsage, defaultBatchConfig, selectionOf } from "./BatchState.ts"
import { settingOf, unchangedDocuments } from "./Document.ts"
import { usageOf } from "./ExtractionCounts.ts"
import type { ManifestDocument, ManifestFile } from "./Manifest.ts"
import { type ManifestError, makeManifest, mappingIn } from "./ManifestMaking.ts"

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

export const estimateBatch = (
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
    const mapping =
      file.mapping === undefined
        ? undefined
        : yield* Effect.flatMap(mappingIn(folder, file.mapping), (found) =>
            Effect.fromResult(compileMapping(found.name, found.mapping, ontology)),
          )
    const unchangedIn = yield* unchangedDocuments(manifest, yield* settingOf(manifest, { ...wanted, ...selection }))
    const changed = yield* Effect.filter(
      manifest.documents,
      (document) => Effect.map(unchangedIn(document), (same) => same === undefined),
      { concurrency: estimatedAtOnce },
    )
    const found = yield* Effect.forEach(
      changed,
      (document) =>
        Effect.exit(estimateDocument(document, wanted.pipeline, ontology, estimator, mapping?.rulesFor(document.sourceUri) ?? [])),
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
  rules: ReadonlyArray<CompiledFile>,
) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const options = { size: windowSize, overlap }
    const passing = passingDocument(sourceUri, rules)
    const text = streamOnWorkers({ name: sourceUri, contentType }, storage.getStream(sourceUri), passing.notes)
    const chunks =
      rules.length === 0 ? chunksOnWorkers(sourceUri, options)(text) : recordChunks({ ...options, records: passing.takeMapped })(text)
    return yield* chunks.pipe(
      // The mapping reads its records without a call.
      Stream.filter(({ isMapped }) => isMapped !== true),
      Stream.runFoldEffect(
        (): { readonly chunks: number; readonly usage: Usage } => ({ chunks: 0, usage: noUsage }),
        // Yields before every chunk: the estimate compares its words with all classes of the ontology, and many chunks arrive at once.
        (sum, chunk) =>
          Effect.map(Effect.yieldNow, () => ({ chunks: sum.chunks + 1, usage: addUsage(sum.usage, estimate(chunk, ontology)) })),
      ),
    )
  })
