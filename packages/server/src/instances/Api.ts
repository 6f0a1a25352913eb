/** Instances of all machines: list, read, history, state at any event, send. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { IdempotencyHeaders, LiveHeaders } from "../api/Headers.ts"
import { Count, InstanceCursor, Millis, pageOf, paging } from "../api/Paging.ts"
import { problems } from "../api/Problem.ts"
import { StoredCommand } from "../commands/StoredCommand.ts"

export const InstanceStatus = Schema.Literals(["running", "final", "stopped", "held"])

/** `failed`: ended in a final state of failure. `final` includes it. */
export const ListedStatus = Schema.Literals([...InstanceStatus.literals, "failed"])

/** A state or an event as JSON. Sensitive fields are shown as `•••`. */
export const Tagged = Schema.StructWithRest(Schema.Struct({ _tag: Schema.String }), [Schema.Record(Schema.String, Schema.Json)])

export const InstanceListing = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: Schema.String,
  status: InstanceStatus,
  /** `failure`: the final state it is in is one of failure. */
  outcome: Schema.optionalKey(Schema.Literal("failure")),
  /** Why it was stopped or is held. */
  reason: Schema.optionalKey(Schema.String),
  sequence: Schema.Int,
  version: Schema.Int,
  startedAt: Millis,
  updatedAt: Millis,
}).annotate({ identifier: "InstanceListing" })

/** A delayed event that waits. */
export const WaitingEvent = Schema.Struct({ name: Schema.String, due: Millis, event: Tagged })

export const InstanceView = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: Tagged,
  status: InstanceStatus,
  /** `failure`: the final state it is in is one of failure. */
  outcome: Schema.optionalKey(Schema.Literal("failure")),
  reason: Schema.optionalKey(Schema.String),
  sequence: Schema.Int,
  startedAt: Millis,
  updatedAt: Millis,
  /** Its delayed events that wait, where there are any. */
  delays: Schema.optionalKey(Schema.Array(WaitingEvent)),
}).annotate({ identifier: "Instance" })

export const HistoryEntry = Schema.Struct({
  sequence: Schema.Int,
  at: Millis,
  event: Tagged,
  /** The tag of the state before. */
  from: Schema.String,
  state: Tagged,
  /** `Goto`: it entered a state; `Stay`: it stayed as it was; `Stop`: it ended. */
  outcome: Schema.Literals(["Goto", "Stay", "Stop"]),
  /** The tags of states that automatic transitions passed through. */
  through: Schema.Array(Schema.String),
  /** The effect slots that the transition requested. Those of enter and exit hooks are among the instance's commands. */
  requests: Schema.Array(Schema.String),
  /** The id it was sent under. */
  dedupeId: Schema.optionalKey(Schema.String),
  /** Delayed events that it set, and cancelled where they have no `due`. */
  delays: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, due: Schema.optionalKey(Millis), event: Schema.optionalKey(Tagged) })),
  ),
}).annotate({ identifier: "HistoryEntry" })

export const LegalEvent = Schema.Struct({
  event: Schema.String,
  /** Whether an answer comes back. */
  reply: Schema.Boolean,
  /** The states it may lead to. */
  targets: Schema.Array(Schema.String),
  /** JSON Schema of its fields. */
  schema: Schema.Json,
})

export const Timer = Schema.Struct({
  name: Schema.String,
  entry: Schema.Int,
  due: Millis,
  /** The delayed event that it is. A timeout of the state has none. */
  event: Schema.optionalKey(Tagged),
})

export const Sent = Schema.Struct({
  /** `Goto`: it is in another state, or entered it again; `Stay`: it stays as it is; `Stop`: it ended. */
  outcome: Schema.Literals(["Goto", "Stay", "Stop"]),
  state: Tagged,
  answer: Schema.optionalKey(Schema.Json),
  /** The number of the event in the journal. Known where it was sent with an Idempotency-Key. */
  sequence: Schema.optionalKey(Schema.Int),
}).annotate({ identifier: "Sent" })

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
const params = { machine: name, id: name }

export const StartInstance = Schema.Struct({
  id: name,
  /** The fields of the machine's first state. */
  input: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** A whole state to begin in, where that is not the first one; not together with `input`. */
  state: Schema.optionalKey(Tagged),
}).annotate({ identifier: "StartInstance" })

export const RepairInstance = Schema.Struct({
  /** The number of the event to replace. */
  sequence: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  event: Tagged,
}).annotate({ identifier: "RepairInstance" })

export const ForkInstance = Schema.Struct({
  /** Of the new instance. */
  id: name,
  /** The last event that the new instance takes over. */
  through: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
}).annotate({ identifier: "ForkInstance" })

export const PurgeInstances = Schema.Struct({
  /** How long ago they ended at least. */
  endedBeforeMillis: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** Only counts them. Default: false. */
  dryRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "PurgeInstances" })

export const Purged = Schema.Struct({ machine: Schema.String, count: Schema.Int, dryRun: Schema.Boolean })

const path = "/api/v1/instances/:machine/:id"
const error = problems

