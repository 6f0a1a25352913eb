/** A task is one call of an activity that a queue delivers, possibly more than once and late. */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"

/** The stages of a batch, as a job runner or a queue calls them. */
export const ActivityName = Schema.Literals(["extraction", "resolution", "validation", "ingestion"])
export type ActivityName = typeof ActivityName.Type

export const Task = Schema.Struct({
  activity: ActivityName,
  /** The input of the activity as JSON. */
  input: Schema.Unknown,
  /** The idempotency key: a second task with the same key is not enqueued. */
  key: Schema.String,
})
export type Task = typeof Task.Type

/** The name of a task in a queue: a hash, so that names reveal no input and are evenly distributed, as Cloud Tasks recommends. */
export const taskName = (key: string): string => createHash("sha256").update(key).digest("hex")

/** The key of a call that names none. The same call always has the same key. */
export const keyOfCall = (activity: ActivityName, input: unknown): string => `call:${taskName(JSON.stringify([activity, input]))}`
