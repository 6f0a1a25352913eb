/** A task is one call of an activity that a queue delivers, possibly more than once and late; and the settings of that queue. */
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

// The settings: `knowledge.tasks` of `detent.config.ts`, where batches with `dispatch: "tasks"` put their tasks.

const Name = Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/u))
const Positive = Schema.Int.check(Schema.isGreaterThan(0))

/** An address without user, password, query and fragment. */
const Address = Schema.String.check(
  Schema.makeFilter(
    (text) => {
      if (!URL.canParse(text)) return false
      const { protocol, username, password, search, hash } = new URL(text)
      return (protocol === "https:" || protocol === "http:") && `${username}${password}${search}${hash}` === ""
    },
    { expected: "an address like https://api-server-123.europe-west1.run.app" },
  ),
)

const Email = Schema.String.check(Schema.isPattern(/^[^@\s]+@[^@\s]+$/u, { expected: "the address of a service account" }))

const common = {
  /** How many tasks this process runs concurrently. Default: 10. */
  concurrency: Schema.optionalKey(Positive),
}

/** Tasks are commands in the database, which every working process runs. */
const DurableQueueSettings = Schema.Struct({ queue: Schema.Literal("durable"), ...common })

/** Tasks are in the memory of this process, which runs them. */
const MemoryQueueSettings = Schema.Struct({ queue: Schema.Literal("memory"), ...common })

export const CloudTasksSettings = Schema.Struct({
  queue: Schema.Literal("cloud-tasks"),
  ...common,
  project: Name,
  location: Name,
  /** The queue in Cloud Tasks. Default: `workflow-tasks`. */
  name: Schema.optionalKey(Name),
  /** The account that signs the calls of Cloud Tasks, and whose calls the server accepts. */
  serviceAccount: Email,
  /** Where Cloud Tasks reaches the server. */
  endpoint: Address,
  /** The audience of the tokens of the calls. Default: `endpoint`. */
  audience: Schema.optionalKey(Schema.NonEmptyString),
  /** A Cloud Run job in the same project and location, for activities that may take longer than a call. Default: none. */
  job: Schema.optionalKey(Name),
  /** The activities that the job runs. Default: resolution, validation and ingestion. */
  jobActivities: Schema.optionalKey(Schema.Array(ActivityName)),
  /** How often the job runs a task that fails: one more than its `max_retries`. Default: 4. */
  jobAttempts: Schema.optionalKey(Positive),
  /** The `maxAttempts` of the queue. Default: 5. */
  maxAttempts: Schema.optionalKey(Positive),
  /** The `maxRetryDuration` of the queue, in seconds. Default: 3,600. */
  maxRetrySeconds: Schema.optionalKey(Positive),
  /** How long one call may take, in seconds: 15 to 1,800. Default: 1,800. */
  dispatchSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 15, maximum: 1800 }))),
  /** The address of Cloud Tasks. Default: Google's. */
  tasksUrl: Schema.optionalKey(Address),
  /** The address of Cloud Run. Default: Google's. */
  runUrl: Schema.optionalKey(Address),
  /** The address of the keys that sign tokens, as a JSON Web Key Set. Default: Google's. */
  keysUrl: Schema.optionalKey(Address),
})
export type CloudTasksSettings = typeof CloudTasksSettings.Type

/** The literal of `queue` selects the member: only the settings of that queue are checked. */
export const TaskSettings = Schema.Union([DurableQueueSettings, MemoryQueueSettings, CloudTasksSettings]).annotate({
  expected: 'settings with a queue of "durable", "memory" or "cloud-tasks"',
})
export type TaskSettings = typeof TaskSettings.Type
