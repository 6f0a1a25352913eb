/**
 * A queue of activities, which a batch with `dispatch: "tasks"` fills. It only enqueues; its layer decides which process runs the tasks.
 *
 * | layer                    | runs the tasks                                   | what a crash leaves                     |
 * | ------------------------ | ------------------------------------------------ | --------------------------------------- |
 * | `TaskQueue.layerMemory`  | this process                                     | nothing; the batch enqueues them again  |
 * | `TaskQueue.layerDurable` | every process that works on the database         | the tasks, as commands of `activities`  |
 * | `CloudTasks.layer`       | `POST /activities/:name`, or a job of Cloud Run  | the tasks, in Google's queue            |
 */
import { CommandQueue, Commands } from "@detent/durable"
import { RetryPolicy } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { type ActivityName, Task } from "./Task.ts"

/** The queue does not accept a task. `retryable`: the same call may succeed later. */
export class TaskQueueFailed extends Schema.TaggedError<TaskQueueFailed>()("TaskQueueFailed", {
  queue: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
  retryable: Schema.Boolean,
}) {
  override get message() {
    return `the queue ${this.queue} accepts no tasks: ${this.problem}; ${this.nextStep}`
  }
}

export interface EnqueueTaskOptions {
  /** The idempotency key: a second task with the same key is not enqueued. */
  readonly key: string
  /** The task does not run before this time has passed. */
  readonly delay?: Duration.Input
}

export interface TaskQueueService {
  /** Stores a task. `input` is the input of the activity as JSON. */
  readonly enqueue: (activity: ActivityName, input: object, options: EnqueueTaskOptions) => Effect.Effect<void, TaskQueueFailed>
  /**
   * How long it can take until a task is delivered for the last time. A batch that still waits for it then enqueues another one.
   * Undefined when the queue notifies the batch of every task that it gives up.
   */
  readonly patience: Duration.Duration | undefined
}

export class TaskQueue extends Context.Service<TaskQueue, TaskQueueService>()("@detent/knowledge/TaskQueue") {
  /** Stores tasks as commands. `TaskWorker.layer` runs them in any process that works on the database. */
  static readonly layerDurable: Layer.Layer<TaskQueue, never, Commands> = Layer.effect(
    TaskQueue,
    Effect.map(Commands, (commands) => durable(commands)),
  )

  /** Keeps tasks in the memory of this process, where `TaskWorker.layer` runs them. */
  static readonly layerMemory: Layer.Layer<TaskQueue | MemoryTasks> = Layer.provideMerge(
    Layer.effect(
      TaskQueue,
      Effect.map(
        Effect.suspend(() => MemoryTasks),
        (tasks): TaskQueueService => ({ enqueue: tasks.enqueue, patience: undefined }),
      ),
    ),
    Layer.suspend(() => MemoryTasks.layer),
  )
}

/** A task as a command. A task that Cloud Tasks gave up is stored as a dead letter, with the problem in `givenUp`. */
const StoredTask = Schema.Struct({ ...Task.fields, givenUp: Schema.optionalKey(Schema.String) })

/** The name of the queue in lists of commands and dead letters. */
export const activitiesQueue = "activities"

/** Longer than any dispatch deadline of Cloud Tasks. */
const longestActivity: Duration.Input = "30 minutes"

/** The limits of the specification: five attempts, 10 to 300 seconds apart. */
export const taskRetries = RetryPolicy.exponential({ initialDelay: "10 seconds", maxDelay: "300 seconds", jitter: 0.1, maxAttempts: 5 })

/** Commands of the queue. Tests pass a `retry` with shorter pauses. */
export const activityCommands = (retry: RetryPolicy.RetryPolicy = taskRetries) =>
  CommandQueue.make(activitiesQueue, { payload: StoredTask, retry, timeout: longestActivity })

const durable = (commands: Commands["Service"]): TaskQueueService => {
  const queue = activityCommands()
  return {
    patience: undefined,
    enqueue: (activity, input, { key, ...options }) =>
      queue.enqueue({ activity, input, key }, { key, ...options }).pipe(
        Effect.provideService(Commands, commands),
        Effect.asVoid,
        Effect.mapError(
          (error) =>
            new TaskQueueFailed({
              queue: activitiesQueue,
              problem: error.message,
              nextStep: "check the database",
              retryable: error._tag === "PersistenceFailed",
            }),
        ),
      ),
  }
}

/** How many keys of enqueued tasks are remembered. */
const remembered = 100_000

const forgetOldest = (names: Set<string>) => {
  for (const oldest of names) {
    names.delete(oldest)
    return
  }
}

/** The tasks of `TaskQueue.layerMemory`. */
export class MemoryTasks extends Context.Service<
  MemoryTasks,
  { readonly enqueue: TaskQueueService["enqueue"]; readonly take: Effect.Effect<Task> }
>()("@detent/knowledge/MemoryTasks") {
  static readonly layer: Layer.Layer<MemoryTasks> = Layer.effect(
    MemoryTasks,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const waiting = yield* Queue.unbounded<Task>()
      const known = new Set<string>()
      return {
        take: Queue.take(waiting),
        enqueue: (activity, input, { key, delay }) =>
          Effect.suspend(() => {
            if (known.has(key)) return Effect.void
            known.add(key)
            if (known.size > remembered) forgetOldest(known)
            const offered = Effect.asVoid(Queue.offer(waiting, { activity, input, key }))
            return delay === undefined ? offered : Effect.asVoid(Effect.forkIn(Effect.delay(offered, delay), scope))
          }),
      }
    }),
  )
}

/** Stores a task that another queue gave up as a dead letter of the durable queue. `detent command retry` runs it again. */
export const keepDeadTask = (task: Task, problem: string) => activityCommands().enqueue({ ...task, givenUp: problem }, { key: task.key })

/** Why the task with this key failed permanently; undefined when it did not, or was retried since. */
export const deadTask = (key: string) =>
  Effect.gen(function* () {
    const found = Option.getOrUndefined(yield* Effect.flatMap(Commands, (commands) => commands.get(key, activitiesQueue)))
    if (found === undefined || found.round > 0 || found.status === "completed" || found.status === "skipped") return undefined
    return found.problem ?? "it failed for good"
  })
