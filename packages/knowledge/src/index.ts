/** Turns documents into a validated knowledge graph. */

export {
  LimitExceeded,
  type StreamOptions,
  TaskFailed,
  type TaskLimit,
  type TaskOptions,
  WorkerCrashed,
  type WorkerError,
} from "@detent/processes"
export { BatchEventLog, type BatchEventLogService, type DocumentStanding } from "./batch/BatchEventLog.ts"
export {
  type BatchChanges,
  Batches,
  type BatchesOptions,
  type BatchesService,
  BatchNotFound,
  type RetryChange,
  type SelectionChange,
} from "./batch/Batches.ts"
export { BatchEvent, BatchMachine } from "./batch/BatchMachine.ts"
export {
  BatchConfig,
  type BatchFault,
  type BatchState,
  BatchStateJson,
  BatchStateStore,
  type BatchStateStoreError,
  type BatchStateStoreService,
  type BatchStats,
  BatchStopped,
  type BatchUsage,
  batchStates,
  Dispatch,
  defaultBatchConfig,
  errorOf,
  FailurePolicy,
  isTerminal,
  type LanguageCount,
  progressPercent,
  type Stage,
  stageDisplayName,
} from "./batch/BatchState.ts"
export { Document, DocumentJson, DocumentProblem, DocumentStatus } from "./batch/Document.ts"
export type { BatchEstimate, EstimateError } from "./batch/Estimate.ts"
export { WithdrawalRefused } from "./batch/GraphStages.ts"
export {
  loadManifest,
  Manifest,
  ManifestDocument,
  ManifestFile,
  ManifestFileJson,
  ManifestJson,
  ManifestRefused,
} from "./batch/Manifest.ts"
export { type ManifestError, makeManifest, manifestOfFolder, readManifest, readManifestFile } from "./batch/ManifestMaking.ts"
export { OtherData } from "./batch/OtherData.ts"
export type { Chunk } from "./document/Chunk.ts"
export { type DocumentSource, formatOf, readDocument, readStored, streamDocument, streamStored } from "./document/DocumentReader.ts"
export * as ReadError from "./document/ReadError.ts"
export { placesOf, type Reading, type Segment } from "./document/Reading.ts"
export { Chunker, type ChunkingOptions, chunkStream, chunkText, splitSentences } from "./document/Sentences.ts"
export type { Encoding } from "./document/TextDecoding.ts"
export * as BuiltIn from "./extract/builtin/BuiltIn.ts"
export { BuiltInModel } from "./extract/builtin/BuiltInModel.ts"
export { Example, ExamplesRefused, ExampleTriple } from "./extract/builtin/Example.ts"
export type { KnownName } from "./extract/builtin/Gazetteer.ts"
export * as PooledBuiltIn from "./extract/builtin/PooledBuiltIn.ts"
export { type TrainingOptions, trainBuiltIn } from "./extract/builtin/Training.ts"
export { addUsage, ExtractionFailed, Extractor, type ExtractorService, type KnownEntity, noUsage, type Usage } from "./extract/Extractor.ts"
export { detectLanguage } from "./extract/language/DocumentLanguage.ts"
export { languageName, proseLanguages, UnreadProse, unreadNextStep } from "./extract/language/ProseLanguage.ts"
export type { Rejection, RejectionReason } from "./extract/model/Answer.ts"
export {
  type Answered,
  type BreakerOptions,
  type CallGuard,
  CallTooLarge,
  type CircuitBreaker,
  CircuitOpen,
  defaultRetryPolicy,
  type GuardOptions,
  type ModelGate,
  makeCallGuard,
  makeCircuitBreaker,
  makeModelGate,
  makeRateLimiter,
  type Permit,
  type RateLimiter,
  type RateLimits,
  type RetryPolicy,
  type Verdict,
} from "./extract/model/CallGuard.ts"
export {
  type Budget,
  BudgetExhausted,
  type BudgetLimits,
  costOf,
  defaultPrices,
  estimateTokens,
  ModelPrice,
  makeBudget,
  PriceTable,
  PriceTableJson,
  PriceUnknown,
  priceOf,
  unlimited,
} from "./extract/model/Cost.ts"
export type { AnthropicClientOptions, ModelClient, ModelRequest, OpenAiClientOptions } from "./extract/model/ModelClient.ts"
export {
  anthropicLayer,
  languageModelClient,
  type ModelExtractor,
  type ModelExtractorOptions,
  makeAnthropicExtractor,
  makeModelExtractor,
  makeOpenAiExtractor,
  openAiLayer,
} from "./extract/model/ModelExtractor.ts"
export { type Fact, type FactObject, type Mention, Place, type Span, type SplitFacts, splitByConfidence } from "./fact/Fact.ts"
export {
  documentIri,
  documentOfIri,
  entityIri,
  type FactSource,
  factTriples,
  graphPrefixes,
  mentionTriples,
} from "./fact/FactGraph.ts"
export { GraphDocument } from "./graph/BatchDocuments.ts"
export * as CanonicalGraph from "./graph/CanonicalGraph.ts"
export { DiffFact, DocumentDiff, diffGraphs, GraphDiff } from "./graph/GraphDiff.ts"
export { contentTypes, ExportFormat, exportGraph } from "./graph/GraphExport.ts"
export {
  type EntityOptions,
  GraphEntity,
  GraphFacts,
  type GraphFactsService,
  GraphObject,
  GraphRelation,
  isFactCursor,
  type Page,
  type PageOptions,
  type RelationOptions,
  SourcedFact,
} from "./graph/GraphFacts.ts"
export {
  GraphQuery,
  type GraphQueryService,
  type QueryError,
  QueryMemoryExceeded,
  type QueryOptions,
  QueryRefused,
  type QueryResult,
  QueryTimedOut,
  QueryTooLarge,
} from "./graph/GraphQuery.ts"
export * as SparqlText from "./graph/SparqlText.ts"
export * as Knowledge from "./Knowledge.ts"
export {
  BaseUrl,
  BudgetSetting,
  BudgetText,
  budgetOf,
  ExtractorChoice,
  ExtractorName,
  ExtractorSelection,
  KnowledgeSettings,
  ModelLimits,
} from "./KnowledgeSettings.ts"
export type { ClassExpression, Label, Ontology, OntologyClass, OntologyNote, OntologyProperty, Restriction } from "./ontology/Ontology.ts"
export { OntologyEmpty, OntologyError, type OntologyFormat, OntologyLimitExceeded, OntologySyntaxError } from "./ontology/Ontology.ts"
export type { RelevanceOptions } from "./ontology/OntologyIndex.ts"
export { type Labelled, OntologyIndex } from "./ontology/OntologyIndex.ts"
export { loadOntology, type OntologySource } from "./ontology/OntologyLoading.ts"
export { type LineSortOptions, SortFailed, sortLines } from "./rdf/LineSort.ts"
export * as Rdf from "./rdf/Term.ts"
export { RdfSyntaxError, readNTriples, readTurtle, type TurtleOptions, writeNTriples, writeTurtle } from "./rdf/Turtle.ts"
export { detentVocabulary, localName } from "./rdf/Vocabulary.ts"
export {
  type FactReport,
  type FactStatus,
  factReport,
  type ReportedDocument,
  type ReportedFact,
  reportedText,
} from "./report/FactReport.ts"
export type { Merge, MergeProposal, MergeReason, NamedMention, ProposalReason, Resolution, SingleValue } from "./resolve/Resolver.ts"
export { Resolver } from "./resolve/Resolver.ts"
export { ReviewCounts, ReviewedOnce, ReviewItem, ReviewOutcome, ReviewStatus, ReviewVerdict } from "./review/ReviewItem.ts"
export { type ListPlace, ReviewStore } from "./review/ReviewStore.ts"
export { type ExtractionRequest, Extractions, type ExtractionsService, RunNotFound } from "./runs/Extractions.ts"
export { ExtractionWorkflow, RunResult } from "./runs/ExtractionWorkflow.ts"
export { type EquipmentError, ExtractorRefused, Extractors } from "./runs/Extractors.ts"
export { EntityRef, EntityRegistry, EntityRegistryJson, emptyRegistry, register } from "./runs/ExtractStep.ts"
export {
  BatchArtifact,
  BatchArtifactJson,
  changeStatus,
  DocumentChanged,
  defaultPipelineConfig,
  ExtractionRun,
  ExtractionRunJson,
  PipelineConfig,
  RunArtifact,
  RunArtifactJson,
  RunCheckpoint,
  RunCheckpointJson,
  RunFailed,
  RunStatus,
  RunStatusConflict,
  RunStatusRefused,
  type StatusChange,
} from "./runs/Run.ts"
export type { ArtifactError } from "./runs/RunArtifacts.ts"
export { RunStore } from "./runs/RunStore.ts"
export { ArtifactMissing, RunStoreFailed, type RunWork } from "./runs/RunTables.ts"
export * as ArtifactStore from "./storage/ArtifactStore.ts"
export {
  ArtifactKey,
  BatchId,
  DocumentId,
  documentIdOf,
  Namespace,
  newBatchId,
  OntologyName,
  OntologyVersion,
  ontologyVersionOf,
  RunId,
  runIdOf,
} from "./storage/Identity.ts"
export * as Paths from "./storage/Paths.ts"
export {
  ContentLimitOptions,
  type ContentLimits,
  contentLimitsOf,
  defaultContentLimits,
  makeWorkerPool,
  WorkerPool,
  type WorkerPoolOptions,
  type WorkerPoolService,
} from "./threads/WorkerPool.ts"
export { QuarantinedStatement, ValidationPolicy, ValidationReport, ValidationReportJson, Violation } from "./validate/Report.ts"
export { derivedShapes, readShapes, type Shapes, ShapesRefused } from "./validate/Shapes.ts"
export { ValidationFailed } from "./validate/Validation.ts"
export {
  ReviewFactUnknown,
  ReviewNotReady,
  type ReviewPage,
  type ReviewQuery,
  type ReviewSelection,
  Reviews,
  type ReviewsService,
} from "./verdict/Reviews.ts"
