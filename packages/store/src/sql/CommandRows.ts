/** Rows of commands and queues as records; the column names are the same on SQLite and PostgreSQL. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type {
  ClaimedCommand,
  CommandCount,
  CommandStatus,
  Finished,
  GroupLimits,
  GroupRecord,
  NewCommand,
  QueueRecord,
  Rate,
  StoredCommand,
} from "../contract/Commands.ts"
import type { InstanceKey } from "../contract/Commit.ts"
import type { Row } from "./Row.ts"
import { flagOf, optionalTextOf, textOf, wholeOf } from "./Row.ts"
import { RowProblem } from "./StoreFailure.ts"

export const storedCommandOf = (row: Row): StoredCommand => ({
  number: wholeOf(row, "number"),
  key: textOf(row, "key"),
  queue: textOf(row, "queue"),
  slot: textOf(row, "slot"),
  parameters: textOf(row, "parameters"),
  instance: instanceOf(row),
  sequence: wholeOf(row, "sequence"),
  status: commandStatusOf(row),
  priority: wholeOf(row, "priority"),
  ordered: flagOf(row, "ordered"),
  group: groupOf(row),
  attempts: wholeOf(row, "attempts"),
  round: wholeOf(row, "round"),
  runAt: wholeOf(row, "run_at"),
  worker: optionalTextOf(row, "claimed_by"),
  claimedUntil: optionalWholeOf(row, "claimed_until"),
  problem: optionalTextOf(row, "last_error"),
  errors: errorsOf(row),
  enqueuedAt: wholeOf(row, "enqueued_at"),
  finishedAt: optionalWholeOf(row, "finished_at"),
})

export const claimedCommandOf = (row: Row): ClaimedCommand => ({
  number: wholeOf(row, "number"),
  claim: wholeOf(row, "claim"),
  key: textOf(row, "key"),
  queue: textOf(row, "queue"),
  slot: textOf(row, "slot"),
  parameters: textOf(row, "parameters"),
  instance: instanceOf(row),
  sequence: wholeOf(row, "sequence"),
  priority: wholeOf(row, "priority"),
  ordered: flagOf(row, "ordered"),
  group: groupOf(row),
  attempts: wholeOf(row, "attempts"),
  round: wholeOf(row, "round"),
  enqueuedAt: wholeOf(row, "enqueued_at"),
})

/** A command without a group has an empty one. */
const groupOf = (row: Row): string | undefined => {
  const group = textOf(row, "group_name")
  return group === "" ? undefined : group
}

const instanceOf = (row: Row): InstanceKey | undefined => {
  const machine = optionalTextOf(row, "machine")
  return machine === undefined ? undefined : { machine, id: textOf(row, "instance_id") }
}

const optionalWholeOf = (row: Row, column: string): number | undefined => (row[column] === null ? undefined : wholeOf(row, column))

const Errors = Schema.fromJsonString(Schema.Array(Schema.Struct({ attempt: Schema.Number, at: Schema.Number, problem: Schema.String })))
const decodeErrors = Schema.decodeUnknownOption(Errors)

const errorsOf = (row: Row): StoredCommand["errors"] => {
  const text = optionalTextOf(row, "errors")
  if (text === undefined) return []
  const errors = decodeErrors(text)
  if (Option.isNone(errors)) throw new RowProblem("column errors should hold the errors of a command")
  return errors.value
}

export const commandStatusOf = (row: Row): CommandStatus => {
  const value = textOf(row, "status")
  switch (value) {
    case "pending":
    case "processing":
    case "completed":
    case "failed":
    case "handled":
    case "skipped":
      return value
    default:
      throw new RowProblem("column status should hold the status of a command")
  }
}

export const commandCountOf = (row: Row): CommandCount => ({
  queue: textOf(row, "queue"),
  status: commandStatusOf(row),
  count: wholeOf(row, "count"),
})

export const queueOf = (row: Row): QueueRecord => {
  const perGroup = { concurrency: optionalWholeOf(row, "group_concurrency"), rate: rateOf(row, "group_rate") }
  return {
    queue: textOf(row, "name"),
    paused: flagOf(row, "paused"),
    concurrency: optionalWholeOf(row, "concurrency"),
    rate: rateOf(row, "rate"),
    perGroup: hasLimits(perGroup) ? perGroup : undefined,
  }
}

const rateOf = (row: Row, name: string): Rate | undefined => {
  const limit = optionalWholeOf(row, `${name}_limit`)
  return limit === undefined ? undefined : { limit, intervalMillis: wholeOf(row, `${name}_interval`) }
}

const hasLimits = ({ concurrency, rate }: GroupLimits): boolean => concurrency !== undefined || rate !== undefined

/** A group's own limits; undefined where it has none. */
export const ownLimitsOf = (row: Row): GroupLimits | undefined => {
  const own = { concurrency: optionalWholeOf(row, "concurrency"), rate: rateOf(row, "rate") }
  return hasLimits(own) ? own : undefined
}

export const groupRecordOf = (row: Row): GroupRecord => ({
  group: textOf(row, "name"),
  pending: wholeOf(row, "pending"),
  running: wholeOf(row, "running"),
  own: ownLimitsOf(row),
})

/** Number, claim, status, problem, delay, attempts to take back. */
export const finishedRow = ({ number, claim, verdict }: Finished): ReadonlyArray<string | number | null> => {
  switch (verdict._tag) {
    case "Completed":
      return [number, claim, "completed", verdict.problem ?? null, 0, 0]
    case "Skipped":
      return [number, claim, "skipped", verdict.reason, 0, 0]
    case "Failed":
      return [number, claim, "failed", verdict.problem, 0, 0]
    case "Handled":
      return [number, claim, "handled", verdict.problem, 0, 0]
    case "Retry":
      return [number, claim, "pending", verdict.problem, Math.ceil(verdict.delayMillis), 0]
    case "Released":
      return [number, claim, "pending", null, Math.ceil(verdict.delayMillis), 1]
  }
}

/** Key, queue, slot, parameters, machine, id, priority, ordered, earliest time to run, delay, group, pending key. */
export const newCommandRow = (command: NewCommand): ReadonlyArray<string | number | null> => [
  command.key,
  command.queue,
  command.slot,
  command.parameters,
  command.instance?.machine ?? null,
  command.instance?.id ?? null,
  command.priority,
  command.ordered ? 1 : 0,
  command.runAt === undefined ? null : Math.ceil(command.runAt),
  Math.ceil(command.delayMillis),
  command.group ?? "",
  command.pendingKey ?? null,
]
