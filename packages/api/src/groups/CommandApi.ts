/** Commands, queues and timers: list, retry, skip, pause, limit. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Count, Limit, Millis, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { CommandStatus, StoredCommand } from "./StoredCommand.ts"

export { CommandStatus, StoredCommand } from "./StoredCommand.ts"

/** The most commands that a request names by their numbers. */
const mostNumbers = 1000

/** The conditions on commands, the same for lists, groups, retries and skips. `number` is how a query or a body writes numbers. */
const conditions = <N extends Schema.Codec<number, number | string>>(number: N) => ({
  queue: Schema.optionalKey(Schema.String),
  slot: Schema.optionalKey(Schema.String),
  machine: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
  /** The fingerprint of the problem, from `groups`. */
  fingerprint: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
  enqueuedAfter: Schema.optionalKey(number),
  enqueuedBefore: Schema.optionalKey(number),
  /** Only the commands of these numbers. */
  number: Schema.optionalKey(Schema.Union([number, Schema.Array(number).check(Schema.isMaxLength(mostNumbers))])),
})

const filter = conditions(Millis)

/** From 1 to the largest limit that every store can keep. */
const Limited = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1), Schema.isLessThanOrEqualTo(2_147_483_647))

const Rate = Schema.Struct({
  limit: Limited,
  intervalMillis: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
})

/** Absent: no limit. */
const GroupLimits = Schema.Struct({ concurrency: Schema.optionalKey(Schema.Int), rate: Schema.optionalKey(Rate) })

export const Queue = Schema.Struct({
  queue: Schema.String,
  paused: Schema.Boolean,
  /** The limit of commands in flight across all workers; absent where there is no limit. */
  concurrency: Schema.optionalKey(Schema.Int),
  /** The limit of commands that all workers together start within any such interval; absent where there is no limit. */
  rate: Schema.optionalKey(Rate),
  /** The limits of each group that has none of its own; absent where there are none. */
  perGroup: Schema.optionalKey(GroupLimits),
  counts: Schema.Record(Schema.String, Schema.Int),
  /** When the oldest command that could be executed now was enqueued. */
  oldestPendingAt: Schema.optionalKey(Millis),
  /** Commands in flight. */
  running: Schema.Int,
  /** The workers that execute commands of the queue. */
  workers: Schema.Array(Schema.Struct({ worker: Schema.String, running: Schema.Int })),
}).annotate({ identifier: "Queue" })

export const LimitQueue = Schema.Struct({
  /** Null: no limit. */
  concurrency: Schema.optionalKey(Schema.NullOr(Limited)),
  rate: Schema.optionalKey(Schema.NullOr(Rate)),
  /** Replaces the limits of each group that has none of its own. */
  perGroup: Schema.optionalKey(Schema.NullOr(Schema.Struct({ concurrency: Schema.optionalKey(Limited), rate: Schema.optionalKey(Rate) }))),
}).annotate({ identifier: "LimitQueue" })

/** The limits of one group in place of those of all groups. Null or absent: those of all groups. */
export const LimitGroup = Schema.Struct({
  concurrency: Schema.optionalKey(Schema.NullOr(Limited)),
  rate: Schema.optionalKey(Schema.NullOr(Rate)),
}).annotate({ identifier: "LimitGroup" })

export const LimitedGroup = Schema.Struct({ queue: Schema.String, group: Schema.String, ...GroupLimits.fields }).annotate({
  identifier: "LimitedGroup",
})

export const QueueGroup = Schema.Struct({
  group: Schema.String,
  /** Pending commands that are due, counted up to 1,000. */
  pending: Schema.Int,
  /** Commands in flight. */
  running: Schema.Int,
  /** Its own limits; absent where those of all groups apply. */
  own: Schema.optionalKey(GroupLimits),
}).annotate({ identifier: "QueueGroup" })

export const CommandGroup = Schema.Struct({
  fingerprint: Schema.String,
  /** The problem of the latest command. */
  problem: Schema.String,
  slot: Schema.String,
  queue: Schema.String,
  count: Schema.Int,
  firstAt: Millis,
  lastAt: Millis,
}).annotate({ identifier: "CommandGroup" })

export const DeadTimer = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  name: Schema.String,
  entry: Schema.Int,
  due: Millis,
  attempts: Schema.Int,
  problem: Schema.String,
}).annotate({ identifier: "DeadTimer" })

export const RetryCommands = Schema.Struct({
  ...filter,
  dryRun: Schema.optionalKey(Schema.Boolean),
  /** Also retries commands whose instance has ended or would refuse the result. */
  force: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "RetryCommands" })

export const SkipCommand = Schema.Struct({ reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1000)) }).annotate({
  identifier: "SkipCommand",
})

export const SkipCommands = Schema.Struct({
  filter: Schema.Struct({ ...filter, status: Schema.optionalKey(Schema.Literals(["failed", "pending"])) }),
  ...SkipCommand.fields,
  /** Only counts the commands. Default: false. */
  dryRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "SkipCommands" })

export const ReviveTimer = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  name: Schema.String,
  entry: Schema.Int,
  due: Millis,
}).annotate({ identifier: "ReviveTimer" })

const key = { key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)) }
const queue = { queue: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)) }
/** The longest name of a group, in bytes. */
const groupBytes = 500

const isBounded = Schema.makeFilter((name: string) => new TextEncoder().encode(name).length <= groupBytes, {
  expected: `a group of at most ${groupBytes} bytes`,
})

const group = { ...queue, group: Schema.String.check(Schema.isMinLength(1), isBounded) }
const error = problems

