/** The configuration of a batch. Every setting has a default. */
import * as Schema from "effect/Schema"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { defaultPipelineConfig, PipelineConfig } from "../runs/Run.ts"
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
export const selectionOf = ({ extractor, baseUrl, budget }: Partial<BatchConfig>): ExtractorSelection => ({
  ...(extractor === undefined ? {} : { extractor }),
  ...(baseUrl === undefined ? {} : { baseUrl }),
  ...(budget === undefined ? {} : { budget }),
})

export const defaultBatchConfig: BatchConfig = {
  failurePolicy: "continue",
  concurrency: 64,
  maxRetries: 3,
  resolveEntities: true,
  validation: "quarantine",
  pipeline: defaultPipelineConfig,
}
