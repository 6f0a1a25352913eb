/** Turns documents into a validated knowledge graph. */

export { type AnswerError, type AnswerOptions, Answers, type GraphAnswer } from "./answer/Answers.ts"
export { BatchEventLog, type DocumentStanding } from "./batch/BatchEventLog.ts"
export { type BatchChanges, Batches, BatchNotFound, type RetryChange, type SelectionChange } from "./batch/Batches.ts"
export { BatchEvent, BatchMachine } from "./batch/BatchMachine.ts"
export {
  activeBatchStates,
  BatchConfig,
  type BatchState,
  BatchStateJson,
  type BatchStats,
  BatchStopped,
  type BatchUsage,
  batchStates,
  defaultBatchConfig,
  isTerminal,
} from "./batch/BatchState.ts"
export type { BatchEstimate } from "./batch/Estimate.ts"
export { WithdrawalRefused } from "./batch/GraphStages.ts"
export { loadManifest, ManifestFile, ManifestFileJson, ManifestJson, ManifestRefused } from "./batch/Manifest.ts"
export { manifestOfFolder, readManifest, readManifestFile } from "./batch/ManifestMaking.ts"
export type { MappingPreview } from "./batch/MappingPreviewView.ts"
export { OtherData } from "./batch/OtherData.ts"
export type { Chunk } from "./document/Chunk.ts"
export { formatOf } from "./document/DocumentReader.ts"
export * as BuiltIn from "./extract/builtin/BuiltIn.ts"
export { ExamplesRefused } from "./extract/builtin/Example.ts"
export { ExtractionFailed, Extractor, type ExtractorService, noUsage } from "./extract/Extractor.ts"
export { languageName, unreadNextStep } from "./extract/language/ProseLanguage.ts"
export type { ModelClient, ModelRequest } from "./extract/model/ModelClient.ts"
export { languageModelClient, makeModelExtractor } from "./extract/model/ModelExtractor.ts"
export { type ChatHost, makeChatClient } from "./extract/model/provider/ChatCompletions.ts"
export { type Provider, type ProviderOptions, ReasoningEffort } from "./extract/model/provider/Provider.ts"
export { modelForms } from "./extract/model/provider/ProviderName.ts"
export { keyNames } from "./extract/model/provider/Providers.ts"
export { type Fact, type Mention, Place } from "./fact/Fact.ts"
export { documentOfIri } from "./fact/FactGraph.ts"
export * as CanonicalGraph from "./graph/CanonicalGraph.ts"
export { DiffFact, diffGraphs } from "./graph/GraphDiff.ts"
export { contentTypes, exportGraph } from "./graph/GraphExport.ts"
export { GraphFacts, GraphObject, GraphRelation, isFactCursor, SourcedFact } from "./graph/GraphFacts.ts"
export type { QueryResult } from "./graph/GraphQuery.ts"
export {
  GraphQuery,
  type GraphQueryService,
  type QueryError,
  QueryMemoryExceeded,
  QueryRefused,
  QueryTimedOut,
  QueryTooLarge,
} from "./graph/GraphQuery.ts"
export * as SparqlText from "./graph/SparqlText.ts"
export * as Knowledge from "./Knowledge.ts"
export { BaseUrl, BudgetText, ExtractorName, KnowledgeSettings, PriceText, priceFrom } from "./KnowledgeSettings.ts"
export { FactMapping, FactMappingRefused, type NestedRule, readFactMapping } from "./mapping/FactMapping.ts"
export { OntologyEmpty, OntologyLimitExceeded, OntologySyntaxError } from "./ontology/Ontology.ts"
export { OntologyIndex } from "./ontology/OntologyIndex.ts"
export { loadOntology } from "./ontology/OntologyLoading.ts"
export { SortFailed } from "./rdf/LineSort.ts"
export { RdfSyntaxError } from "./rdf/Turtle.ts"
export { localName } from "./rdf/Vocabulary.ts"
export { type FactReport, factReport, type ReportedDocument, type ReportedFact, reportedText } from "./report/FactReport.ts"
export { IdentityDecision, IdentityKind } from "./review/IdentityDecision.ts"
export { IdentityStore } from "./review/IdentityStore.ts"
export { ReviewCounts, ReviewItem, ReviewOutcome } from "./review/ReviewItem.ts"
export type { ListPlace } from "./review/ReviewStore.ts"
export { ReviewStore } from "./review/ReviewStore.ts"
export { type ExtractionRequest, Extractions, RunNotFound } from "./runs/Extractions.ts"
export { ExtractionWorkflow } from "./runs/ExtractionWorkflow.ts"
export { ExtractorRefused, Extractors } from "./runs/Extractors.ts"
export { ExtractionRun, RunFailed } from "./runs/Run.ts"
export type { ArtifactError } from "./runs/RunArtifacts.ts"
export { RunStore } from "./runs/RunStore.ts"
export type { RunWork } from "./runs/RunTables.ts"
export { ArtifactMissing, RunStoreFailed } from "./runs/RunTables.ts"
export * as ArtifactStore from "./storage/ArtifactStore.ts"
export { BatchId, DocumentId, Namespace } from "./storage/Identity.ts"
export { WorkerPool } from "./threads/WorkerPool.ts"
export { ValidationReportJson, Violation } from "./validate/Report.ts"
export { ShapesRefused } from "./validate/Shapes.ts"
export { ValidationFailed } from "./validate/Validation.ts"
export { EntityUnknown, Identities, IdentityRefused, type IdentityRequest, IdentityUnknown } from "./verdict/Identities.ts"
export type { ReviewPage } from "./verdict/Reviews.ts"
export { ReviewFactUnknown, ReviewNotReady, type ReviewQuery, type ReviewSelection, Reviews } from "./verdict/Reviews.ts"
