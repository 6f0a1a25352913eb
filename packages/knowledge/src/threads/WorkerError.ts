/** Why work on a worker failed. */
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

/** The worker was killed at a limit. */
export class LimitExceeded extends Schema.TaggedError<LimitExceeded>()("LimitExceeded", {
  task: Schema.String,
  exceeded: Schema.Literals(["time", "memory"]),
  /** The limit in words. */
  limit: Schema.String,
  attempts: Schema.Int,
}) {
  /** Without a next step, which depends on what the task was for. */
  get problem() {
    const times = this.attempts === 1 ? "" : `, in ${this.attempts} attempts`
    return this.exceeded === "time" ? `it took longer than ${this.limit}${times}` : `it needed more than ${this.limit}${times}`
  }

  override get message() {
    return `the task ${this.task} was stopped: ${this.problem}; give it less at once, or raise the limit`
  }
}

/** The worker ended by itself while it worked on the task. */
export class WorkerCrashed extends Schema.TaggedError<WorkerCrashed>()("WorkerCrashed", {
  task: Schema.String,
  attempts: Schema.Int,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.attempts} workers ended while working on ${this.task}: ${this.problem}; give the task less at once, or the process more memory`
  }
}

export type WorkerError = TaskFailed | LimitExceeded | WorkerCrashed
