/**
 * A document of a batch: the record of its source, run and errors, and whether the graph has its version already. `metadata.json` of a
 * batch holds the records of its documents; an extraction activity writes the record of its one document.
 */

import { ContentHash, contentHashOf, startHash } from "@detent/blobs/ContentHash"
import { blobIn, getText, Storage, type StorageFolder, StorageUri } from "@detent/blobs/Storage"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type BatchDocuments, decodeDocuments, type GraphDocument } from "../graph/BatchDocuments.ts"
import { CanonicalGraph, type Contribution, type GraphVersion } from "../graph/CanonicalGraph.ts"
import { documentsOfLines, linesOnlyIn, storedLines } from "../graph/GraphLines.ts"
import { schemaVersion } from "../runs/Extractions.ts"
import { resumptionOf } from "../runs/ExtractionWorkflow.ts"
import { Extractors } from "../runs/Extractors.ts"
import { type ExtractionRun, isSetAside, messageOf, setAsideCode } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { BatchId, DocumentId, OntologyVersion, RunId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"
import { type BatchConfig, type BatchState, type S, selectionOf } from "./BatchState.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"

/** `set-aside`: it exceeded a limit twice and is not tried again in its batch. */
export const DocumentStatus = Schema.Literals(["pending", "processing", "completed", "failed", "set-aside"])
export type DocumentStatus = typeof DocumentStatus.Type

/** Something that went wrong, kept for as long as the document is. */
export const DocumentProblem = Schema.Struct({
  timestamp: Schema.DateTimeUtc,
  code: Schema.String,
  message: Schema.String,
})
export type DocumentProblem = typeof DocumentProblem.Type

export class Document extends Schema.TaggedClass<Document>()("Document", {
  documentId: DocumentId,
  /** Absent for a document that could not be read to its end, and for an unchanged one, which the graph had already. */
  contentHash: Schema.optionalKey(ContentHash),

  sourceUri: StorageUri,
  contentType: Schema.String,
  sizeBytes: Count,
  fetchedAt: Schema.DateTimeUtc,

  ontologyVersion: OntologyVersion,
  modelId: Schema.String,

  status: DocumentStatus,

  processingDurationMs: Schema.optionalKey(Schema.Finite),
  tokenUsage: Schema.optionalKey(Schema.Struct({ input: Count, output: Count })),
  retryCount: Count,
  errors: Schema.Array(DocumentProblem),

  extractionOutputUri: Schema.optionalKey(StorageUri),
  batchId: Schema.optionalKey(BatchId),
  /** Absent for an unchanged document, which was not extracted again. */
  runId: Schema.optionalKey(RunId),
}) {}

export const DocumentJson = Schema.fromJsonString(Schema.toCodecJson(Document))

const DocumentsJson = Schema.fromJsonString(Schema.Array(Schema.toCodecJson(Document)))

/** The fields that all records of a batch share. */
type Batch = Pick<BatchState, "batchId" | "ontologyVersion" | "createdAt" | "config">

interface Recorded {
  readonly run: ExtractionRun | undefined
  readonly tokens?: { readonly input: number; readonly output: number } | undefined
  /** The record of an earlier attempt, whose problems are kept. */
  readonly before?: Document | undefined
  readonly extractionOutputUri?: StorageUri
}

const statuses = { queued: "pending", running: "processing", succeeded: "completed", failed: "failed", cancelled: "pending" } as const

/** The record of a document. A document without a run is unchanged: the graph has this version. */
export const documentRecord = (
  { batchId, ontologyVersion, createdAt }: Batch,
  modelId: string,
  { documentId, sourceUri, contentType, sizeBytes }: ManifestDocument,
  { run, tokens, before, extractionOutputUri }: Recorded,
): Document => {
  const startedAt = run === undefined ? undefined : Option.getOrUndefined(run.startedAt)
  const endedAt = run === undefined ? undefined : Option.getOrUndefined(run.completedAt)
  const contentHash = run === undefined ? undefined : Option.getOrUndefined(run.inputHash)
  return new Document({
    documentId,
    ...(contentHash === undefined ? {} : { contentHash }),
    sourceUri,
    contentType,
    sizeBytes,
    fetchedAt: startedAt ?? DateTime.makeUnsafe(createdAt),
    ontologyVersion,
    modelId,
    status: run === undefined ? "completed" : isSetAside(run) ? "set-aside" : statuses[run.status],
    ...(startedAt === undefined || endedAt === undefined
      ? {}
      : { processingDurationMs: Math.max(0, endedAt.epochMilliseconds - startedAt.epochMilliseconds) }),
    ...(tokens === undefined ? {} : { tokenUsage: tokens }),
    retryCount: run === undefined ? 0 : Math.max(0, resumptionOf(run)),
    errors: problemsOf(run, before?.errors ?? []),
    ...(extractionOutputUri === undefined ? {} : { extractionOutputUri }),
    batchId,
    ...(run === undefined ? {} : { runId: run.runId }),
  })
}

const problemsOf = (run: ExtractionRun | undefined, before: ReadonlyArray<DocumentProblem>): ReadonlyArray<DocumentProblem> => {
  const ending = run === undefined ? undefined : Option.getOrUndefined(run.ending)
  if (run === undefined || run.status !== "failed" || ending === undefined) return before
  const timestamp = Option.getOrElse(run.completedAt, () => run.createdAt)
  if (before.some((problem) => problem.timestamp.epochMilliseconds === timestamp.epochMilliseconds)) return before
  const code = ending._tag === "Failed" ? ending.code : ending._tag === "SetAside" ? setAsideCode : ending._tag
  return [...before, { timestamp, code, message: messageOf(ending) }]
}

/** Writes the records of all documents of a batch, with the problems of its earlier attempts. */
export const writeMetadata = (folder: StorageFolder, state: Batch & Pick<BatchState, "attempt">, manifest: Manifest) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const runs = yield* RunStore
    const { extractor } = (yield* Extractors).estimator(selectionOf(state.config))
    const uri = blobIn(folder, pathsOfBatch(state.batchId).metadata)
    const earlier = state.attempt === 0 ? [] : yield* recordsAt(uri)
    const before = new Map(earlier.filter(({ errors }) => errors.length > 0).map((one) => [one.documentId, one]))
    const ofDocument = new Map((yield* runs.ofBatch(state.batchId)).map((run) => [run.documentId, run]))
    const work = extractor === "built-in" ? undefined : yield* runs.workOf(state.batchId)
    const encode = Schema.encodeEffect(DocumentJson)
    const lines = Stream.mapEffect(Stream.fromIterable(manifest.documents.entries()), ([index, document]) => {
      const run = ofDocument.get(document.documentId)
      const usage = run === undefined ? undefined : work?.get(run.runId)?.usage
      const tokens = usage === undefined ? undefined : { input: usage.inputTokens, output: usage.outputTokens }
      const recorded = { run, tokens, before: before.get(document.documentId) }
      return Effect.map(
        Effect.orDie(encode(documentRecord(state, extractor, document, recorded))),
        (json) => `${index === 0 ? "[" : ",\n"}${json}`,
      )
    })
    yield* storage.setStream(uri, Stream.encodeText(Stream.concat(lines, Stream.succeed("]\n"))))
  })

