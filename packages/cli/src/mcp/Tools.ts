/** What an agent can ask for, described for agents. Those that change something are refused unless the role is `operate`. */
import * as Schema from "effect/Schema"
import * as Tool from "effect/unstable/ai/Tool"
import * as Toolkit from "effect/unstable/ai/Toolkit"

/** Why a tool was not carried out, and what to do about it. */
export class ToolRefused extends Schema.TaggedError<ToolRefused>()("ToolRefused", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

const optional = <S extends Schema.Top>(schema: S, description: string) => Schema.optionalKey(schema.annotate({ description }))
const instance = Schema.String.annotate({ description: "MACHINE/ID, or the id alone where only one machine has it" })
const limit = optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })), "at most this many; default: 50")
const failure = ToolRefused

const looking = { failure }

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

export const QueryGraph = Tool.make("query_graph", {
  ...looking,
  description: "A SPARQL query over the knowledge graph; the answer is SPARQL JSON, or N-Triples for CONSTRUCT. Use LIMIT.",
  parameters: Schema.Struct({
    sparql: Schema.String,
    namespace: optional(Schema.String, "which graph; not needed where there is only one"),
  }),
  success: Schema.Struct({ contentType: Schema.String, body: Schema.String }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const WatchBatch = Tool.make("watch_batch", {
  ...looking,
  description: "Waits until a batch of documents ends, at most this many seconds, and returns its status.",
  parameters: Schema.Struct({
    batch: Schema.String.annotate({ description: "the batch's id, such as batch-3f9c2a71b0d4" }),
    seconds: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600 })), "default: 30"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
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

export const StartBatch = Tool.make("start_batch", {
  failure,
  description: "Starts a batch that turns documents into facts of the graph; follow it with watch_batch. Needs the role operate.",
  parameters: Schema.Struct({
    source: Schema.String.annotate({
      description: "path of a manifest.json, of a folder that has one, or of a folder of documents; below the working folder",
    }),
    ontology: optional(Schema.String, "path of the ontology; for a folder without manifest"),
    namespace: optional(Schema.String, "the graph to add to; for a folder without manifest"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)

export const tools = Toolkit.make(ListMachines, ListInstances, ReadInstance, ReadHistory, QueryGraph, WatchBatch, SendEvent, StartBatch)
