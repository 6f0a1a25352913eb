/** How a batch is processed. Stored in its states, so that a retry follows the same rules. */
import * as Schema from "effect/Schema"

export const BatchConfig = Schema.Struct({
  /** How many documents are extracted at the same time. */
  concurrency: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  /** Whether one failed document ends the batch. */
  failurePolicy: Schema.Literals(["continue-on-failure", "abort-all"]),
  enableEntityResolution: Schema.Boolean,
  maxRetries: Schema.Natural,
})

export type BatchConfig = typeof BatchConfig.Type
