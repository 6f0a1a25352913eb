/** Errors of the engine, as opposed to a workflow's own errors. All of them are defects: workflows need not handle them. */
import * as Schema from "effect/Schema"

/** Two steps of one execution have the same name: the second would silently get the stored result of the first. */
export class DuplicateStep extends Schema.TaggedError<DuplicateStep>()("DuplicateStep", {
  workflow: Schema.String,
  executionId: Schema.String,
  kind: Schema.Literals(["activity", "clock"]),
  step: Schema.String,
  attempt: Schema.Int,
}) {
  override get message() {
    const retried = this.kind === "activity" ? `, or retry it with Activity.retry instead of Effect.retry` : ""
    return `workflow ${this.workflow} ${this.executionId}: ${this.kind} ${this.step} is run twice (attempt ${this.attempt}); give each ${this.kind} of an execution a name of its own${retried}`
  }
}

/** The execution does not continue until the problem is solved. Its stored steps are kept. */
export class ExecutionHeld extends Schema.TaggedError<ExecutionHeld>()("ExecutionHeld", {
  workflow: Schema.String,
  executionId: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `workflow ${this.workflow} ${this.executionId} is held: ${this.problem}; solve that, then call ${this.workflow}.resume("${this.executionId}") or restart`
  }
}

/** The scope of the engine has ended. The execution is in the journal, and an open engine continues it. */
export class WorkflowEngineClosed extends Schema.TaggedError<WorkflowEngineClosed>()("WorkflowEngineClosed", {
  workflow: Schema.String,
}) {
  override get message() {
    return `workflow ${this.workflow} was called after its engine was closed; call it inside the scope of DurableWorkflow.layer`
  }
}
