/** The configuration of a batch, and its state with the data of each stage. */

import { ContentHash } from "@detent/blobs/ContentHash"
import { StorageUri } from "@detent/blobs/Storage"
import { State, schemaOf } from "@detent/machine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { UnreadProse } from "../extract/language/ProseLanguage.ts"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { defaultPipelineConfig, Misfits, NotRead, PipelineConfig, RefusedItems, SkippedChunks } from "../runs/Run.ts"
import { BatchId, DocumentId, Namespace, OntologyVersion } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { ValidationPolicy } from "../validate/Report.ts"

/**
 * How a batch reacts to documents that fail: it continues with the others, fails at the first failure, or tries the failed documents
 * once more at the end.
 */
export const FailurePolicy = Schema.Literals(["continue", "failFast", "retryFailed"])
export type FailurePolicy = typeof FailurePolicy.Type

/**
 * Where the work of a batch runs: in the process that owns the batch; as tasks that the batch enqueues; or as activities that a job
 * runner starts one by one. Tasks and activities report to the batch.
 */
export const Dispatch = Schema.Literals(["process", "tasks", "activities"])
export type Dispatch = typeof Dispatch.Type

/** Every setting has a default: see `defaultBatchConfig`. */
export const BatchConfig = Schema.Struct({
  failurePolicy: FailurePolicy,
  /** How many documents are extracted concurrently. Results that are ready together are stored together. */
  concurrency: Schema.Int.check(Schema.isGreaterThan(0)),
  /** How often a failed batch may be started again. */
  maxRetries: Count,
  resolveEntities: Schema.Boolean,
  validation: ValidationPolicy,
  pipeline: PipelineConfig,
  /** Default: `process`. */
  dispatch: Schema.optionalKey(Dispatch),
  ...ExtractorSelection.fields,
})
export type BatchConfig = typeof BatchConfig.Type

/** The part of the configuration that selects the extractor. */
export const selectionOf = (config: Partial<BatchConfig>): ExtractorSelection => Struct.pick(config, selectionFields)

const selectionFields = Struct.keys(ExtractorSelection.fields)

export const defaultBatchConfig: BatchConfig = {
  failurePolicy: "continue",
  concurrency: 64,
  maxRetries: 3,
  resolveEntities: true,
  validation: "quarantine",
  pipeline: defaultPipelineConfig,
}

export const Stage = Schema.Literals(["pending", "extracting", "resolving", "validating", "ingesting"])
export type Stage = typeof Stage.Type

/** The request that started the batch. Every state has these fields, so that a failed or cancelled batch can be resumed. */
const request = {
  batchId: BatchId,
  manifestUri: StorageUri,
  ontologyVersion: OntologyVersion,
  targetNamespace: Namespace,
  config: BatchConfig,
  documentsTotal: Count,
  /** How often the batch was retried. */
  retryCount: Count,
  /** Incremented by every retry and resume, so that tasks and failures of an earlier attempt are ignored. */
  attempt: Count,
  createdAt: Schema.Int,
  /** The time of the last event. */
  updatedAt: Schema.Int,
}

/** Model usage so far. Absent for a batch that calls no model. */
export const BatchUsage = Schema.Struct({
  calls: Count,
  inputTokens: Count,
  outputTokens: Count,
  /** Absent when the price of the model is not known. */
  cost: Schema.optionalKey(Schema.Finite),
  currency: Schema.optionalKey(Schema.String),
})
export type BatchUsage = typeof BatchUsage.Type

/** How many documents are in a language. */
export const LanguageCount = Schema.Struct({
  /** A tag such as `de`; `und` where the text is too short to tell. */
  language: Schema.String,
  documents: Count,
  /** How many of them had prose that was not read. Their tables, fields and `key: value` lines were read. */
  unread: Schema.optionalKey(Count),
  /** Why the prose was not read: the extractor does not know the language, or the ontology has no labels in it. */
  reason: Schema.optionalKey(UnreadProse),
})
export type LanguageCount = typeof LanguageCount.Type

export const extracted = {
  documentsCompleted: Count,
  documentsFailed: Count,
  /** Documents that exceeded a limit twice. They do not count as failed, and are not tried again in this batch. */
  documentsSetAside: Count,
  /** Completed documents that the graph already had in the same version. */
  documentsUnchanged: Count,
  entityCount: Count,
  relationCount: Count,
  /** Facts too uncertain for the graph, which are on the review list. */
  reviewCount: Count,
  misfits: Schema.optionalKey(Misfits),
  /** Chunks without an answer of the model. */
  skipped: Schema.optionalKey(SkippedChunks),
  refused: Schema.optionalKey(RefusedItems),
  notRead: Schema.optionalKey(NotRead),
  usage: Schema.optionalKey(BatchUsage),
  /** The languages of the completed documents, the most frequent first. */
  languages: Schema.optionalKey(Schema.Array(LanguageCount)),
}