export class InstanceApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/instances", {
      query: {
        machine: Schema.optionalKey(Schema.String),
        state: Schema.optionalKey(Schema.String),
        status: Schema.optionalKey(ListedStatus),
        updatedAfter: Schema.optionalKey(Count),
        updatedBefore: Schema.optionalKey(Count),
        ...paging(InstanceCursor),
      },
      success: pageOf({ instances: Schema.Array(InstanceListing) }, InstanceCursor),
      error,
    })
      .annotate(OpenApi.Summary, "List instances")
      .annotate(OpenApi.Description, "Instances, oldest change first."),
    HttpApiEndpoint.post("start", "/api/v1/instances/:machine", {
      params: { machine: name },
      payload: StartInstance,
      success: InstanceView.pipe(HttpApiSchema.status(201)),
      error,
    })
      .annotate(OpenApi.Summary, "Start an instance")
      .annotate(
        OpenApi.Description,
        "Starts an instance in the machine's first state, whose fields are given as `input`, or in the `state` given. Started again with the same id it is refused, so a repeated request starts nothing twice.",
      ),
    HttpApiEndpoint.post("purge", "/api/v1/machines/:machine/purge", {
      params: { machine: name },
      payload: PurgeInstances,
      success: Purged,
      error,
    })
      .annotate(OpenApi.Summary, "Purge ended instances")
      .annotate(
        OpenApi.Description,
        "Removes instances of a machine that ended this long ago, with their histories. One with an unfinished or failed command stays.",
      ),
    HttpApiEndpoint.get("get", path, { params, success: InstanceView, error }).annotate(OpenApi.Summary, "Show an instance"),
    HttpApiEndpoint.get("history", `${path}/history`, {
      params,
      query: paging(Count),
      success: pageOf({ entries: Schema.Array(HistoryEntry) }, Schema.Int),
      error,
    })
      .annotate(OpenApi.Summary, "Show the events of an instance")
      .annotate(OpenApi.Description, "What was journaled, oldest first, after a sequence number."),
    HttpApiEndpoint.get("stateAt", `${path}/states/:sequence`, {
      params: { ...params, sequence: Count },
      success: Schema.Struct({ sequence: Schema.Int, state: Tagged }),
      error,
    })
      .annotate(OpenApi.Summary, "Show an earlier state of an instance")
      .annotate(OpenApi.Description, "The state as it was after an event."),
    HttpApiEndpoint.get("legalEvents", `${path}/legal-events`, {
      params,
      success: Schema.Struct({ state: Schema.String, events: Schema.Array(LegalEvent) }),
      error,
    })
      .annotate(OpenApi.Summary, "List the events that an instance accepts")
      .annotate(OpenApi.Description, "The events its state has a transition for. A guard may still refuse one."),
    HttpApiEndpoint.post("send", `${path}/events`, {
      params,
      headers: IdempotencyHeaders,
      payload: Tagged,
      success: Sent,
      error,
    })
      .annotate(OpenApi.Summary, "Send an event to an instance")
      .annotate(
        OpenApi.Description,
        "Sends an event. With an Idempotency-Key, the same event again is answered with the first outcome and changes nothing; another event under that key is refused.",
      ),
    HttpApiEndpoint.post("repair", `${path}/repair`, {
      params,
      payload: RepairInstance,
      success: InstanceView,
      error,
    })
      .annotate(OpenApi.Summary, "Repair an instance")
      .annotate(
        OpenApi.Description,
        "Replaces the journaled event that holds the instance, if the instance then replays. Otherwise the journal stays as it is.",
      ),
    HttpApiEndpoint.post("fork", `${path}/fork`, {
      params,
      payload: ForkInstance,
      success: InstanceView.pipe(HttpApiSchema.status(201)),
      error,
    })
      .annotate(OpenApi.Summary, "Fork an instance")
      .annotate(
        OpenApi.Description,
        "A new instance with the journal of this one up to a sequence number. Nothing that was requested here is executed again.",
      ),
    HttpApiEndpoint.get("commands", `${path}/commands`, {
      params,
      success: Schema.Struct({ commands: Schema.Array(StoredCommand) }),
      error,
    }).annotate(OpenApi.Summary, "List the commands of an instance"),
    HttpApiEndpoint.get("timers", `${path}/timers`, { params, success: Schema.Struct({ timers: Schema.Array(Timer) }), error }).annotate(
      OpenApi.Summary,
      "List the timers and the delayed events of an instance",
    ),
    HttpApiEndpoint.get("events", `${path}/events`, {
      params,
      headers: LiveHeaders,
      success: [HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }), HttpApiSchema.NoContent],
      error,
    })
      .annotate(OpenApi.Summary, "Follow an instance")
      .annotate(
        OpenApi.Description,
        "Server-sent events: every event it takes, its id the sequence number. With Last-Event-ID, all that came after that one. " +
          "When the instance has ended, so does the stream; a client that reconnects then is answered 204, which tells an EventSource " +
          "not to reconnect.",
      ),
  )
  .annotate(OpenApi.Description, "Instances of all machines") {}
