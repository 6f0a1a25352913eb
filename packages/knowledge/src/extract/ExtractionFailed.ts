/** An extractor could not answer. `retryable` says whether asking again can help. */
import * as Schema from "effect/Schema"

export class ExtractionFailed extends Schema.TaggedError<ExtractionFailed>()("ExtractionFailed", {
  extractor: Schema.String,
  reason: Schema.Literals([
    "RateLimited",
    "Overloaded",
    "Unavailable",
    "TimedOut",
    "Malformed",
    "Refused",
    "NotAllowed",
    "TooLong",
    "LimitExceeded",
    "Bug",
  ]),
  retryable: Schema.Boolean,
  /** What the service asked to wait before the next call. */
  retryAfterMillis: Schema.optionalKey(Schema.Number),
  /** Set where every other document would fail the same way: the batch stops with this code, and can be resumed. */
  stops: Schema.optionalKey(Schema.Literals(["BudgetExhausted", "PriceUnknown", "ModelRefused", "ModelUnavailable"])),
  detail: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${this.extractor} could not answer (${this.reason}): ${this.detail}`
  }
}