/** The records that an earlier attempt wrote. Empty when it ended before it wrote them. */
const recordsAt = (uri: StorageUri) =>
  Effect.gen(function* () {
    const text = yield* getText(yield* Storage, uri)
    return yield* Effect.orDie(Schema.decodeEffect(DocumentsJson)(text))
  }).pipe(Effect.catchTag("BlobNotFound", () => Effect.succeed([])))

// Versions: which documents a batch extracts and which it withdraws. The source identifies a document, the hash of its bytes a version
// of it. A document is unchanged when the graph has the same version, extracted with the same ontology, extractor and configuration. A
// document is gone when the graph has it from the batch's folder or manifest, read before the batch listed its documents, and the batch
// does not name it.

/** The hash of all settings that affect an extraction. Undefined when the examples have no hash: then no document counts as unchanged. */
export const settingOf = (
  { ontologyVersion, examplesUri, examplesHash, mappingHash }: Manifest,
  config: BatchConfig,
): Effect.Effect<ContentHash | undefined, never, Extractors> =>
  Effect.map(Extractors, (extractors) => {
    if (examplesUri !== undefined && examplesHash === undefined) return undefined
    const { extractor } = extractors.estimator(selectionOf(config))
    const {
      pipeline: { concurrency: _, ...pipeline },
      resolveEntities,
    } = config
    const ontologyHash = ontologyVersion.split("@")[1]
    const { instructions, glossary } = config
    const guidance = instructions === undefined && glossary === undefined ? [] : [instructions ?? "", glossary ?? {}]
    return contentHashOf(
      JSON.stringify([
        schemaVersion,
        ontologyHash,
        extractor,
        examplesHash ?? "",
        mappingHash ?? "",
        pipeline,
        resolveEntities,
        ...guidance,
      ]),
    )
  })

