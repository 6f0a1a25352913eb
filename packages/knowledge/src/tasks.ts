/** The queue of activities, for servers, jobs and workers that run tasks. */

export { giveUpTask, runTask, TaskGivenUp, TaskOutcome, TaskPostponed } from "./dispatch/TaskRun.ts"
export * as TaskWorker from "./dispatch/TaskWorker.ts"
export * as CloudTasks from "./tasks/CloudTasks.ts"
export { ActivityName, CloudTasksSettings, keyOfCall, Task, TaskSettings, taskName } from "./tasks/Task.ts"
export { CallerRefused, KeysUnavailable, TaskCallers, type TaskCallersService } from "./tasks/TaskCallers.ts"
export {
  activitiesQueue,
  deadTask,
  type EnqueueTaskOptions,
  keepDeadTask,
  TaskQueue,
  TaskQueueFailed,
  type TaskQueueService,
} from "./tasks/TaskQueue.ts"
