/**
 * What a batch is to work on. A person writes a `ManifestFile`, whose references may be paths beside it; a batch keeps a
 * `Manifest`, in which every document has its id and every reference is an address.
 */
import * as Schema from "effect/Schema"
import { ExtractorName } from "../KnowledgeSettings.ts"
import { BatchId, ContentHash, DocumentId, Namespace, OntologyVersion } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { BlobReference, StorageFolder, StorageUri } from "../storage/Uri.ts"

/** The folder or manifest that the documents are all of. */
const collection = Schema.optionalKey(Schema.Union([StorageFolder, StorageUri]))

/** Whether documents of the collection that are gone stay in the graph. Default: they are withdrawn. */
const keepMissing = Schema.optionalKey(Schema.Boolean)

export const ManifestDocument = Schema.Struct({
  documentId: DocumentId,
  sourceUri: StorageUri,
  contentType: Schema.String,
  sizeBytes: Count,
})
export type ManifestDocument = typeof ManifestDocument.Type

export const Manifest = Schema.Struct({
  batchId: BatchId,
  /** The copy that the batch works with, stored under its hash when the batch started. */
  ontologyUri: StorageUri,
  ontologyVersion: OntologyVersion,
  /** Where the ontology came from. */
  ontologySource: Schema.optionalKey(StorageUri),
  shaclUri: Schema.optionalKey(StorageUri),
  /** Sentences with the facts they state, from which the built-in extractor learns. */
  examplesUri: Schema.optionalKey(StorageUri),
  examplesHash: Schema.optionalKey(ContentHash),
  /** Default: the one of the batch's configuration. */
  extractor: Schema.optionalKey(ExtractorName),
  targetNamespace: Namespace,
  documents: Schema.Array(ManifestDocument),
  collection,
  keepMissing,
  createdAt: Schema.DateTimeUtc,
})
export type Manifest = typeof Manifest.Type

export const ManifestJson = Schema.fromJsonString(Schema.toCodecJson(Manifest))

/** As written by hand: what can be worked out is left out. */
export const ManifestFile = Schema.Struct({
  targetNamespace: Namespace,
  ontology: BlobReference,
  shapes: Schema.optionalKey(BlobReference),
  examples: Schema.optionalKey(BlobReference),
  /** `built-in`, `openai:MODEL` or `anthropic:MODEL`. */
  extractor: Schema.optionalKey(ExtractorName),
  documents: Schema.NonEmptyArray(
    Schema.Struct({
      source: BlobReference,
      /** Where the name's ending does not tell. */
      contentType: Schema.optionalKey(Schema.String),
    }),
  ),
  collection,
  keepMissing,
})
export type ManifestFile = typeof ManifestFile.Type

export const ManifestFileJson = Schema.fromJsonString(Schema.toCodecJson(ManifestFile))