/** The batch and the graph it is for. */
type OfGraph = Pick<BatchState, "batchId" | "targetNamespace">

/** Returns a lookup of the graph's entry for a document: undefined unless it has the document's current bytes and this setting. */
export const unchangedDocuments = ({ batchId, targetNamespace }: OfGraph, setting: ContentHash | undefined) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const storage = yield* Storage
    const current = yield* canonical.current(targetNamespace)
    const known = Option.isNone(current)
      ? new Map<string, GraphDocument>()
      : yield* canonical.documents(current.value, { without: batchId })
    return (document: ManifestDocument): Effect.Effect<GraphDocument | undefined> => {
      const before = known.get(document.documentId)
      if (setting === undefined || before?.setting !== setting || before.contentHash === undefined) return Effect.undefined
      return Effect.match(hashOf(storage, document), {
        // The extraction meets the same error and reports it.
        onFailure: () => undefined,
        onSuccess: (hash) => (hash === before.contentHash ? before : undefined),
      })
    }
  })

/** In bytes. Larger files are hashed as a stream. */
const wholeAtMost = 1_000_000

const hashOf = (storage: typeof Storage.Service, { sourceUri, sizeBytes }: ManifestDocument) =>
  Effect.suspend(() => {
    if (sizeBytes <= wholeAtMost) return Effect.map(storage.get(sourceUri), (blob) => blob.hash)
    const hash = startHash()
    return Effect.map(
      Stream.runForEach(storage.getStream(sourceUri), (piece) => Effect.sync(() => hash.update(piece))),
      () => hash.end(),
    )
  })

/** The documents by which a batch changes a version of the graph: those it has extracted, and those that are gone. */
export const documentsBrought = (
  { batchId }: OfGraph,
  manifest: Manifest,
  setting: ContentHash | undefined,
  current: Option.Option<GraphVersion>,
  now: number,
) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const runs = yield* Effect.flatMap(RunStore, (store) => store.ofBatch(batchId))
    const { collection } = manifest
    const documents = runs
      .filter(({ status }) => status === "succeeded")
      .map(
        ({ documentId, inputUri, inputHash, title, language, unread, runId, startedAt }): GraphDocument => ({
          documentId,
          at: Option.match(startedAt, { onNone: () => now, onSome: ({ epochMilliseconds }) => epochMilliseconds }),
          source: inputUri,
          runId,
          ...(title === undefined ? {} : { title }),
          ...(language === undefined ? {} : { language }),
          ...(unread === undefined ? {} : { unread }),
          ...Option.match(inputHash, { onNone: () => ({}), onSome: (contentHash) => ({ contentHash }) }),
          ...(setting === undefined ? {} : { setting }),
          ...(collection === undefined ? {} : { collection }),
        }),
      )
    const isGoneFrom = (folder: string, { source, collection: own }: GraphDocument) =>
      own === folder || (folder.endsWith("/") && source?.startsWith(folder) === true)
    if (collection === undefined || manifest.keepMissing === true || Option.isNone(current))
      return { documents, withdrawn: [] } satisfies BatchDocuments
    const named = new Set<string>(manifest.documents.map(({ documentId }) => documentId))
    const known = yield* canonical.documents(current.value, { without: batchId })
    // A batch that started later may have found documents that were not there yet.
    const at = (manifest.listedAt ?? manifest.createdAt).epochMilliseconds
    const withdrawn = [...known.values()]
      .filter((document) => !named.has(document.documentId) && document.at <= at && isGoneFrom(collection, document))
      .map(({ documentId }) => ({ documentId: DocumentId.make(documentId), at }))
      .toSorted((left, right) => (left.documentId < right.documentId ? -1 : 1))
    return { documents, withdrawn } satisfies BatchDocuments
  })

