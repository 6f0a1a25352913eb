/** Who may deliver tasks over HTTP besides the operators of the server: Cloud Tasks, where it is the queue. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type CallerIdentity, CallerRefused, make } from "./CallerIdentity.ts"
import type { TaskSettings } from "./TaskSettings.ts"

export interface TaskCallersService extends CallerIdentity {
  /** How often the queue delivers a task at most. */
  readonly maxAttempts: number
}

const noCallers: TaskCallersService = {
  maxAttempts: 1,
  verify: () =>
    Effect.fail(
      new CallerRefused({
        problem: "this server takes no calls of a queue",
        nextStep: "send its own token, or set knowledge.tasks to a queue of Cloud Tasks",
        foreign: false,
      }),
    ),
}

export class TaskCallers extends Context.Service<TaskCallers, TaskCallersService>()("@detent/knowledge/TaskCallers") {
  static readonly layer = (settings: TaskSettings | undefined): Layer.Layer<TaskCallers> =>
    Layer.sync(TaskCallers, () =>
      settings?.queue === "cloud-tasks" ? { ...make(settings), maxAttempts: settings.maxAttempts ?? 5 } : noCallers,
    )
}
