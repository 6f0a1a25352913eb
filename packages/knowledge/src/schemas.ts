/**
 * The schemas of batches and graphs, without the code that works on documents: API definitions and clients import this module
 * without loading the libraries that read documents and graphs.
 */

export { AnswerClause } from "./answer/AnswerClause.ts"
export {
  BatchConfig,
  type BatchState,
  batchStates,
  isTerminal,
  type LanguageCount,
  progressPercent,
  stageDisplayName,
} from "./batch/BatchState.ts"
export { ManifestFile } from "./batch/Manifest.ts"
export { MappingPreview } from "./batch/MappingPreviewView.ts"
export { languageName, UnreadProse, unreadNextStep } from "./extract/language/ProseLanguage.ts"
export { Place } from "./fact/Fact.ts"
export { DiffFact, DocumentDiff, GraphDiff } from "./graph/GraphDiff.ts"
export { contentTypes, ExportFormat } from "./graph/GraphExport.ts"
export { BaseUrl, BudgetSetting, BudgetText, ExtractorName, ExtractorSelection } from "./KnowledgeSettings.ts"
export { FactMapping, type NestedRule } from "./mapping/FactMapping.ts"
export { IdentityDecision, IdentityKind } from "./review/IdentityDecision.ts"
export { ReviewCounts, ReviewedOnce, ReviewItem, ReviewOutcome, ReviewStatus, ReviewVerdict } from "./review/ReviewItem.ts"
export { Misfits, NotRead, RefusedItems, SkippedChunks } from "./runs/Run.ts"
export { BatchId, DocumentId, Namespace } from "./storage/Identity.ts"
export { ActivityName } from "./tasks/Task.ts"
