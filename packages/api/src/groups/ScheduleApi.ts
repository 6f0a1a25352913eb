/** Schedules: list, read, create, pause, resume, trigger, backfill, remove. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Millis, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"

const Overlap = Schema.Literals(["skip", "queue", "cancelPrevious", "allow"])
const CatchUp = Schema.Literals(["none", "latest", "all"])

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

export const ScheduleRun = Schema.Struct({
  /** Its nominal time. */
  at: Millis,
  reason: Schema.Literals(["time", "trigger", "backfill"]),
  outcome: Schema.Literals(["started", "skipped", "failed"]),
  /** When the outcome was recorded. */
  decidedAt: Millis,
  /** What it started: an instance of a machine, an execution of a workflow, or a command of a queue. */
  target: Schema.optionalKey(
    Schema.Struct({ kind: Schema.Literals(["instance", "execution", "command"]), name: Schema.String, id: Schema.String }),
  ),
  /** Why it was skipped or has failed. */
  problem: Schema.optionalKey(Schema.String),
  /** The state of what it started; absent where it started nothing, or where that was removed. */
  status: Schema.optionalKey(Schema.Struct({ running: Schema.Boolean, text: Schema.String })),
}).annotate({ identifier: "ScheduleRun" })

export const Schedule = Schema.Struct({
  name: Schema.String,
  status: Schema.Literals(["active", "paused"]),
  cron: Schema.optionalKey(Schema.String),
  timezone: Schema.optionalKey(Schema.String),
  everyMillis: Schema.optionalKey(Schema.Int),
  overlap: Overlap,
  catchUp: CatchUp,
  jitterMillis: Schema.Int,
  /** What it starts, for a schedule that was created over the API; the input is shown. */
  target: Schema.optionalKey(Schema.Struct({ name: Schema.String, input: Schema.Json })),
  /** Whether the code of this server declares what it starts. */
  declared: Schema.Boolean,
  /** The next nominal times; none while it is paused. */
  next: Schema.Array(Millis),
  /** The latest runs, newest first. A list has the latest run of each schedule only. */
  runs: Schema.Array(ScheduleRun),
  /** Nominal times that wait for their start. */
  waiting: Schema.Int,
  /** The start that has no outcome yet, and since when. */
  current: Schema.optionalKey(Schema.Struct({ at: Millis, since: Millis })),
  started: Schema.Int,
  skipped: Schema.Int,
  failed: Schema.Int,
}).annotate({ identifier: "Schedule" })

export const DefineSchedule = Schema.Struct({
  /** A target that the code declares with `scheduleTarget`; the list of schedules names them. */
  target: text,
  /** The input of the target. Default: `{}`. */
  input: Schema.optionalKey(Schema.Json),
  /** A cron expression, such as `0 2 * * *`; or `every`. */
  cron: Schema.optionalKey(text),
  /** The time zone of the cron expression, such as `Europe/Berlin`. Default: UTC. */
  timezone: Schema.optionalKey(text),
  /** An interval, such as `15 minutes`; or `cron`. */
  every: Schema.optionalKey(text),
  /** What happens while the run before has not ended. Default: `skip`. */
  overlap: Schema.optionalKey(Overlap),
  /** Which of the times that passed while no process ran are started. Default: `latest`. */
  catchUp: Schema.optionalKey(CatchUp),
  /** Starts each run later by up to this time, such as `5 minutes`. Default: 0. */
  jitter: Schema.optionalKey(text),
}).annotate({ identifier: "DefineSchedule" })

export const BackfillSchedule = Schema.Struct({ from: Millis, to: Millis }).annotate({ identifier: "BackfillSchedule" })

const params = { name: text }
const path = "/api/v1/schedules/:name"
const error = problems

export class ScheduleApi extends HttpApiGroup.make("schedules")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/schedules", {
      query: paging(text),
      success: pageOf(
        {
          schedules: Schema.Array(Schedule),
          /** What schedules that are created over the API may start here. */
          targets: Schema.Array(Schema.String),
        },
        Schema.String,
      ),
      error,
    })
      .annotate(OpenApi.Summary, "List schedules")
      .annotate(OpenApi.Description, "Schedules by name, each with its next time and its latest run."),
    HttpApiEndpoint.get("get", path, { params, success: Schedule, error })
      .annotate(OpenApi.Summary, "Show a schedule")
      .annotate(OpenApi.Description, "Its next times, and its latest runs with what has become of them."),
    HttpApiEndpoint.post("define", path, { params, payload: DefineSchedule, success: Schedule, error })
      .annotate(OpenApi.Summary, "Create or change a schedule")
      .annotate(
        OpenApi.Description,
        "Starts a target that the code declares, at the times of a cron expression or an interval. The earlier runs of a changed " +
          "schedule stay. A schedule that the code declares is refused: it is changed in the code.",
      ),
    HttpApiEndpoint.post("pause", `${path}/pause`, { params, success: Schedule, error })
      .annotate(OpenApi.Summary, "Pause a schedule")
      .annotate(OpenApi.Description, "It starts nothing until it is resumed. Times in between are not made up for."),
    HttpApiEndpoint.post("resume", `${path}/resume`, { params, success: Schedule, error })
      .annotate(OpenApi.Summary, "Resume a schedule")
      .annotate(OpenApi.Description, "It starts from its next nominal time on."),
    HttpApiEndpoint.post("trigger", `${path}/trigger`, { params, success: Schedule, error })
      .annotate(OpenApi.Summary, "Trigger a schedule")
      .annotate(OpenApi.Description, "Starts one run now, also while the schedule is paused. Its overlap policy applies."),
    HttpApiEndpoint.post("backfill", `${path}/backfill`, {
      params,
      payload: BackfillSchedule,
      success: Schema.Struct({ count: Schema.Int }),
      error,
    })
      .annotate(OpenApi.Summary, "Backfill a schedule")
      .annotate(
        OpenApi.Description,
        "Starts the nominal times of a range in the past one after another, except those that were started: at most 1,000.",
      ),
    HttpApiEndpoint.post("remove", `${path}/remove`, { params, success: HttpApiSchema.NoContent, error })
      .annotate(OpenApi.Summary, "Remove a schedule")
      .annotate(
        OpenApi.Description,
        "It starts nothing any more. A schedule that the code declares comes back at the next start of a process that declares it.",
      ),
  )
  .annotate(OpenApi.Description, "Schedules") {}
