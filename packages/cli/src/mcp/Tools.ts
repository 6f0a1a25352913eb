/** The tools of an agent. Tools that change something are refused unless the role is `operate`. */
import { LimitGroup, LimitQueue } from "@detent/api/CommandApi"
import { Phase } from "@detent/api/Phase"
import { CommandStatus } from "@detent/api/StoredCommand"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Schema from "effect/Schema"

/** Why a tool call was refused, with the next step. */
export class ToolRefused extends Schema.TaggedError<ToolRefused>()("ToolRefused", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

export const optional = <S extends Schema.Top>(schema: S, description: string) => Schema.optionalKey(schema.annotate({ description }))
/** Refuses unknown arguments: with a misspelt `dryRun` ignored, the tool would make the change. */
export const argumentsOf = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotate({ messageUnexpectedKey: `This argument is not known; use one of ${Object.keys(fields).join(", ")}` })

const instance = Schema.String.annotate({ description: "MACHINE/ID, or the id alone where only one machine has it" })
const limit = optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })), "at most this many. Default: 50")
export const failure = ToolRefused

export const looking = { failure }

export const ListMachines = Tool.make("list_machines", {
  ...looking,
  description: "The registered machines: their states, their events, and the number of instances in each state.",
  success: Schema.Struct({ machines: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const CheckMachines = Tool.make("check_machines", {
  ...looking,
  description:
    "Judges stored instances, and executions of workflows, by the code of this workspace, and writes nothing: same, differs, or held, with reasons and an example of each. Many instances take a while.",
  parameters: argumentsOf({
    machine: optional(Schema.String, "only this machine, or this workflow as workflow/NAME"),
    ended: optional(Schema.Boolean, "judges instances that have ended too. Default: false"),
    whatIf: optional(Schema.Boolean, "asks how the ended instances would have ended under the code, and returns flows. Default: false"),
  }),
  success: Schema.Struct({ reports: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ListInstances = Tool.make("list_instances", {
  ...looking,
  description:
    "Instances of machines, oldest change first, or newest first. Finds them by what they are about with `where`. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({
    machine: optional(Schema.String, "only instances of this machine"),
    state: optional(Schema.String, "only instances in this state"),
    status: optional(
      Schema.Literals(["running", "final", "stopped", "held", "failed"]),
      "only instances with this status; held: waits for a repair; failed: ended in a final state of failure",
    ),
    search: optional(Schema.String, "only ids that begin with this text, listed by machine and id"),
    where: optional(
      Schema.String,
      "conditions on indexed fields and labels of the machine: customer=ada, total>100, label.incident=42. The signs are = > >= < <= ^= (begins with). list_machines shows the indexes",
    ),
    order: optional(
      Schema.String,
      "oldest or newest, by the time of the last change; or an indexed field: dueAt:asc, dueAt:desc. Default: oldest; with `where` by id",
    ),
    limit,
    after: optional(Schema.String, "`next` of the previous page"),
  }),
  success: Schema.Struct({
    instances: Schema.Array(Schema.Json),
    /** While indexes are filled, some instances may be missing. */
    filling: Schema.optionalKey(Schema.Struct({ filled: Schema.Int })),
    next: Schema.optionalKey(Schema.String),
  }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadInstance = Tool.make("read_instance", {
  ...looking,
  description: "The state of an instance, and the events that it accepts now.",
  parameters: argumentsOf({ instance }),
  success: Schema.Struct({ instance: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadHistory = Tool.make("read_history", {
  ...looking,
  description: "The events of an instance in order, each with the states before and after it.",
  parameters: argumentsOf({
    instance,
    after: optional(Schema.Int, "only events after this sequence number"),
    limit,
  }),
  success: Schema.Struct({ entries: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.Int) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const WatchInstance = Tool.make("watch_instance", {
  ...looking,
  description: "Waits until an instance or execution takes a further event or ends, at most this many seconds, and returns the events.",
  parameters: argumentsOf({
    instance,
    after: optional(Schema.Int, "only events after this sequence number. Default: only new events"),
    seconds: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600 })), "default: 30"),
  }),
  success: Schema.Struct({ instance: Schema.Json, entries: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const execution = {
  workflow: Schema.String.annotate({ description: "the workflow's name" }),
  id: Schema.String.annotate({ description: "the execution's id" }),
}

export const ListExecutions = Tool.make("list_executions", {
  ...looking,
  description: "Executions of workflows, oldest change first. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({
    workflow: optional(Schema.String, "only executions of this workflow"),
    phase: optional(Phase, "only executions in this phase; suspended and held executions can be resumed"),
    limit,
    after: optional(Schema.String, "`next` of the previous page"),
  }),
  success: Schema.Struct({ executions: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadExecution = Tool.make("read_execution", {
  ...looking,
  description: "The phase of an execution of a workflow, the clocks that it waits for, and its latest events.",
  parameters: argumentsOf(execution),
  success: Schema.Struct({ execution: Schema.Json, events: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ListCommands = Tool.make("list_commands", {
  ...looking,
  description:
    "Effects that instances requested: waiting, running, done, failed (dead letters), in the order they were enqueued. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({
    status: optional(CommandStatus, "only commands with this status; failed commands can be retried"),
    queue: optional(Schema.String, "only commands of this queue"),
    slot: optional(Schema.String, "only commands of this effect slot"),
    instance: optional(Schema.String, "only commands of this instance: MACHINE/ID, or the id alone where only one machine has it"),
    limit,
    after: optional(Schema.Int, "`next` of the previous page"),
  }),
  success: Schema.Struct({ commands: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.Int) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const key = optional(Schema.String, "idempotency key: a repeated request returns the first result; another request needs another key")

export const StartInstance = Tool.make("start_instance", {
  failure,
  description: "Starts an instance of a machine in its first state, or in another state. Needs the role operate.",
  parameters: argumentsOf({
    machine: Schema.String.annotate({ description: "the machine's name, as list_machines shows it" }),
    id: Schema.String.annotate({ description: "the id of the new instance" }),
    fields: optional(Schema.Record(Schema.String, Schema.Json), "the fields of the state"),
    state: optional(Schema.String, "the state to begin in. Default: the first state"),
    key,
  }),
  success: Schema.Struct({ instance: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const StartExecution = Tool.make("start_execution", {
  failure,
  description:
    "Starts an execution of a workflow; a server or worker runs it. A second start with the same id and payload returns the execution. Needs the role operate.",
  parameters: argumentsOf({
    workflow: execution.workflow,
    payload: optional(Schema.Record(Schema.String, Schema.Json), "the payload"),
    id: optional(Schema.String, "the execution's id. Default: the workflow derives it from its payload"),
    key,
  }),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const SendEvent = Tool.make("send_event", {
  failure,
  description: "Sends an event to an instance whose state accepts it (see read_instance). Needs the role operate.",
  parameters: argumentsOf({
    instance,
    event: Schema.String.annotate({ description: "the event's name" }),
    fields: optional(Schema.Record(Schema.String, Schema.Json), "the event's fields"),
    key,
  }),
  success: Schema.Struct({ instance: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const PreviewEvent = Tool.make("preview_event", {
  ...looking,
  description: "What an event would do to an instance: the next state and the requested effects. Nothing is sent or stored.",
  parameters: argumentsOf({
    instance,
    event: Schema.String.annotate({ description: "the event's name" }),
    fields: optional(Schema.Record(Schema.String, Schema.Json), "the event's fields"),
  }),
  success: Schema.Struct({ preview: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const LabelInstance = Tool.make("label_instance", {
  failure,
  description:
    "Sets labels of an instance, such as the number of an incident, and removes those that are null. list_instances finds instances by them: label.incident=42. Needs the role operate.",
  parameters: argumentsOf({
    instance,
    labels: Schema.Record(Schema.String, Schema.NullOr(Schema.String)).annotate({ description: "texts by name; null removes a label" }),
    key,
  }),
  success: Schema.Struct({ labels: Schema.Record(Schema.String, Schema.String) }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const SendToExecution = Tool.make("send_execution_event", {
  failure,
  description:
    "Sends an event that an execution of a workflow awaits, now or later; list_machines lists the events. An execution takes each event once. Needs the role operate.",
  parameters: argumentsOf({
    ...execution,
    event: Schema.String.annotate({ description: "the event's name" }),
    value: optional(Schema.Json, "the event's value"),
    beforeStart: optional(Schema.Boolean, "keep the event for an execution that is started later. Default: false"),
    key,
  }),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const ResumeExecution = Tool.make("resume_execution", {
  failure,
  description: "Resumes an execution that is suspended or held. Needs the role operate.",
  parameters: argumentsOf({ ...execution, key }),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const InterruptExecution = Tool.make("interrupt_execution", {
  failure,
  description: "Interrupts an execution: no further activity starts, and its compensations run. Needs the role operate.",
  parameters: argumentsOf({ ...execution, key }),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

const queueName = Schema.String.annotate({ description: "the queue's name, as list_queues shows it" })

export const ListQueues = Tool.make("list_queues", {
  ...looking,
  description:
    "Queues of commands: their limits, what waits and runs, and who works. With `queue`, the groups of that queue by name, page by page.",
  parameters: argumentsOf({
    queue: optional(Schema.String, "lists the groups of this queue that have commands or limits of their own"),
    limit,
    after: optional(Schema.String, "`next` of the previous page of groups"),
  }),
  success: Schema.Struct({
    queues: Schema.optionalKey(Schema.Array(Schema.Json)),
    groups: Schema.optionalKey(Schema.Array(Schema.Json)),
    next: Schema.optionalKey(Schema.String),
  }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const most = { concurrency: LimitGroup.fields.concurrency, rate: LimitGroup.fields.rate }

export const LimitQueueTool = Tool.make("limit_queue", {
  failure,
  description:
    "Limits the commands of a queue, of each of its groups, or of one group, on all workers together. Null removes a limit, an omitted limit of a queue is unchanged. Needs the role operate.",
  parameters: argumentsOf({
    queue: queueName,
    group: optional(Schema.String, "replaces the limits of this group; without concurrency and rate those of each group apply"),
    ...most,
    perGroup: LimitQueue.fields.perGroup,
    key,
  }),
  success: Schema.Struct({ limited: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const RetryCommand = Tool.make("retry_command", {
  failure,
  description:
    "Executes a failed command again. Without force, refused where its instance has ended or would refuse the result. A dry run only checks whether the command would be executed; otherwise it needs the role operate.",
  parameters: argumentsOf({
    command: Schema.String.annotate({ description: "the command's key, as list_commands shows it" }),
    force: optional(Schema.Boolean, "retry even if the instance would refuse the result. Default: false"),
    dryRun: optional(Schema.Boolean, "change nothing. Default: false"),
    key,
  }),
  success: Schema.Struct({ command: Schema.Json, dryRun: Schema.Boolean }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const ReadAuditLog = Tool.make("read_audit_log", {
  ...looking,
  description:
    "What operators did, newest first: who, when, what, and how it ended. Starts and events of instances are in their histories. " +
    "Pass `next` as `before` for the following page. Needs the role operate.",
  parameters: argumentsOf({
    limit,
    actor: optional(Schema.String, "only what this actor did, such as `user ada` or `token ci`"),
    operation: optional(Schema.String, "only operations that begin with this, such as `schedules.`"),
    before: optional(Schema.Int, "`next` of the previous page"),
  }),
  success: Schema.Struct({ entries: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.Int) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

const scheduleName = Schema.String.annotate({ description: "the schedule's name, as list_schedules shows it" })

export const ListSchedules = Tool.make("list_schedules", {
  ...looking,
  description:
    "Schedules by name: what starts at which times, each with its next time and its latest run. Pass `next` as `after` for the following page.",
  parameters: argumentsOf({ limit, after: optional(Schema.String, "`next` of the previous page") }),
  success: Schema.Struct({
    schedules: Schema.Array(Schema.Json),
    targets: Schema.Array(Schema.String),
    next: Schema.optionalKey(Schema.String),
  }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ReadSchedule = Tool.make("read_schedule", {
  ...looking,
  description: "The next times of a schedule, and its latest runs with their results.",
  parameters: argumentsOf({ schedule: scheduleName }),
  success: Schema.Struct({ schedule: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Strict, true)

export const ChangeSchedule = Tool.make("change_schedule", {
  failure,
  description:
    "Pauses or resumes a schedule, or starts one run of it now. Times that pass while it is paused are not made up for. Needs the role operate.",
  parameters: argumentsOf({
    schedule: scheduleName,
    change: Schema.Literals(["pause", "resume", "trigger"]).annotate({ description: "trigger: one run now, also while it is paused" }),
    key,
  }),
  success: Schema.Struct({ schedule: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const BackfillSchedule = Tool.make("backfill_schedule", {
  failure,
  description:
    "Starts the times of a range in the past one after another, except those that were started: at most 1,000. Needs the role operate.",
  parameters: argumentsOf({
    schedule: scheduleName,
    from: Schema.Int.annotate({ description: "the beginning, in milliseconds since 1970" }),
    to: Schema.Int.annotate({ description: "the end, in milliseconds since 1970" }),
    key,
  }),
  success: Schema.Struct({ count: Schema.Int }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const DefineSchedule = Tool.make("define_schedule", {
  failure,
  description:
    "Creates or changes a schedule that starts one of the targets that list_schedules names, at the times of a cron expression or an interval. Needs the role operate.",
  parameters: argumentsOf({
    schedule: Schema.String.annotate({ description: "the schedule's name" }),
    target: Schema.String.annotate({ description: "what it starts" }),
    input: optional(Schema.Json, "the input of the target"),
    cron: optional(Schema.String, "minute, hour, day of month, month, day of week, such as 0 2 * * *; or `every`"),
    timezone: optional(Schema.String, "of `cron`, such as Europe/Berlin. Default: UTC"),
    every: optional(Schema.String, "an interval, such as 15 minutes; or `cron`"),
    overlap: optional(Schema.Literals(["skip", "queue", "cancelPrevious", "allow"]), "while the run before has not ended. Default: skip"),
    catchUp: optional(Schema.Literals(["none", "latest", "all"]), "times that passed while no process ran. Default: latest"),
    jitter: optional(Schema.String, "start each run later by up to this, such as 5 minutes"),
    key,
  }),
  success: Schema.Struct({ schedule: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const RemoveSchedule = Tool.make("remove_schedule", {
  failure,
  description:
    "Removes a schedule. One that the code declares comes back at the next start of a process that declares it. Needs the role operate.",
  parameters: argumentsOf({ schedule: scheduleName, key }),
  success: Schema.Struct({ removed: Schema.String }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)
  .annotate(Tool.Strict, true)

export const tools = Toolkit.make(
  ListMachines,
  CheckMachines,
  ListInstances,
  ReadInstance,
  ReadHistory,
  WatchInstance,
  PreviewEvent,
  ListExecutions,
  ReadExecution,
  ListCommands,
  ReadAuditLog,
  ListQueues,
  ListSchedules,
  ReadSchedule,
  StartInstance,
  SendEvent,
  LabelInstance,
  StartExecution,
  SendToExecution,
  ResumeExecution,
  InterruptExecution,
  RetryCommand,
  LimitQueueTool,
  DefineSchedule,
  ChangeSchedule,
  BackfillSchedule,
  RemoveSchedule,
)
