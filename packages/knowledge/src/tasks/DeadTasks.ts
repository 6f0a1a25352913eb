/** Tasks of other queues that failed for good, as dead letters of the durable queue: to be seen, and retried with `detent command retry`. */
import { Commands } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Task } from "./Task.ts"
import { activitiesQueue, activityCommands } from "./TaskQueue.ts"

export const keepDeadTask = (task: Task, problem: string) => activityCommands().enqueue({ ...task, givenUp: problem }, { key: task.key })

/** Why the task of this key failed for good; undefined where it did not, or was retried since. */
export const deadTask = (key: string) =>
  Effect.gen(function* () {
    const found = Option.getOrUndefined(yield* Effect.flatMap(Commands, (commands) => commands.get(key, activitiesQueue)))
    if (found === undefined || found.round > 0 || found.status === "completed" || found.status === "skipped") return undefined
    return found.problem ?? "it failed for good"
  })
