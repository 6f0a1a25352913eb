/** The queue of activities, for servers, jobs and workers that run tasks. */

export * as CloudTasks from "./CloudTasks.ts"
export { ActivityName, CloudTasksSettings, keyOfCall, Task, TaskSettings, taskName } from "./Task.ts"
export { CallerRefused, KeysUnavailable, TaskCallers, type TaskCallersService } from "./TaskCallers.ts"
export {
  activitiesQueue,
  deadTask,
  type EnqueueTaskOptions,
  keepDeadTask,
  TaskQueue,
  TaskQueueFailed,
  type TaskQueueService,
} from "./TaskQueue.ts"
export { giveUpTask, runTask, TaskGivenUp, TaskOutcome, TaskPostponed } from "./TaskRun.ts"
export * as TaskWorker from "./TaskWorker.ts"
