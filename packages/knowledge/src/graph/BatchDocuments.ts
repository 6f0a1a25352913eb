/** The documents that a batch adds to a graph and those it withdraws, stored beside the lines of its contribution. */

import { ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, getText, type StorageError, type StorageFolder, type StorageService, StorageUri } from "@detent/blobs/Storage"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { UnreadProse } from "../extract/language/ProseLanguage.ts"
import type { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import { type BatchId, DocumentId, RunId } from "../storage/Identity.ts"
import { pathOfDocuments, pathsOfBatch } from "../storage/Paths.ts"
import { documentsOfLines, type StoredLines, storedLines } from "./GraphLines.ts"

/** One version of one document, as a batch extracted it. An ingestion that ran without its batch knows only its id and source. */
export const GraphDocument = Schema.Struct({
  documentId: DocumentId,
  /**
   * When its bytes were read. Of several extractions, the graph shows the one that read last, not the one that ended last: that may
   * have read an older version. Without the batch, it is the time of the ingestion.
   */
  at: Schema.Int,
  source: Schema.optionalKey(StorageUri),
  title: Schema.optionalKey(Schema.String),
  /** A tag such as `de`. */
  language: Schema.optionalKey(Schema.String),
  /** Why the extractor skipped the document's prose. */
  unread: Schema.optionalKey(UnreadProse),
  /** Hash of the document's bytes. */
  contentHash: Schema.optionalKey(ContentHash),
  /** Hash of the ontology, extractor and configuration of the extraction. */
  setting: Schema.optionalKey(ContentHash),
  runId: Schema.optionalKey(RunId),
  /** The folder or manifest that the batch was made from. */
  collection: Schema.optionalKey(Schema.String),
  /** Set if the batch has only validated it again, for statements that were held back. */
  again: Schema.optionalKey(Schema.Literal(true)),
})
export type GraphDocument = typeof GraphDocument.Type

const BatchDocuments = Schema.Struct({
  documents: Schema.Array(GraphDocument),
  /** Documents that the batch did not find in its collection, and when it listed the collection. */
  withdrawn: Schema.Array(Schema.Struct({ documentId: DocumentId, at: Schema.Int })),
})
export type BatchDocuments = typeof BatchDocuments.Type

const BatchDocumentsJson = Schema.fromJsonString(BatchDocuments)

export const decodeDocuments = Schema.decodeEffect(BatchDocumentsJson)

/** Stores the documents under a content-addressed name. */
export const writeDocuments = (
  storage: StorageService,
  folder: StorageFolder,
  batch: BatchId,
  documents: BatchDocuments,
): Effect.Effect<{ readonly uri: StorageUri; readonly hash: ContentHash }, StorageError> =>
  Effect.gen(function* () {
    const text = yield* Effect.orDie(Schema.encodeEffect(BatchDocumentsJson)(documents))
    const { uri, hash } = yield* storage.set(blobIn(folder, pathOfDocuments(batch, contentHashOf(text))), text)
    return { uri, hash }
  })

const Sources = Schema.fromJsonString(
  Schema.Struct({ documents: Schema.Array(Schema.Struct({ documentId: Schema.String, sourceUri: StorageUri })) }),
)

/** The documents of a contribution that was ingested without its batch: the ids come from its lines, the sources from its manifest. */
export const knownDocuments = (
  storage: StorageService,
  folder: StorageFolder,
  contribution: StoredLines & { readonly batchId: BatchId; readonly ingestedAt: DateTime.Utc },
): Effect.Effect<BatchDocuments, StorageError | ArtifactDamaged> =>
  Effect.gen(function* () {
    const ids = yield* documentsOfLines(storedLines(storage, contribution))
    const sources = ids.size === 0 ? new Map<string, StorageUri>() : yield* sourcesOf(storage, folder, contribution.batchId)
    const at = contribution.ingestedAt.epochMilliseconds
    const documents = [...ids].filter(Schema.is(DocumentId)).toSorted()
    return {
      documents: documents.map((documentId) => {
        const source = sources.get(documentId)
        return { documentId, at, ...(source === undefined ? {} : { source }) }
      }),
      withdrawn: [],
    }
  })

/** Source by document id, from the batch's manifest. Empty where the manifest is missing or cannot be decoded. */
const sourcesOf = (storage: StorageService, folder: StorageFolder, batch: BatchId) =>
  getText(storage, blobIn(folder, pathsOfBatch(batch).manifest)).pipe(
    Effect.flatMap(Schema.decodeEffect(Sources)),
    Effect.map(({ documents }) => new Map(documents.map(({ documentId, sourceUri }) => [documentId, sourceUri]))),
    Effect.catchTag(["BlobNotFound", "SchemaError"], () => Effect.succeed(new Map<string, StorageUri>())),
  )
