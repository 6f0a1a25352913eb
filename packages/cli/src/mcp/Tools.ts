/** What an agent can ask for, described for agents. Those that change something are refused unless the role is `operate`. */
import { phases } from "@detent/workspace/operations/executions"
import * as Schema from "effect/Schema"
import * as Tool from "effect/unstable/ai/Tool"
import * as Toolkit from "effect/unstable/ai/Toolkit"

/** Why a tool was not carried out, and what to do about it. */
export class ToolRefused extends Schema.TaggedError<ToolRefused>()("ToolRefused", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

export const optional = <S extends Schema.Top>(schema: S, description: string) => Schema.optionalKey(schema.annotate({ description }))
const instance = Schema.String.annotate({ description: "MACHINE/ID, or the id alone where only one machine has it" })
const limit = optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })), "at most this many; default: 50")
export const failure = ToolRefused

export const looking = { failure }

export const ListMachines = Tool.make("list_machines", {
  ...looking,
  description: "The machines known here: their states, the events they know, and how many instances are in each state.",
  success: Schema.Struct({ machines: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const ListInstances = Tool.make("list_instances", {
  ...looking,
  description: "Instances of machines, oldest change first. Pass `next` as `after` for the following page.",
  parameters: Schema.Struct({
    machine: optional(Schema.String, "only of this machine"),
    state: optional(Schema.String, "only in this state"),
    status: optional(
      Schema.Literals(["running", "final", "stopped", "held", "failed"]),
      "only with this status; held ones wait for a repair; failed ones are final in a state of failure",
    ),
    limit,
    after: optional(Schema.String, "`next` of the page before"),
  }),
  success: Schema.Struct({ instances: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const ReadInstance = Tool.make("read_instance", {
  ...looking,
  description: "Where an instance stands now, and which events its state accepts.",
  parameters: Schema.Struct({ instance }),
  success: Schema.Struct({ instance: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const ReadHistory = Tool.make("read_history", {
  ...looking,
  description: "The events of an instance in order, each with the states before and after it.",
  parameters: Schema.Struct({
    instance,
    after: optional(Schema.Int, "only events after this sequence number"),
    limit,
  }),
  success: Schema.Struct({ entries: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.Int) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

const execution = {
  workflow: Schema.String.annotate({ description: "the workflow's name" }),
  id: Schema.String.annotate({ description: "the execution's id" }),
}

export const ListExecutions = Tool.make("list_executions", {
  ...looking,
  description: "Executions of Effect workflows, oldest change first. Pass `next` as `after` for the following page.",
  parameters: Schema.Struct({
    workflow: optional(Schema.String, "only of this workflow"),
    phase: optional(Schema.Literals(phases), "only in this phase; suspended and held ones can be resumed"),
    limit,
    after: optional(Schema.String, "`next` of the page before"),
  }),
  success: Schema.Struct({ executions: Schema.Array(Schema.Json), next: Schema.optionalKey(Schema.String) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const ReadExecution = Tool.make("read_execution", {
  ...looking,
  description: "Where an execution of an Effect workflow stands, the clocks it waits for, and its latest events.",
  parameters: Schema.Struct(execution),
  success: Schema.Struct({ execution: Schema.Json, events: Schema.Array(Schema.Json) }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const SendEvent = Tool.make("send_event", {
  failure,
  description: "Sends an event to an instance whose state accepts it (see read_instance). Needs the role operate.",
  parameters: Schema.Struct({
    instance,
    event: Schema.String.annotate({ description: "the event's name" }),
    fields: optional(Schema.Record(Schema.String, Schema.Json), "the event's fields"),
    key: optional(
      Schema.String,
      "your own id for it: sent again under the same one, it is answered, not repeated; another event needs another",
    ),
  }),
  success: Schema.Struct({ instance: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)

export const ResumeExecution = Tool.make("resume_execution", {
  failure,
  description: "Runs an execution again that is suspended or held. Needs the role operate.",
  parameters: Schema.Struct(execution),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)

export const InterruptExecution = Tool.make("interrupt_execution", {
  failure,
  description: "Interrupts an execution: no further activity starts, and its compensations run. Needs the role operate.",
  parameters: Schema.Struct(execution),
  success: Schema.Struct({ execution: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, true)

export const tools = Toolkit.make(
  ListMachines,
  ListInstances,
  ReadInstance,
  ReadHistory,
  ListExecutions,
  ReadExecution,
  SendEvent,
  ResumeExecution,
  InterruptExecution,
)
