/** A command as the API returns it. */
import { commandStatuses } from "@detent/workspace/operations/commands"
import * as Schema from "effect/Schema"
import { Millis } from "../api/Paging.ts"

export const CommandStatus = Schema.Literals(commandStatuses)

export const StoredCommand = Schema.Struct({
  number: Schema.Int,
  key: Schema.String,
  queue: Schema.String,
  slot: Schema.String,
  machine: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
  /** Of the event that requested it; -1 where it was enqueued by hand. */
  sequence: Schema.Int,
  status: CommandStatus,
  priority: Schema.Int,
  /** How often it was executed since it was requested, or since it was last retried by hand. */
  attempts: Schema.Int,
  /** How often it was retried by hand; absent where it never was. */
  round: Schema.optionalKey(Schema.Int),
  runAt: Millis,
  worker: Schema.optionalKey(Schema.String),
  /** Why it failed last or was skipped, or why the event that follows from it was refused. */
  problem: Schema.optionalKey(Schema.String),
  /** The errors of its latest executions, oldest first; absent where it has none. */
  errors: Schema.optionalKey(Schema.Array(Schema.Struct({ attempt: Schema.Int, at: Millis, problem: Schema.String }))),
  /** Its parameters; sensitive parameters are hidden. Absent where its machine is not known here. */
  parameters: Schema.optionalKey(Schema.Json),
  /** The cause of its problem: the same for problems that differ only in numbers, ids and quoted words. */
  fingerprint: Schema.optionalKey(Schema.String),
  enqueuedAt: Millis,
  finishedAt: Schema.optionalKey(Millis),
}).annotate({ identifier: "Command" })
