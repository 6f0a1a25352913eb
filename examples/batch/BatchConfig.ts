/** How a batch is to be processed. It travels with the batch, so that a retry runs under the same rules. */
import * as Schema from "effect/Schema"

export const BatchConfig = Schema.Struct({
  /** How many documents are worked on at the same time. */
  concurrency: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  /** What one failed document means for the others. */
  failurePolicy: Schema.Literals(["continue-on-failure", "abort-all"]),
  enableEntityResolution: Schema.Boolean,
  maxRetries: Schema.Natural,
})

export type BatchConfig = typeof BatchConfig.Type
