/**
 * The domain events that a batch publishes: facts that have happened. The events that the machine receives are in
 * `Batch.ts`.
 */
import * as Schema from "effect/Schema"

const about = { batchId: Schema.String, at: Schema.Int }

export const BatchEvent = Schema.TaggedUnion({
  BatchCreated: { ...about, totalDocuments: Schema.Natural },
  DocumentCompleted: { ...about, documentId: Schema.String, entityCount: Schema.Natural, relationCount: Schema.Natural },
  DocumentFailed: { ...about, documentId: Schema.String, error: Schema.String },
  ResolutionStarted: about,
  ResolutionCompleted: { ...about, mergeCount: Schema.Natural },
  BatchCompleted: { ...about, totalDocuments: Schema.Natural, entityCount: Schema.Natural, relationCount: Schema.Natural },
  BatchFailed: { ...about, error: Schema.String, failedDocuments: Schema.Natural },
})

export type BatchEvent = typeof BatchEvent.Type
