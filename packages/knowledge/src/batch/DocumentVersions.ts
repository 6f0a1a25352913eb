/**
 * Decides which documents a batch extracts and which it withdraws. The source identifies a document, the hash of its bytes a version of
 * it. A document is unchanged when the graph has the same version, extracted with the same ontology, extractor and configuration. A
 * document is gone when the graph has it from the batch's folder or manifest and the batch does not name it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type BatchDocuments, decodeDocuments, type GraphDocument } from "../graph/BatchDocuments.ts"
import { CanonicalGraph, type GraphVersion } from "../graph/CanonicalGraph.ts"
import { linesOnlyIn } from "../graph/GraphLines.ts"
import { schemaVersion } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type ContentHash, contentHashOf, DocumentId } from "../storage/Identity.ts"
import { getText, Storage, startHash } from "../storage/Storage.ts"
import { type BatchConfig, type BatchState, type S, selectionOf } from "./BatchState.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"

/** The hash of all settings that affect an extraction. Undefined when the examples have no hash: then no document counts as unchanged. */
export const settingOf = (
  { ontologyVersion, examplesUri, examplesHash }: Manifest,
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
    return contentHashOf(JSON.stringify([schemaVersion, ontologyHash, extractor, examplesHash ?? "", pipeline, resolveEntities]))
  })

type Batch = Pick<BatchState, "batchId" | "targetNamespace">

/** Returns a lookup of the graph's entry for a document: undefined unless it has the document's current bytes and this setting. */
export const unchangedDocuments = ({ batchId, targetNamespace }: Batch, setting: ContentHash | undefined) =>
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
  { batchId }: Batch,
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
        ({ documentId, inputUri, inputHash, title, language, unread, runId, completedAt }): GraphDocument => ({
          documentId,
          at: Option.match(completedAt, { onNone: () => now, onSome: ({ epochMilliseconds }) => epochMilliseconds }),
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
    const withdrawn = [...known.values()]
      .filter((document) => !named.has(document.documentId) && isGoneFrom(collection, document))
      .map(({ documentId }) => ({ documentId: DocumentId.make(documentId), at: now }))
      .toSorted((left, right) => (left.documentId < right.documentId ? -1 : 1))
    return { documents, withdrawn } satisfies BatchDocuments
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