/** The counts of a batch that has extracted nothing. */
export const noCounts = {
  documentsCompleted: 0,
  documentsFailed: 0,
  documentsSetAside: 0,
  documentsUnchanged: 0,
  entityCount: 0,
  relationCount: 0,
  reviewCount: 0,
}

/** How often the batch was resolved again because another batch published first. */
const resolvedAgain = Count

/** A file of sorted triples that a stage wrote. */
export const StageGraph = Schema.Struct({ uri: StorageUri, hash: ContentHash, triples: Count })
export type StageGraph = typeof StageGraph.Type

/** The stored list of the documents that a batch adds to the graph and withdraws from it. */
const DocumentList = Schema.Struct({ uri: StorageUri, hash: ContentHash, brought: Count, withdrawn: Count })

/** The result of resolution. */
export const Resolved = Schema.Struct({
  graph: StageGraph,
  entitiesTotal: Count,
  clustersFormed: Count,
  documents: Schema.optionalKey(DocumentList),
  /** The version of the graph that the batch was resolved against; null when there was none. */
  against: Schema.NullOr(ContentHash),
  /** Facts of the whole review list, each counted once. */
  reviewCount: Count,
})

/** The result of validation. */
export const Validated = Schema.Struct({
  graph: StageGraph,
  violations: Count,
  quarantined: Count,
  /** The statements that were held back. */
  held: Schema.optionalKey(StageGraph),
  /** Set if the batch leaves documents to the batch that extracted them. */
  documents: Schema.optionalKey(DocumentList),
  reportUri: StorageUri,
})

/** The result of ingestion: the published version. */
export const Ingested = Schema.Struct({
  canonicalVersion: ContentHash,
  canonicalGraphUri: StorageUri,
  /** Triples of the whole graph. Absent when the batch changed nothing. */
  graphTriples: Schema.optionalKey(Count),
})

/** The other result of ingestion: another batch has published this version since the batch was resolved. */
export const Moved = Schema.Struct({ movedTo: ContentHash })

/** The version of the graph that the batch was resolved against; null when there was none. */
const resolvedAgainst = Schema.NullOr(ContentHash)

const resolved = {
  resolvedGraph: StageGraph,
  entitiesTotal: Count,
  clustersFormed: Count,
  documents: Schema.optionalKey(DocumentList),
  resolvedAgainst,
  resolvedAgain,
}
const validated = {
  validatedGraph: StageGraph,
  violations: Count,
  quarantined: Count,
  held: Schema.optionalKey(StageGraph),
  reportUri: StorageUri,
  /** Triples that the batch adds to the graph. */
  triplesTotal: Count,
  /** How many of them are in the graph: none until the pointer of the graph moves, then all. */
  triplesIngested: Count,
}

export const BatchStats = Schema.Struct({
  documentsProcessed: Count,
  documentsFailed: Count,
  documentsSetAside: Count,
  documentsUnchanged: Count,
  documentsWithdrawn: Count,
  entitiesExtracted: Count,
  relationsExtracted: Count,
  clustersResolved: Count,
  violations: Count,
  quarantined: Count,
  forReview: Count,
  triplesIngested: Count,
  /** Triples of the whole graph when the batch was published. Absent when the batch changed nothing. */
  triplesTotal: Schema.optionalKey(Count),
  totalDurationMs: Count,
})
export type BatchStats = typeof BatchStats.Type

const ended = {
  ...request,
  ...extracted,
  canonicalVersion: ContentHash,
  /** The version of the graph before this batch; null when there was none. */
  previousVersion: Schema.NullOr(ContentHash),
  canonicalGraphUri: StorageUri,
  stats: BatchStats,
  completedAt: Schema.Int,
}

/** `cause` holds the messages of the error's causes that `message` does not repeat. */
export const BatchFault = Schema.Struct({ code: Schema.String, message: Schema.String, cause: Schema.optionalKey(Schema.String) })
export type BatchFault = typeof BatchFault.Type

