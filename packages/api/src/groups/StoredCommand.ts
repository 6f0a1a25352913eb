/** A command in answers of the API. */
import * as Schema from "effect/Schema"
import { Millis } from "../contract/Paging.ts"

export const CommandStatus = Schema.Literals(["pending", "processing", "completed", "failed", "handled", "skipped"])

export const StoredCommand = Schema.Struct({
  number: Schema.Int,
  key: Schema.String,
  queue: Schema.String,
  slot: Schema.String,
  machine: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
  /** The number of the event that requested the command; -1 where it was enqueued manually. */
  sequence: Schema.Int,
  status: CommandStatus,
  priority: Schema.Int,
  /** The tenant or customer that it was enqueued for; absent where it has none. */
  group: Schema.optionalKey(Schema.String),
  /** How often it was executed since it was requested, or since its last manual retry. */
  attempts: Schema.Int,
  /** How often it was retried manually; absent where it never was. */
  round: Schema.optionalKey(Schema.Int),
  runAt: Millis,
  worker: Schema.optionalKey(Schema.String),
  /** Why it last failed or was skipped, or why the instance refused the event with its result. */
  problem: Schema.optionalKey(Schema.String),
  /** The errors of its first execution and of its latest ones, oldest first; absent where it has none. */
  errors: Schema.optionalKey(Schema.Array(Schema.Struct({ attempt: Schema.Int, at: Millis, problem: Schema.String }))),
  /** Its parameters; sensitive parameters are hidden. Absent where the server does not know its machine. */
  parameters: Schema.optionalKey(Schema.Json),
  /** Identifies the cause of its problem: the same for problems that differ only in numbers, ids and quoted words. */
  fingerprint: Schema.optionalKey(Schema.String),
  enqueuedAt: Millis,
  finishedAt: Schema.optionalKey(Millis),
}).annotate({ identifier: "Command" })
