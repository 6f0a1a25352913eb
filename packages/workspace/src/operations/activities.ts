/** Runs one activity that a queue delivers, over HTTP or as a job. */

import { folderAt } from "@detent/blobs/StorageLocation"
import { type ActivityName, deadTask, keepDeadTask, keyOfCall, runTask, type TaskOutcome } from "@detent/knowledge/tasks"
import * as Effect from "effect/Effect"
import { CurrentWorkspace } from "../CurrentWorkspace.ts"

export interface Delivery {
  /** The key of the task. Default: derived from the activity and its input. */
  readonly key?: string | undefined
  /** Whether this is the last delivery of the task. */
  readonly isLast: boolean
}

export type DeliveryOutcome = TaskOutcome | { readonly outcome: "dead"; readonly problem: string }

/**
 * Runs an activity and reports to its batch. A task that failed permanently is kept as a dead letter before the failure is returned;
 * a later delivery does not run it again. A manual call, without a key, with an invalid input is refused, and no dead letter is kept.
 */
export const deliver = Effect.fn("activities.deliver")(function* (
  activity: ActivityName,
  input: unknown,
  { key: given, isLast }: Delivery,
) {
  const key = given ?? keyOfCall(activity, input)
  const dead = yield* deadTask(key)
  if (dead !== undefined) return { outcome: "dead", problem: dead } as const satisfies DeliveryOutcome
  const { data } = yield* CurrentWorkspace
  const task = { activity, input, key }
  return yield* Effect.tapError(runTask(folderAt(data), task, isLast), (error) =>
    error._tag === "TaskGivenUp" && !(error.isOfInput && given === undefined) ? keepDeadTask(task, error.problem) : Effect.void,
  )
})
