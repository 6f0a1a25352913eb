/**
 * The data that batches and graphs exchange with programs, without the code that works on documents: definitions of an API and
 * clients import this, and none of the libraries that read documents and graphs is loaded.
 */

export { ActivityName } from "./batch/ActivityName.ts"
export { BatchConfig } from "./batch/BatchConfig.ts"
export { type BatchState, batchStates, isTerminal, type LanguageCount, progressPercent, stageDisplayName } from "./batch/BatchState.ts"
export { ManifestFile } from "./batch/Manifest.ts"
export { Place } from "./extract/Fact.ts"
export { languageName, UnreadProse, unreadNextStep } from "./extract/language/UnreadProse.ts"
export { DiffFact, DocumentDiff, GraphDiff } from "./graph/DiffFact.ts"
export { contentTypes, ExportFormat } from "./graph/ExportFormat.ts"
export { BaseUrl, BudgetSetting, BudgetText, ExtractorName, ExtractorSelection } from "./KnowledgeSettings.ts"
export { ReviewCounts, ReviewedOnce, ReviewItem, ReviewOutcome, ReviewStatus, ReviewVerdict } from "./review/ReviewItem.ts"
export { BatchId, ContentHash, DocumentId, Namespace } from "./storage/Identity.ts"
export { StorageFolder, StorageUri } from "./storage/Uri.ts"
