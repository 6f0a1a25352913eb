/** What a batch tells the world, for logs, projections and whoever listens. Not to be confused with the events it receives. */
import * as Schema from "effect/Schema"
import { BatchId, DocumentId } from "../domain/Identity.ts"
import { Count } from "../domain/Quantity.ts"

const common = { batchId: BatchId, at: Schema.Int }

export const BatchEvent = Schema.TaggedUnion({
  BatchCreated: { ...common, totalDocuments: Count },
  DocumentStarted: { ...common, documentId: DocumentId },
  DocumentCompleted: { ...common, documentId: DocumentId, entityCount: Count, relationCount: Count },
  DocumentFailed: { ...common, documentId: DocumentId, error: Schema.String },
  /** Only the latest of a batch is kept. */
  StageProgress: { ...common, completedDocuments: Count, totalDocuments: Count, progress: Schema.Finite },
  ResolutionStarted: common,
  ResolutionCompleted: { ...common, mergeCount: Count },
  BatchCompleted: { ...common, totalDocuments: Count, entityCount: Count, relationCount: Count },
  BatchFailed: { ...common, error: Schema.String, failedDocuments: Count },
})
export type BatchEvent = typeof BatchEvent.Type
