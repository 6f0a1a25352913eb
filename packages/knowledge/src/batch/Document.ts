/** A document as the system knows it: where it came from, what was done with it and what went wrong on the way. */
import * as Schema from "effect/Schema"
import { ContentHash, DocumentId, OntologyVersion } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { StorageUri } from "../storage/Uri.ts"

export const DocumentStatus = Schema.Literals(["pending", "processing", "completed", "failed"])
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
  contentHash: ContentHash,

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
}) {}

export const DocumentJson = Schema.fromJsonString(Schema.toCodecJson(Document))