export class CommandApi extends HttpApiGroup.make("commands")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/commands", {
      query: { ...conditions(Count), status: Schema.optionalKey(CommandStatus), ...paging(Count) },
      success: pageOf(
        {
          commands: Schema.Array(StoredCommand),
          /** Set where the page ended early, after examining this many commands; the next page continues. */
          scanned: Schema.optionalKey(Schema.Int),
        },
        Schema.Int,
      ),
      error,
    })
      .annotate(OpenApi.Summary, "List commands")
      .annotate(OpenApi.Description, "Commands in the order they were enqueued."),
    HttpApiEndpoint.get("groups", "/api/v1/commands/groups", {
      query: { ...conditions(Count), status: Schema.optionalKey(CommandStatus) },
      success: Schema.Struct({
        groups: Schema.Array(CommandGroup),
        /** Set where only this many commands were examined, and there are more. */
        scanned: Schema.optionalKey(Schema.Int),
      }),
      error,
    })
      .annotate(OpenApi.Summary, "Group commands by cause")
      .annotate(
        OpenApi.Description,
        "Commands that have a problem, grouped by queue, slot and the kind of problem, largest group first. Default status: failed.",
      ),
    HttpApiEndpoint.post("skipAll", "/api/v1/commands/skip", {
      payload: SkipCommands,
      success: Schema.Struct({ count: Schema.Int, dryRun: Schema.Boolean }),
      error,
    })
      .annotate(OpenApi.Summary, "Skip dead letters")
      .annotate(OpenApi.Description, "Skips all failed or pending commands that match. With `dryRun`, only counts them."),
    HttpApiEndpoint.post("retryAll", "/api/v1/commands/retry", {
      payload: RetryCommands,
      success: Schema.Struct({ count: Schema.Int, dryRun: Schema.Boolean, refused: Schema.optionalKey(Schema.Int) }),
      error,
    })
      .annotate(OpenApi.Summary, "Retry dead letters")
      .annotate(OpenApi.Description, "Executes all failed commands that match again. With `dryRun`, only counts them."),
    HttpApiEndpoint.post("retry", "/api/v1/commands/:key/retry", { params: key, success: StoredCommand, error })
      .annotate(OpenApi.Summary, "Retry a command")
      .annotate(
        OpenApi.Description,
        "Executes a failed command again. Refused where the instance has ended or would refuse the result; `retry/force` executes it anyway.",
      ),
    HttpApiEndpoint.get("checkRetry", "/api/v1/commands/:key/retry", { params: key, success: StoredCommand, error })
      .annotate(OpenApi.Summary, "Check whether a command could be retried")
      .annotate(
        OpenApi.Description,
        "A dry run: returns the command where a retry would execute it again, and refuses as the retry would.",
      ),
    HttpApiEndpoint.post("forceRetry", "/api/v1/commands/:key/retry/force", { params: key, success: StoredCommand, error }).annotate(
      OpenApi.Summary,
      "Retry a command that would be refused",
    ),
    HttpApiEndpoint.post("skip", "/api/v1/commands/:key/skip", {
      params: key,
      payload: SkipCommand,
      success: StoredCommand,
      error,
    })
      .annotate(OpenApi.Summary, "Skip a command")
      .annotate(OpenApi.Description, "Skips a command that failed or is pending."),
    HttpApiEndpoint.get("get", "/api/v1/commands/:key", { params: key, success: StoredCommand, error }).annotate(
      OpenApi.Summary,
      "Show a command",
    ),
    HttpApiEndpoint.get("queues", "/api/v1/queues", { success: Schema.Struct({ queues: Schema.Array(Queue) }), error }).annotate(
      OpenApi.Summary,
      "List queues",
    ),
    HttpApiEndpoint.put("limit", "/api/v1/queues/:queue", { params: queue, payload: LimitQueue, success: Queue, error })
      .annotate(OpenApi.Summary, "Limit a queue")
      .annotate(OpenApi.Description, "Sets the given limits, which hold across all workers, and keeps the others. Null: no limit."),
    HttpApiEndpoint.get("queueGroups", "/api/v1/queues/:queue/groups", {
      params: queue,
      query: paging(Schema.String),
      success: pageOf({ groups: Schema.Array(QueueGroup) }, Schema.String),
      error,
    })
      .annotate(OpenApi.Summary, "List the groups of a queue")
      .annotate(OpenApi.Description, "Groups that have commands to execute or limits of their own, by name."),
    HttpApiEndpoint.put("limitGroup", "/api/v1/queues/:queue/groups/:group", {
      params: group,
      payload: LimitGroup,
      success: LimitedGroup,
      error,
    })
      .annotate(OpenApi.Summary, "Limit a group of a queue")
      .annotate(OpenApi.Description, "Replaces the group's own limits. Null or absent: those of all groups apply."),
    HttpApiEndpoint.post("pause", "/api/v1/queues/:queue/pause", { params: queue, success: HttpApiSchema.NoContent, error }).annotate(
      OpenApi.Summary,
      "Pause a queue",
    ),
    HttpApiEndpoint.post("resume", "/api/v1/queues/:queue/resume", { params: queue, success: HttpApiSchema.NoContent, error }).annotate(
      OpenApi.Summary,
      "Resume a queue",
    ),
    HttpApiEndpoint.get("deadTimers", "/api/v1/timers/dead", {
      query: { limit: Limit },
      success: Schema.Struct({ timers: Schema.Array(DeadTimer) }),
      error,
    })
      .annotate(OpenApi.Summary, "List timers that failed")
      .annotate(OpenApi.Description, "Timers that the engine gave up after it could not fire them."),
    HttpApiEndpoint.post("reviveTimer", "/api/v1/timers/dead/revive", {
      payload: ReviveTimer,
      success: HttpApiSchema.NoContent,
      error,
    }).annotate(OpenApi.Summary, "Revive a timer"),
  )
  .annotate(OpenApi.Description, "Commands, queues and timers") {}
