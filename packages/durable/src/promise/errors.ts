/** Errors of the engine for async code. All others are those of the Effect API. */
import * as Schema from "effect/Schema"

const execution = { workflow: Schema.String, id: Schema.String }

/**
 * The engine was closed, before the call or while the call waited. All data is in the database: another engine that is opened on it
 * continues.
 */
export class EngineClosed extends Schema.TaggedError<EngineClosed>()("EngineClosed", {
  /** The execution that the call waited for. */
  execution: Schema.optionalKey(Schema.Struct(execution)),
  /** The call that was not answered, unless it is `run`. */
  call: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    if (this.execution === undefined) return "the engine is closed; open another with openEngine"
    const { workflow, id } = this.execution
    const next = "open another engine with openEngine, and"
    return this.call === undefined
      ? `the engine was closed before execution ${id} of workflow ${workflow} ended; ${next} workflows.run with the same id waits for its result, or starts it if it was not stored`
      : `the engine was closed before the store answered ${this.call} for execution ${id} of workflow ${workflow}; ${next} call workflows.${this.call} again: it takes effect once`
  }
}

/** The execution was cancelled, and has no result. */
export class ExecutionCancelled extends Schema.TaggedError<ExecutionCancelled>()("ExecutionCancelled", execution) {
  override get message() {
    return `execution ${this.id} of workflow ${this.workflow} was cancelled; start another under a new id`
  }
}
