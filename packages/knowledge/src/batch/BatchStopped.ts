/** Why a stage could not be finished, when nothing but a person can help. */
import * as Schema from "effect/Schema"

export class BatchStopped extends Schema.TaggedError<BatchStopped>()("BatchStopped", { code: Schema.String, problem: Schema.String }) {
  override get message() {
    return this.problem
  }
}
