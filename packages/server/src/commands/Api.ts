/** Commands, queues and timers: what waits, what failed, and what is to become of it. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { Count, Limit, Millis, pageOf, paging } from "../api/Paging.ts"
import { problems } from "../api/Problem.ts"
import { CommandStatus, StoredCommand } from "./StoredCommand.ts"

export { commandView } from "@detent/workspace/operations/commands"
export { CommandStatus, StoredCommand } from "./StoredCommand.ts"

const filter = {
  queue: Schema.optionalKey(Schema.String),
  slot: Schema.optionalKey(Schema.String),
  machine: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
}

export const Queue = Schema.Struct({
  queue: Schema.String,
  paused: Schema.Boolean,
  concurrency: Schema.optionalKey(Schema.Int),
  counts: Schema.Record(Schema.String, Schema.Int),
}).annotate({ identifier: "Queue" })

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
  /** Also those whose instance has ended or would refuse the result. */
  force: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "RetryCommands" })

export const SkipCommand = Schema.Struct({ reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1000)) }).annotate({
  identifier: "SkipCommand",
})

export const ReviveTimer = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  name: Schema.String,
  entry: Schema.Int,
  due: Millis,
}).annotate({ identifier: "ReviveTimer" })

const key = { key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500)) }
const queue = { queue: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)) }
const error = problems

export class CommandApi extends HttpApiGroup.make("commands")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/commands", {
      query: {
        ...filter,
        status: Schema.optionalKey(CommandStatus),
        enqueuedAfter: Schema.optionalKey(Count),
        enqueuedBefore: Schema.optionalKey(Count),
        ...paging(Count),
      },
      success: pageOf({ commands: Schema.Array(StoredCommand) }, Schema.Int),
      error,
    })
      .annotate(OpenApi.Summary, "List commands")
      .annotate(OpenApi.Description, "Commands in the order they were enqueued."),
    HttpApiEndpoint.post("retryAll", "/api/v1/commands/retry", {
      payload: RetryCommands,
      success: Schema.Struct({ count: Schema.Int, dryRun: Schema.Boolean, refused: Schema.optionalKey(Schema.Int) }),
      error,
    })
      .annotate(OpenApi.Summary, "Retry dead letters")
      .annotate(OpenApi.Description, "Executes all failed commands that match again; with dryRun it only counts them."),
    HttpApiEndpoint.post("retry", "/api/v1/commands/:key/retry", { params: key, success: StoredCommand, error })
      .annotate(OpenApi.Summary, "Retry a command")
      .annotate(
        OpenApi.Description,
        "Refused where the instance has ended or would refuse the result; retry/force executes it all the same.",
      ),
    HttpApiEndpoint.get("checkRetry", "/api/v1/commands/:key/retry", { params: key, success: StoredCommand, error })
      .annotate(OpenApi.Summary, "Check whether a command could be retried")
      .annotate(
        OpenApi.Description,
        "A dry run: answers with the command as it stands where a retry would execute it again, and refuses as the retry would.",
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
      .annotate(OpenApi.Description, "Gives up a command that failed or still waits."),
    HttpApiEndpoint.get("get", "/api/v1/commands/:key", { params: key, success: StoredCommand, error }).annotate(
      OpenApi.Summary,
      "Show a command",
    ),
    HttpApiEndpoint.get("queues", "/api/v1/queues", { success: Schema.Struct({ queues: Schema.Array(Queue) }), error }).annotate(
      OpenApi.Summary,
      "List queues",
    ),
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
      .annotate(OpenApi.Description, "Timers that were given up because they could not be fired."),
    HttpApiEndpoint.post("reviveTimer", "/api/v1/timers/dead/revive", {
      payload: ReviveTimer,
      success: HttpApiSchema.NoContent,
      error,
    }).annotate(OpenApi.Summary, "Revive a timer"),
  )
  .annotate(OpenApi.Description, "Commands, queues and timers") {}
