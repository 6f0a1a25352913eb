/** How a batch behaves. Everything has a default. */
import * as Schema from "effect/Schema"
import { ExtractorSelection } from "../KnowledgeSettings.ts"
import { defaultPipelineConfig, PipelineConfig } from "../runs/Run.ts"
import { Count } from "../storage/Quantity.ts"
import { ValidationPolicy } from "../validate/Report.ts"

/**
 * How a batch reacts to documents that fail: it continues with the others, ends at the first, or tries those that failed once
 * more at the end.
 */
export const FailurePolicy = Schema.Literals(["continue", "failFast", "retryFailed"])
export type FailurePolicy = typeof FailurePolicy.Type

/**
 * Where the work of a batch runs: the process that holds it; tasks, which the batch puts into the queue of activities; or activities,
 * which a job runner starts one by one. Tasks and activities report to the batch.
 */
export const Dispatch = Schema.Literals(["process", "tasks", "activities"])
export type Dispatch = typeof Dispatch.Type

export const BatchConfig = Schema.Struct({
  failurePolicy: FailurePolicy,
  /** How many documents are worked on concurrently. Those that are ready together are stored together. */
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

/** Which extractor a batch stores. */
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
