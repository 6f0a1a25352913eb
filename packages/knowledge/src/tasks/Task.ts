/** A task is one call of an activity that a queue delivers, possibly more than once and late. */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"
import { ActivityName } from "../batch/ActivityName.ts"

export const Task = Schema.Struct({
  activity: ActivityName,
  /** The input of the activity as JSON. */
  input: Schema.Unknown,
  /** A second task with the same key is the first one. */
  key: Schema.String,
})
export type Task = typeof Task.Type

/** The name of a task in a queue: names do not tell what is worked on, and lie apart, as Cloud Tasks asks for. */
export const taskName = (key: string): string => createHash("sha256").update(key).digest("hex")

/** The key of a call that names none. The same call again has the same key. */
export const keyOfCall = (activity: ActivityName, input: unknown): string => `call:${taskName(JSON.stringify([activity, input]))}`
