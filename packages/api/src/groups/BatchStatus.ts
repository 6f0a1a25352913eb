/** The status of a batch in answers of the API and in the command line's `--json`. */
import { BatchId, batchStates, Misfits, NotRead, RefusedItems, ReviewCounts, SkippedChunks, UnreadProse } from "@detent/knowledge/schemas"
import * as Schema from "effect/Schema"
import { Millis } from "../contract/Paging.ts"

export const BatchStateTag = Schema.Literals(batchStates)

/** The result of a batch that has ended. */
export const BatchOutcome = Schema.Struct({
  documentsProcessed: Schema.Int,
  documentsFailed: Schema.Int,
  /** Documents that exceeded a limit twice. They do not count as failed, and are not retried in this batch. */
  documentsSetAside: Schema.Int,
  /** Documents that the graph had in the same version: they were not extracted again. */
  documentsUnchanged: Schema.Int,
  /** Documents that are no longer in the folder or manifest and were removed from the graph. */
  documentsWithdrawn: Schema.Int,
  entitiesExtracted: Schema.Int,
  relationsExtracted: Schema.Int,
  clustersResolved: Schema.Int,
  violations: Schema.Int,
  /** Statements that validation kept out of the graph. */
  quarantined: Schema.Int,
  /** Facts on the review list: their confidence is too low for the graph. */
  forReview: Schema.Int,
  triplesIngested: Schema.Int,
  /** Triples of the whole graph when the batch was published; absent where the batch changed nothing. */
  triplesTotal: Schema.optionalKey(Schema.Int),
  totalDurationMs: Schema.Int,
})

/** Tokens and cost of models. `cost` is absent where the price of the model is unknown. */
export const ModelUsage = Schema.Struct({
  calls: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  cost: Schema.optionalKey(Schema.Finite),
  currency: Schema.optionalKey(Schema.String),
})

/** Counts of the documents in a language, and of those whose prose was not read. */
export const DocumentLanguages = Schema.Struct({
  /** A tag such as `de`; `und` where the text is too short to detect the language. */
  language: Schema.String,
  name: Schema.String,
  documents: Schema.Int,
  /** Documents whose prose was not read. Their tables, fields and `key: value` lines were. */
  unread: Schema.optionalKey(Schema.Int),
  reason: Schema.optionalKey(UnreadProse),
  nextStep: Schema.optionalKey(Schema.String),
})

export const BatchEstimate = Schema.Struct({
  extractor: Schema.String,
  documents: Schema.Int,
  /** Documents that the graph has in the same version. They are not extracted again. */
  unchanged: Schema.Int,
  /** Documents that cannot be read. They would fail. */
  unreadable: Schema.Int,
  chunks: Schema.Int,
  ...ModelUsage.fields,
}).annotate({ identifier: "BatchEstimate" })

export const BatchStatus = Schema.Struct({
  batchId: BatchId,
  state: BatchStateTag,
  /** The state in words. */
  stage: Schema.String,
  percent: Schema.Finite,
  /** The batch does not change until a retry or resume. */
  isTerminal: Schema.Boolean,
  namespace: Schema.String,
  ontologyVersion: Schema.String,
  documents: Schema.Struct({
    total: Schema.Int,
    completed: Schema.Int,
    failed: Schema.Int,
    /** Documents that exceeded a limit twice. They do not count as failed, and are not retried in this batch. */
    setAside: Schema.Int,
    /** The document that was begun last. */
    current: Schema.optionalKey(Schema.String),
    /** Completed documents that the graph already had in the same version. */
    unchanged: Schema.Int,
  }),
  extractor: Schema.String,
  budget: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(ModelUsage),
  /** Documents extracted per second, and the estimated end at that rate. Only during the first attempt at extraction. */
  ratePerSecond: Schema.optionalKey(Schema.Finite),
  estimatedCompletionAt: Schema.optionalKey(Millis),
  entities: Schema.Int,
  relations: Schema.Int,
  /** Facts on the review list: their confidence is too low for the graph. */
  forReview: Schema.Int,
  /** Values of tables and fields that do not fit the datatype of their property. They are not in the graph. */
  misfits: Schema.optionalKey(Misfits),
  /** Chunks that the model refused, or answered with something else than was asked. Their documents are extracted without them. */
  skipped: Schema.optionalKey(SkippedChunks),
  /** Entities and facts of the model that the text does not prove, or the ontology does not allow. They are not in the graph. */
  refused: Schema.optionalKey(RefusedItems),
  /** Cells of tables and values of objects that gave no fact, by column: they have no rule in a mapping, and no label of a property. */
  notRead: Schema.optionalKey(NotRead),
  /** The languages of the completed documents. */
  languages: Schema.Array(DocumentLanguages),
  /** How many facts of the review list are open, accepted and rejected. */
  review: Schema.optionalKey(ReviewCounts),
  /** Triples of an ended batch that the graph has now, including accepted facts. 0 after the batch was withdrawn. */
  inGraph: Schema.optionalKey(Schema.Int),
  retryCount: Schema.Int,
  createdAt: Millis,
  /** The time of the batch's last event. */
  updatedAt: Millis,
  failure: Schema.optionalKey(
    Schema.Struct({
      stage: Schema.String,
      code: Schema.String,
      message: Schema.String,
      /** The causes, where the message does not contain them. */
      cause: Schema.optionalKey(Schema.String),
      lastSuccessfulStage: Schema.optionalKey(Schema.String),
    }),
  ),
  outcome: Schema.optionalKey(BatchOutcome),
}).annotate({ identifier: "BatchStatus" })
export type BatchStatus = typeof BatchStatus.Type
