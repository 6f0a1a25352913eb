/** Documents to a validated knowledge graph. */

export { BatchConfig, defaultBatchConfig, FailurePolicy } from "./batch/BatchConfig.ts"
export { BatchEvent } from "./batch/BatchEvent.ts"
export { BatchEventLog, type BatchEventLogService, type DocumentStanding } from "./batch/BatchEventLog.ts"
export { Batches, type BatchesService, BatchNotFound } from "./batch/Batches.ts"
export { BatchMachine } from "./batch/BatchMachine.ts"
export { errorOf, isTerminal, progressPercent, stageDisplayName } from "./batch/BatchProgress.ts"
export type { BatchFault, BatchState, BatchStats, Stage } from "./batch/BatchState.ts"
export { type ManifestError, makeManifest, manifestOfFolder, readManifestFile } from "./batch/ManifestMaking.ts"
export { ManifestRefused } from "./batch/StageFiles.ts"
export * as BuiltIn from "./builtin/BuiltIn.ts"
export { BuiltInModel } from "./builtin/BuiltInModel.ts"
export { Example, ExampleTriple } from "./builtin/Example.ts"
export type { KnownName } from "./builtin/Gazetteer.ts"
export { namesOfGraph } from "./builtin/GraphNames.ts"
export * as PooledBuiltIn from "./builtin/PooledBuiltIn.ts"
export { type TrainingOptions, trainBuiltIn } from "./builtin/Training.ts"
export { Chunker, type ChunkingOptions, chunkStream, chunkText } from "./chunk/Chunking.ts"
export { splitSentences } from "./chunk/Sentences.ts"
export { BatchArtifact, BatchArtifactJson, RunArtifact, RunArtifactJson } from "./domain/Artifact.ts"
export { RunCheckpoint, RunCheckpointJson } from "./domain/Checkpoint.ts"
export { Document, DocumentJson, DocumentProblem, DocumentStatus } from "./domain/Document.ts"
export { EntityRef, EntityRegistry, EntityRegistryJson, emptyRegistry, register } from "./domain/EntityRegistry.ts"
export {
  ArtifactKey,
  BatchId,
  ContentHash,
  contentHashOf,
  DocumentId,
  documentIdOf,
  Namespace,
  newBatchId,
  OntologyName,
  OntologyVersion,
  ontologyVersionOf,
  RunId,
  runIdOf,
} from "./domain/Identity.ts"
export { Manifest, ManifestDocument, ManifestFile, ManifestFileJson, ManifestJson } from "./domain/Manifest.ts"
export * as Paths from "./domain/Paths.ts"
export {
  changeStatus,
  defaultPipelineConfig,
  ExtractionRun,
  ExtractionRunJson,
  PipelineConfig,
  RunStatus,
  RunStatusConflict,
  RunStatusRefused,
  type StatusChange,
} from "./domain/Run.ts"
export {
  BlobReference,
  blobIn,
  FileUri,
  folderIn,
  GcsUri,
  MemUri,
  RelativePath,
  resolveReference,
  S3Uri,
  type Scheme,
  StorageFolder,
  StorageUri,
  schemeOf,
} from "./domain/Uri.ts"
export { ExtractionFailed } from "./ExtractionFailed.ts"
export { type Chunk, Extractor, type ExtractorService, type Usage } from "./Extractor.ts"
export type { Fact, FactObject, Mention, Span } from "./Fact.ts"
export * as CanonicalGraph from "./graph/CanonicalGraph.ts"
export { contentTypes, ExportFormat, exportGraph } from "./graph/GraphExport.ts"
export {
  type EntityOptions,
  GraphEntity,
  GraphFacts,
  type GraphFactsService,
  GraphObject,
  GraphRelation,
  type Page,
  type PageOptions,
  type RelationOptions,
  SourcedFact,
} from "./graph/GraphFacts.ts"
export { GraphQuery, type GraphQueryService, QueryRefused, type QueryResult, QueryTimedOut, QueryTooLarge } from "./graph/GraphQuery.ts"
export * as Knowledge from "./Knowledge.ts"
export { type Budget, BudgetExhausted, type BudgetLimits, makeBudget, PriceUnknown, unlimited } from "./limit/Budget.ts"
export { type Answered, type CallGuard, type GuardOptions, makeCallGuard } from "./limit/CallGuard.ts"
export { type BreakerOptions, type CircuitBreaker, CircuitOpen, makeCircuitBreaker, type Verdict } from "./limit/CircuitBreaker.ts"
export { costOf, defaultPrices, ModelPrice, PriceTable, PriceTableJson, priceOf } from "./limit/Prices.ts"
export { CallTooLarge, makeRateLimiter, type Permit, type RateLimiter, type RateLimits } from "./limit/RateLimiter.ts"
export { defaultRetryPolicy, type RetryPolicy } from "./limit/Retry.ts"
export { addUsage, estimateTokens, noUsage } from "./limit/UsageCount.ts"
export type { AnthropicClientOptions } from "./model/AnthropicClient.ts"
export type { ModelClient, ModelRequest } from "./model/ModelClient.ts"
export { type ModelExtractor, type ModelExtractorOptions, makeModelExtractor } from "./model/ModelExtractor.ts"
export { anthropicLayer, makeAnthropicExtractor, makeOpenAiExtractor, openAiLayer } from "./model/ModelLayers.ts"
export type { OpenAiClientOptions } from "./model/OpenAiClient.ts"
export type { Rejection, RejectionReason } from "./model/Rejection.ts"
export { type SplitFacts, splitByConfidence } from "./model/ReviewList.ts"
export type { ClassExpression, Label, Ontology, OntologyClass, OntologyNote, OntologyProperty, Restriction } from "./ontology/Ontology.ts"
export { OntologyEmpty, type OntologyError, type OntologyFormat, OntologySyntaxError } from "./ontology/OntologyError.ts"
export { type Labelled, OntologyIndex } from "./ontology/OntologyIndex.ts"
export { loadOntology, type OntologySource } from "./ontology/OntologyLoading.ts"
export type { RelevanceOptions } from "./ontology/Relevance.ts"
export { TaskFailed, WorkerCrashed, type WorkerError } from "./pool/WorkerError.ts"
export { makeWorkerPool, WorkerPool, type WorkerPoolOptions, type WorkerPoolService } from "./pool/WorkerPool.ts"
export { BlankNodesAlike, relabelBlankNodes } from "./rdf/BlankNodes.ts"
export { detentVocabulary, documentIri, entityIri, type FactSource, factTriples, graphPrefixes, mentionTriples } from "./rdf/FactGraph.ts"
export { type LineSortOptions, SortFailed, sortLines } from "./rdf/LineSort.ts"
export { RdfSyntaxError, readTurtle } from "./rdf/RdfReading.ts"
export { type TurtleOptions, writeNTriples, writeTurtle } from "./rdf/RdfWriting.ts"
export * as Rdf from "./rdf/Term.ts"
export { type DocumentSource, readDocument, readStored, streamDocument, streamStored } from "./read/DocumentReader.ts"
export * as ReadError from "./read/ReadError.ts"
export { type Place, placesOf, type Reading, type Segment } from "./read/Reading.ts"
export type { Encoding } from "./read/TextDecoding.ts"
export type { Merge, MergeReason, NamedMention, Resolution } from "./resolve/Resolution.ts"
export { Resolver } from "./resolve/Resolver.ts"
export { type ExtractionRequest, Extractions, type ExtractionsService, RunNotFound } from "./run/Extractions.ts"
export { ExtractionWorkflow, RunResult } from "./run/ExtractionWorkflow.ts"
export { ExamplesRefused, Extractors } from "./run/Extractors.ts"
export { DocumentChanged, RunFailed } from "./run/RunFailed.ts"
export { RunStore, RunStoreFailed } from "./run/RunStore.ts"
export * as ArtifactStore from "./storage/ArtifactStore.ts"
export * as FileStorage from "./storage/FileStorage.ts"
export * as MemoryStorage from "./storage/MemoryStorage.ts"
export * from "./storage/Storage.ts"
export * from "./storage/StorageError.ts"
export { routed } from "./storage/StorageRouter.ts"
export { derivedShapes } from "./validate/DerivedShapes.ts"
export { readShapes, type Shapes, ShapesRefused } from "./validate/Shapes.ts"
export { ValidationPolicy, ValidationReport, Violation } from "./validate/Violation.ts"
