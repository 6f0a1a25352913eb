/**
 * What the rest of the world hears of a batch. These are facts that have happened; the machine's own events, in
 * `Batch.ts`, are what it receives.
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