/** A stage cannot finish until a user acts. */
export class BatchStopped extends Schema.TaggedError<BatchStopped>()("BatchStopped", { code: Schema.String, problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}

/** Set by a retry that names documents: only these failed documents are tried again. Absent: all of them. */
const retried = Schema.optionalKey(Schema.Array(DocumentId))

export const S = State({
  Pending: { ...request, retried },
  Extracting: {
    ...request,
    retried,
    ...extracted,
    /** Documents that failed before this time are tried again; a later failure counts. */
    failuresSince: Schema.Int,
    /** 1 while the failed documents are tried once more. */
    round: Count,
    /** The document whose extraction started last. */
    currentDocumentId: Schema.optionalKey(DocumentId),
  },
  Resolving: { ...request, ...extracted, resolvedAgain },
  Validating: { ...request, ...extracted, ...resolved, validationStartedAt: Schema.Int },
  Ingesting: { ...request, ...extracted, ...resolved, ...validated },
  Completed: ended,
  /** Some documents failed or were set aside, and the failure policy allowed it. */
  PartiallyCompleted: ended,
  Failed: {
    ...request,
    ...extracted,
    failedInStage: Stage,
    error: BatchFault,
    failedAt: Schema.Int,
    /** The stage before the one it failed in. */
    lastSuccessfulStage: Schema.optionalKey(Stage),
    /** Absent when the batch failed before it was resolved. */
    resolvedAgainst: Schema.optionalKey(resolvedAgainst),
  },
  Cancelled: { ...request, ...extracted, cancelledInStage: Stage, cancelledAt: Schema.Int },
})

export type BatchState = typeof S.Type

/** The schema of the state in `status.json`. */
const BatchStateSchema = schemaOf(S)

export const BatchStateJson = Schema.fromJsonString(Schema.toCodecJson(BatchStateSchema))

/** The tags of all states. */
export const batchStates = S.$tags

/** The progress of a batch, for display. Extraction takes longest and counts for 70 percent; each later stage is a step. */
export const progressPercent = (state: BatchState): number => {
  switch (state._tag) {
    case "Pending":
      return 0
    case "Extracting": {
      const done = state.documentsCompleted + state.documentsFailed + state.documentsSetAside
      return state.documentsTotal === 0 ? 0 : Math.min(70, Math.round((done / state.documentsTotal) * 70))
    }
    case "Resolving":
      return 70
    case "Validating":
      return 80
    case "Ingesting":
      return 90
    case "Completed":
    case "PartiallyCompleted":
      return 100
    case "Failed":
    case "Cancelled": {
      const done = state.documentsCompleted + state.documentsFailed + state.documentsSetAside
      return state.documentsTotal === 0 ? 0 : Math.min(70, Math.round((done / state.documentsTotal) * 70))
    }
  }
}

/**
 * The states in which a process works on a batch, in the order in which it passes them. A batch in another state has ended, and runs again
 * only after a retry or resume.
 */
export const activeBatchStates: ReadonlyArray<BatchState["_tag"]> = ["Pending", "Extracting", "Resolving", "Validating", "Ingesting"]

/** Whether the batch does nothing more without a request. */
export const isTerminal = ({ _tag }: BatchState): boolean => !activeBatchStates.includes(_tag)

export const errorOf = (state: BatchState): BatchFault | undefined => (state._tag === "Failed" ? state.error : undefined)

const names = {
  Pending: "Pending",
  Extracting: "Extracting",
  Resolving: "Resolving",
  Validating: "Validating",
  Ingesting: "Ingesting",
  Completed: "Completed",
  PartiallyCompleted: "Partially completed",
  Failed: "Failed",
  Cancelled: "Cancelled",
} as const

export const stageDisplayName = ({ _tag }: BatchState): string => names[_tag]

export type BatchStateStoreError = KeyValueStore.KeyValueStoreError | Schema.SchemaError

export interface BatchStateStoreService {
  /** None when no state was set. Fails for a stored value that is not a state of a batch. */
  readonly get: (batchId: BatchId) => Effect.Effect<Option.Option<BatchState>, BatchStateStoreError>
  readonly set: (batchId: BatchId, state: BatchState) => Effect.Effect<void, BatchStateStoreError>
}

/**
 * States of batches by their ids, in a `KeyValueStore`: for programs that see the bucket and not the database. It holds the states that
 * programs put there; the database remains the authority on the state of a batch.
 */
export class BatchStateStore extends Context.Service<BatchStateStore, BatchStateStoreService>()("@detent/knowledge/BatchStateStore") {
  static readonly layer: Layer.Layer<BatchStateStore, never, KeyValueStore.KeyValueStore> = Layer.effect(
    BatchStateStore,
    Effect.map(KeyValueStore.KeyValueStore, (store) => {
      const { get, set } = KeyValueStore.toSchemaStore(store, BatchStateSchema)
      return { get, set }
    }),
  )
}
