/**
 * Which documents a batch has to extract, and which the graph loses. A document is its source, a version of it the hash of its
 * bytes. What the graph has in the same version, extracted with the same ontology, extractor and configuration, is unchanged. What
 * it has from the batch's folder or manifest and the batch does not name is gone.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type BatchDocuments, decodeDocuments, type GraphDocument } from "../graph/BatchDocuments.ts"
import { CanonicalGraph, type GraphVersion } from "../graph/CanonicalGraph.ts"
import { linesOnlyIn } from "../graph/StoredLines.ts"
import { schemaVersion } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import { RunStore } from "../runs/RunStore.ts"
import { type ContentHash, contentHashOf, DocumentId } from "../storage/Identity.ts"
import { getText, Storage, startHash } from "../storage/Storage.ts"
import { type BatchConfig, selectionOf } from "./BatchConfig.ts"
import type { BatchState, S } from "./BatchState.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"

/** Undefined where it is not known which examples the extractor learned from: then nothing counts as unchanged. */
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

/** Of a document, the version that the graph has, where it is the one of now and was extracted in this setting. */
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
        // Extracting it meets the same fault and reports it.
        onFailure: () => undefined,
        onSuccess: (hash) => (hash === before.contentHash ? before : undefined),
      })
    }
  })

/** In bytes: larger files are read in pieces. */
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

/** The changes of a batch to a version of the graph: the documents it has extracted, and those that are gone. */
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

/** All documents that the batch changes the graph of. */
export const documentIds = ({ documents, withdrawn }: BatchDocuments): ReadonlySet<string> =>
  new Set([...documents, ...withdrawn].map(({ documentId }) => documentId))

/** The sorted lines of the graph that stay when the batch is published, and those that go. Neither before the first batch. */
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
