/** A command in the words of the API, without its parameters, which may be secret. */
import type { StoredCommand as Stored } from "@detent/durable"
import * as Schema from "effect/Schema"
import { Millis } from "./Paging.ts"

export const CommandStatus = Schema.Literals(["pending", "processing", "completed", "failed", "skipped"])

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
  problem: Schema.optionalKey(Schema.String),
  enqueuedAt: Millis,
  finishedAt: Schema.optionalKey(Millis),
}).annotate({ identifier: "Command" })

export const commandView = ({ instance, worker, problem, finishedAt, ...command }: Stored): typeof StoredCommand.Type => ({
  number: command.number,
  key: command.key,
  queue: command.queue,
  slot: command.slot,
  ...(instance === undefined ? {} : { machine: instance.machine, id: instance.id }),
  sequence: command.sequence,
  status: command.status,
  priority: command.priority,
  attempts: command.attempts,
  ...(command.round === 0 ? {} : { round: command.round }),
  runAt: command.runAt,
  ...(worker === undefined ? {} : { worker }),
  ...(problem === undefined ? {} : { problem }),
  enqueuedAt: command.enqueuedAt,
  ...(finishedAt === undefined ? {} : { finishedAt }),
})
