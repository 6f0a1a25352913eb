/** The events a batch publishes, for logs, projections and subscribers. Not to be confused with the events it receives. */
import * as Schema from "effect/Schema"
import { BatchId, ContentHash, DocumentId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"

const common = { batchId: BatchId, at: Schema.Int }

/** The round of the batch: documents that failed in one round are started again in a later one. */
const round = Count

export const BatchEvent = Schema.TaggedUnion({
  BatchCreated: { ...common, totalDocuments: Count },
  DocumentStarted: { ...common, documentId: DocumentId, round },
  DocumentCompleted: {
    ...common,
    documentId: DocumentId,
    entityCount: Count,
    relationCount: Count,
    /** Facts too uncertain for the graph, which are on the review list. */
    reviewCount: Schema.optionalKey(Count),
  },
  /** The graph already has these versions of the documents, so they are completed. One event names many: none of them needs work. */
  DocumentsUnchanged: { ...common, documentIds: Schema.Array(DocumentId) },
  DocumentFailed: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** The document exceeded a limit twice and is not tried again in this batch. */
  DocumentSetAside: { ...common, documentId: DocumentId, round, error: Schema.String },
  /** Only the latest progress of a batch is kept. */
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
