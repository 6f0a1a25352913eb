/** Why work on a worker thread came to nothing. */
import * as Schema from "effect/Schema"

/** The task itself failed. Asking again would end the same way. */
export class TaskFailed extends Schema.TaggedError<TaskFailed>()("TaskFailed", {
  task: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the task ${this.task} failed: ${this.problem}`
  }
}

/** The thread ended while it worked on the task, and so did another one. */
export class WorkerCrashed extends Schema.TaggedError<WorkerCrashed>()("WorkerCrashed", {
  task: Schema.String,
  attempts: Schema.Int,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.attempts} worker threads ended while working on ${this.task}: ${this.problem}; give the task less at once, or the process more memory`
  }
}

export type WorkerError = TaskFailed | WorkerCrashed
