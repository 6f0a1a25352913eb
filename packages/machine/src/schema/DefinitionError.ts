/** The error of a wrong declaration. */
import * as Schema from "effect/Schema"

/** A machine was declared wrongly. Thrown while the definition is built: no program can continue with it. */
export class DefinitionError extends Schema.TaggedError<DefinitionError>()("DefinitionError", {
  machine: Schema.optionalKey(Schema.String),
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.machine === undefined ? "" : `machine ${this.machine}: `}${this.problem}; ${this.nextStep}`
  }
}
