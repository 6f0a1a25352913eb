/** How a batch behaves. Everything has a default. */
import * as Schema from "effect/Schema"
import { defaultPipelineConfig, PipelineConfig } from "../runs/Run.ts"
import { Count } from "../storage/Quantity.ts"
import { ValidationPolicy } from "../validate/Violation.ts"

/**
 * What becomes of a batch when documents fail: it goes on with the others, ends at the first, or tries those that failed once
 * more at the end.
 */
export const FailurePolicy = Schema.Literals(["continue", "failFast", "retryFailed"])
export type FailurePolicy = typeof FailurePolicy.Type

export const BatchConfig = Schema.Struct({
  failurePolicy: FailurePolicy,
  /** How many documents are worked on at once. Those that are ready together are stored together. */
  concurrency: Schema.Int.check(Schema.isGreaterThan(0)),
  /** How often a failed batch may be started again. */
  maxRetries: Count,
  resolveEntities: Schema.Boolean,
  validation: ValidationPolicy,
  pipeline: PipelineConfig,
})
export type BatchConfig = typeof BatchConfig.Type

export const defaultBatchConfig: BatchConfig = {
  failurePolicy: "continue",
  concurrency: 64,
  maxRetries: 3,
  resolveEntities: true,
  validation: "quarantine",
  pipeline: defaultPipelineConfig,
}
