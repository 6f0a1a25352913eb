/** Where a batch stands, and what there is to say about it in each stage. */
import { State } from "@detent/machine"
import * as Schema from "effect/Schema"
import { BatchId, ContentHash, Namespace, OntologyVersion } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { StorageUri } from "../storage/Uri.ts"
import { BatchConfig } from "./BatchConfig.ts"

export const Stage = Schema.Literals(["pending", "extracting", "resolving", "validating", "ingesting"])
export type Stage = typeof Stage.Type

/** What the batch is: in every state, so that a failed or cancelled one can go on. */
const request = {
  batchId: BatchId,
  manifestUri: StorageUri,
  ontologyVersion: OntologyVersion,
  targetNamespace: Namespace,
  config: BatchConfig,
  documentsTotal: Count,
  /** How often it has been started again after it failed. */
  retryCount: Count,
  /** How often it has been set going: runs of documents that failed before get a new attempt. */
  attempt: Count,
  createdAt: Schema.Int,
}

/** What models have cost so far. Absent for a batch that asks none. */
export const BatchUsage = Schema.Struct({
  calls: Count,
  inputTokens: Count,
  outputTokens: Count,
  /** Absent where the price of the model is not known. */
  cost: Schema.optionalKey(Schema.Finite),
  currency: Schema.optionalKey(Schema.String),
})
export type BatchUsage = typeof BatchUsage.Type

const extracted = {
  documentsCompleted: Count,
  documentsFailed: Count,
  entityCount: Count,
  relationCount: Count,
  usage: Schema.optionalKey(BatchUsage),
}

/** A file of sorted triples that a stage wrote. */
export const StageGraph = Schema.Struct({ uri: StorageUri, hash: ContentHash, triples: Count })
export type StageGraph = typeof StageGraph.Type

const resolved = { resolvedGraph: StageGraph, entitiesTotal: Count, clustersFormed: Count }
const validated = { validatedGraph: StageGraph, violations: Count, quarantined: Count, reportUri: StorageUri }

export const BatchStats = Schema.Struct({
  documentsProcessed: Count,
  documentsFailed: Count,
  entitiesExtracted: Count,
  relationsExtracted: Count,
  clustersResolved: Count,
  violations: Count,
  quarantined: Count,
  triplesIngested: Count,
  totalDurationMs: Count,
})
export type BatchStats = typeof BatchStats.Type

const ended = {
  ...request,
  ...extracted,
  canonicalVersion: ContentHash,
  canonicalGraphUri: StorageUri,
  stats: BatchStats,
  completedAt: Schema.Int,
}

export const BatchFault = Schema.Struct({ code: Schema.String, message: Schema.String })
export type BatchFault = typeof BatchFault.Type

export const S = State({
  Pending: request,
  Extracting: {
    ...request,
    ...extracted,
    /** Documents that failed before are tried again; those that failed since have failed. */
    failuresSince: Schema.Int,
    /** 1 when those that failed are being tried once more. */
    round: Count,
  },
  Resolving: { ...request, ...extracted },
  Validating: { ...request, ...extracted, ...resolved },
  Ingesting: { ...request, ...extracted, ...resolved, ...validated },
  Completed: ended,
  /** Some documents failed, and the failure policy allowed it. */
  PartiallyCompleted: ended,
  Failed: { ...request, ...extracted, failedInStage: Stage, error: BatchFault, failedAt: Schema.Int },
  Cancelled: { ...request, ...extracted, cancelledInStage: Stage, cancelledAt: Schema.Int },
})

export type BatchState = typeof S.Type