/** An unchanged document that is validated again, with its stored extraction. */
export interface DocumentAgain {
  readonly document: GraphDocument
  /** The run that extracted it. */
  readonly runId: RunId
}

/** The hash of all settings that affect a validation. Shapes are stored under the hash of their content. */
export const rulesOf = ({ shaclUri }: Pick<Manifest, "shaclUri">, { validation }: Pick<BatchConfig, "validation">): ContentHash =>
  contentHashOf(JSON.stringify([shaclUri?.split("/").at(-2) ?? "", validation]))

/**
 * The unchanged documents of a batch that were validated with other shapes, and those with statements that were held back from a graph
 * which has changed since. They are resolved and validated again without another extraction, as long as the extraction is stored.
 */
export const documentsAgain = (
  { batchId, config }: Pick<BatchState, "batchId" | "config">,
  manifest: Manifest,
  setting: ContentHash | undefined,
  current: Option.Option<GraphVersion>,
  changed: BatchDocuments,
) =>
  Effect.gen(function* () {
    if (Option.isNone(current) || setting === undefined) return []
    const canonical = yield* CanonicalGraph
    const storage = yield* Storage
    const rules = rulesOf(manifest, config)
    const taken = documentIds(changed)
    const others = current.value.contributions.filter((one) => one.batchId !== batchId)
    const isOpen = (one: Contribution) => one.held !== undefined || (one.validated !== undefined && one.validated.rules !== rules)
    if (!others.some(isOpen)) return []
    const known = yield* canonical.documents(current.value, { without: batchId })
    const named = new Set<string>(manifest.documents.map(({ documentId }) => documentId))
    const found: Array<DocumentAgain> = []
    for (const contribution of others.filter(isOpen)) {
      const { held, validated } = contribution
      const hasOtherRules = validated !== undefined && validated.rules !== rules
      if (!hasOtherRules && taken.size === 0 && !(yield* canonical.hasChangedSince(current.value, contribution))) continue
      const wanted = hasOtherRules || held === undefined ? undefined : yield* documentsOfLines(storedLines(storage, held))
      for (const { batchId: earlier, again: _, ...document } of known.values()) {
        const { documentId, runId } = document
        const isCandidate = earlier === contribution.batchId && named.has(documentId) && !taken.has(documentId)
        if (!isCandidate || document.setting !== setting || runId === undefined || wanted?.has(documentId) === false) continue
        // A millisecond later, so that the graph shows the document as this batch validates it.
        const moved = { ...document, at: document.at + 1 }
        found.push({ document: hasOtherRules ? moved : { ...moved, again: true }, runId })
      }
    }
    const stored = yield* Effect.flatMap(RunStore, (runs) => runs.withGraphs(found.map(({ runId }) => runId)))
    return found.filter(({ runId }) => stored.has(runId))
  })

/** The ids of all documents that the batch adds, replaces or withdraws. */
export const documentIds = ({ documents, withdrawn }: BatchDocuments): ReadonlySet<string> =>
  new Set([...documents, ...withdrawn].map(({ documentId }) => documentId))

/** The sorted lines of the graph that stay when the batch is published, and those that it replaces. Absent before the first batch. */
export const graphBeside = (state: Pick<typeof S.Validating.Type, "batchId" | "targetNamespace" | "documents">) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const current = yield* canonical.current(state.targetNamespace)
    if (Option.isNone(current)) return {}
    const list = state.documents === undefined ? undefined : yield* getText(yield* Storage, state.documents.uri)
    const changed = list === undefined ? new Set<string>() : documentIds(yield* Effect.orDie(decodeDocuments(list)))
    const existing = canonical.linesBeside(current.value, state.batchId, changed)
    return { existing, replaced: linesOnlyIn(canonical.lines(current.value), existing) }
  })
