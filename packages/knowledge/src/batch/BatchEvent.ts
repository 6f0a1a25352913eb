/** The events a batch publishes, for logs, projections and subscribers. Not to be confused with the events it receives. */
import * as Schema from "effect/Schema"
import { BatchId, ContentHash, DocumentId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"

const common = { batchId: BatchId, at: Schema.Int }

/** Counts the rounds of the batch: documents that failed in one round are begun again in a later one. */
const round = Count

export const BatchEvent = Schema.TaggedUnion({
  BatchCreated: { ...common, totalDocuments: Count },
  DocumentStarted: { ...common, documentId: DocumentId, round },
  DocumentCompleted: {
    ...common,
    documentId: DocumentId,
    entityCount: Count,
    relationCount: Count,
    /** Facts too unsure for the graph. */
    reviewCount: Schema.optionalKey(Count),
  },
  /** The graph has these documents in the same version: they are completed. Many in one event, since nothing is done for each. */
  DocumentsUnchanged: { ...common, documentIds: Schema.Array(DocumentId) },
  DocumentFailed: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** The document exceeded a limit twice and is not tried again in this batch. */
  DocumentSetAside: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** Only the latest of a batch is kept. */
  StageProgress: { ...common, completedDocuments: Count, totalDocuments: Count, progress: Schema.Finite },
  ResolutionStarted: common,
  ResolutionCompleted: { ...common, mergeCount: Count },
  ValidationStarted: common,
  ValidationCompleted: { ...common, violations: Count, quarantined: Count },
  IngestionStarted: { ...common, triplesTotal: Count },
  IngestionCompleted: { ...common, triplesIngested: Count, canonicalVersion: ContentHash },
  BatchCompleted: { ...common, totalDocuments: Count, entityCount: Count, relationCount: Count },
  BatchFailed: { ...common, error: Schema.String, failedDocuments: Count },
})
export type BatchEvent = typeof BatchEvent.Type
