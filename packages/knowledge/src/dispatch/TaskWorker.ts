/**
 * Runs the tasks of the durable queue, and those of this process's memory. Every process that works on a database has one, so that a
 * dead letter of any queue can be retried with `detent command retry`.
 */

import type { StorageFolder } from "@detent/blobs/Storage"
import { type Commands, CommandWorker, DeadLetters, forkLoop } from "@detent/durable"
import { CommandResult, RetryPolicy } from "@detent/machine"
import { explainWithFrames } from "@detent/machine/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { Task } from "../tasks/Task.ts"
import { activitiesQueue, activityCommands, MemoryTasks, taskRetries } from "../tasks/TaskQueue.ts"
import { giveUpTask, runTask, TaskPostponed } from "./TaskRun.ts"

export interface TaskWorkerOptions {
  /** How many tasks this process runs concurrently. Default: 10. */
  readonly concurrency?: number | undefined
  /** Default: five attempts, 10 to 300 seconds apart. */
  readonly retry?: RetryPolicy.RetryPolicy | undefined
}

type Services = Effect.Services<ReturnType<typeof runTask>>

/** Runs the tasks of batches whose files are in the folder. */
export const layer = (
  folder: StorageFolder,
  { concurrency = 10, retry = taskRetries }: TaskWorkerOptions = {},
): Layer.Layer<never, never, Services | Commands> => {
  const most = RetryPolicy.maxAttempts(retry)
  const handler = activityCommands(retry).handler(({ givenUp, ...task }, { attempts, round }) =>
    Effect.gen(function* () {
      // A task that another queue gave up is a dead letter from the start, until a user retries it.
      if (givenUp !== undefined && round === 0) return yield* CommandResult.failForGood(new Error(givenUp))
      const ran = yield* Effect.result(attempt(folder, task, attempts >= most))
      if (ran._tag === "Success")
        return ran.success.outcome === "late" ? yield* CommandResult.alreadyExecuted(ran.success.reason) : undefined
      return yield* ran.failure instanceof TaskPostponed ? Effect.fail(ran.failure) : CommandResult.failForGood(ran.failure)
    }),
  )
  // A task that a stop interrupts is run by another process, or after the restart.
  const durable = CommandWorker.layer([handler], { concurrency, drainTimeout: "2 seconds" })
  return Layer.mergeAll(
    durable,
    Layer.effectDiscard(drainMemory(folder, concurrency, retry)),
    Layer.effectDiscard(forkLoop("the dead letters of tasks", Effect.delay(notifyBatches(folder), "20 seconds"))),
  )
}

/** Runs one attempt. The last attempt is repeated until the batch has the result of the task. */
const attempt = (folder: StorageFolder, task: Task, isLast: boolean) =>
  isLast
    ? Effect.retry(runTask(folder, task, true), {
        schedule: Schedule.spaced("5 seconds"),
        while: ({ _tag }) => _tag === "TaskPostponed",
      })
    : runTask(folder, task, false)

/** Runs the tasks in memory, with as many attempts as durable ones. A permanent failure is reported to the batch and logged. */
const drainMemory = (folder: StorageFolder, concurrency: number, retry: RetryPolicy.RetryPolicy) =>
  Effect.gen(function* () {
    const tasks = Option.getOrUndefined(yield* Effect.serviceOption(MemoryTasks))
    if (tasks === undefined) return
    const one = Effect.flatMap(tasks.take, (task) => attempted(folder, task, retry))
    const endless = Effect.forever(
      Effect.catchCause(one, (cause) => Effect.logError(`a task failed with a defect: ${explainWithFrames(Cause.squash(cause))}`)),
    )
    for (let index = 0; index < concurrency; index++) yield* Effect.forkScoped(endless)
  })

const attempted = (folder: StorageFolder, task: Task, retry: RetryPolicy.RetryPolicy) => {
  const from = (count: number): Effect.Effect<void, never, Services> =>
    attempt(folder, task, count >= RetryPolicy.maxAttempts(retry)).pipe(
      Effect.asVoid,
      Effect.catchTag("TaskPostponed", () =>
        Effect.flatMap(Random.next, (chance) => Effect.delay(from(count + 1), RetryPolicy.delayAfter(retry, count, chance) ?? 0)),
      ),
      Effect.catchTag("TaskGivenUp", ({ problem }) => Effect.logError(`the task ${task.key} failed for good: ${problem}`)),
    )
  return from(1)
}

const decodeTask = Schema.decodeUnknownOption(Schema.fromJsonString(Task))

/** Notifies batches of dead letters: a task that killed every process that ran it has not notified its batch. */
const notifyBatches = (folder: StorageFolder) =>
  Effect.gen(function* () {
    let after: number | undefined
    do {
      const page = yield* DeadLetters.list({ queue: activitiesQueue }, 100, after)
      for (const { parameters, problem } of page.commands) {
        const task = Option.getOrUndefined(decodeTask(parameters))
        if (task !== undefined) yield* giveUpTask(folder, task, problem ?? "its process died")
      }
      after = page.next
    } while (after !== undefined)
  })
