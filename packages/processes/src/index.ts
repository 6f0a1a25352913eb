/** Worker processes with limits of time and memory, for work on user content. */
export { makeProcessPool, type ProcessPool, type ProcessPoolOptions, type StreamOptions, type TaskOptions } from "./ProcessPool.ts"
export {
  fromOutcome,
  itemsOf,
  LimitExceeded,
  limitText,
  moduleBeside,
  type Outcome,
  outcomeOf,
  type Shared,
  type TaskChannel,
  TaskFailed,
  type TaskHandler,
  type TaskHandlers,
  type TaskLimit,
  UnsoundWorker,
  WorkerCrashed,
  type WorkerError,
} from "./Protocol.ts"
