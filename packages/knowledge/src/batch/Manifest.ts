/**
 * The input of a batch. A user writes a `ManifestFile`, whose references may be relative paths; a batch stores a
 * `Manifest`, in which every document has its id and every reference is an address.
 */

import { ContentHash } from "@detent/blobs/ContentHash"
import { BlobReference, getText, type StorageError, StorageFolder, type StorageService, StorageUri } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ExtractorName } from "../KnowledgeSettings.ts"
import { FactMapping } from "../mapping/FactMapping.ts"
import { BatchId, DocumentId, Namespace, OntologyVersion } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"

/** The folder or manifest that all documents come from. */
const collection = Schema.optionalKey(Schema.Union([StorageFolder, StorageUri]))

/** Whether documents that are gone from the collection stay in the graph. Default: they are withdrawn. */
const keepMissing = Schema.optionalKey(Schema.Boolean)

/** When the documents of the collection were listed. Default: when the batch started. */
const listedAt = Schema.optionalKey(Schema.DateTimeUtc)

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
  /** The mapping of tables and objects to facts. */
  mappingUri: Schema.optionalKey(StorageUri),
  mappingHash: Schema.optionalKey(ContentHash),
  /** Default: the one of the batch's configuration. */
  extractor: Schema.optionalKey(ExtractorName),
  targetNamespace: Namespace,
  documents: Schema.Array(ManifestDocument),
  collection,
  keepMissing,
  listedAt,
  createdAt: Schema.DateTimeUtc,
})
export type Manifest = typeof Manifest.Type

export const ManifestJson = Schema.fromJsonString(Schema.toCodecJson(Manifest))

/** A manifest written by hand, without the derived fields. */
export const ManifestFile = Schema.Struct({
  targetNamespace: Namespace,
  ontology: BlobReference,
  shapes: Schema.optionalKey(BlobReference),
  examples: Schema.optionalKey(BlobReference),
  /** The mapping of tables and objects to facts: a file of YAML or JSON, or the mapping itself. */
  mapping: Schema.optionalKey(Schema.Union([BlobReference, FactMapping])),
  /** `built-in`, or a provider and a model: `openai:MODEL`. */
  extractor: Schema.optionalKey(ExtractorName),
  documents: Schema.NonEmptyArray(
    Schema.Struct({
      source: BlobReference,
      /** Needed when the file extension does not tell the type. */
      contentType: Schema.optionalKey(Schema.String),
    }),
  ),
  collection,
  keepMissing,
  listedAt,
})
export type ManifestFile = typeof ManifestFile.Type

export const ManifestFileJson = Schema.fromJsonString(Schema.toCodecJson(ManifestFile))

/** Yields to the event loop after decoding or encoding this many documents: about 5 ms. */
const documentsAtOnce = 1000

/** Decodes a manifest that a batch has stored. Yields to the event loop in between. */
export const decodeManifest = (text: string): Effect.Effect<Manifest, Schema.SchemaError> =>
  Effect.gen(function* () {
    const json = yield* decodeJson(text)
    const outline = yield* decodeOutline(json)
    return { ...outline, documents: yield* inTurns(yield* documentsOf(json), decodeDocuments) }
  })

export class ManifestRefused extends Schema.TaggedError<ManifestRefused>()("ManifestRefused", {
  uri: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri} cannot become a batch: ${this.problem}`
  }
}

/** Loads the stored manifest of a batch. */
export const loadManifest = (storage: StorageService, uri: StorageUri): Effect.Effect<Manifest, StorageError | ManifestRefused> =>
  Effect.flatMap(getText(storage, uri), (text) =>
    Effect.mapError(decodeManifest(text), ({ message }) => new ManifestRefused({ uri, problem: message })),
  )

/** Decodes a manifest that was written by hand. Yields to the event loop in between. */
export const decodeManifestFile = (text: string): Effect.Effect<ManifestFile, Schema.SchemaError> =>
  Effect.gen(function* () {
    const json = yield* decodeJson(text)
    const documents = yield* documentsOf(json)
    // Decodes all other fields with the first documents, so that their errors have the messages of the whole schema.
    const { documents: first, ...outline } = yield* decodeFile({
      ...(typeof json === "object" && json !== null ? json : {}),
      documents: documents.slice(0, documentsAtOnce),
    })
    yield* Effect.yieldNow
    return { ...outline, documents: [...first, ...(yield* inTurns(documents.slice(documentsAtOnce), decodeFileDocuments))] }
  })

/** Encodes a manifest as JSON. Yields to the event loop in between. */
export const encodeManifest = ({ documents, ...outline }: Manifest): Effect.Effect<string, Schema.SchemaError> =>
  Effect.gen(function* () {
    const encoded = yield* inTurns(documents, encodeDocuments)
    const around = yield* encodeOutline(outline)
    return `${around.slice(0, -1)},"documents":${JSON.stringify(encoded)}}`
  })

const inTurns = <A, B>(
  documents: ReadonlyArray<A>,
  some: (documents: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, Schema.SchemaError>,
): Effect.Effect<ReadonlyArray<B>, Schema.SchemaError> =>
  Effect.gen(function* () {
    const done: Array<B> = []
    for (let at = 0; at < documents.length; at += documentsAtOnce) {
      for (const document of yield* some(documents.slice(at, at + documentsAtOnce))) done.push(document)
      yield* Effect.yieldNow
    }
    return done
  })

const { documents: Documents, ...outlineFields } = Manifest.fields
const Outline = Schema.toCodecJson(Schema.Struct(outlineFields))

const decodeJson = Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))
const decodeOutline = Schema.decodeUnknownEffect(Outline)
const encodeOutline = Schema.encodeEffect(Schema.fromJsonString(Outline))
const decodeDocuments = Schema.decodeUnknownEffect(Schema.toCodecJson(Documents))
/** All fields are strings and numbers, so the result is plain JSON. */
const encodeDocuments = Schema.encodeEffect(Documents)
const decodeFile = Schema.decodeUnknownEffect(Schema.toCodecJson(ManifestFile))
const decodeFileDocuments = Schema.decodeUnknownEffect(Schema.toCodecJson(ManifestFile.fields.documents))

const decodeList = Schema.decodeUnknownEffect(Schema.Struct({ documents: Schema.Array(Schema.Unknown) }))

const documentsOf = (json: unknown) => Effect.map(decodeList(json), ({ documents }) => documents)
