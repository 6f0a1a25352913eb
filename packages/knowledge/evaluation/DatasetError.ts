/** A folder to evaluate on is not laid out as it should be. */
import * as Schema from "effect/Schema"

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  path: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${this.path}: ${this.problem}; ${this.nextStep}`
  }
}
