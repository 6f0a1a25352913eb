/** Instances of all machines: list, read, history, state at any event, send. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { IdempotencyHeaders, LiveHeaders } from "../contract/Headers.ts"
import { Count, Flag, InstanceCursor, LongLimit, Millis, PageLimit, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { queryParameter, takes } from "../contract/QueryParameter.ts"
import { StoredCommand } from "./StoredCommand.ts"

export const InstanceStatus = Schema.Literals(["running", "final", "stopped", "held"])

/** `failed`: ended in a final state of failure. `final` includes it. */
export const ListedStatus = Schema.Literals([...InstanceStatus.literals, "failed"])

/** A state or an event as JSON. Sensitive fields are shown as `•••`. */
export const Tagged = Schema.StructWithRest(Schema.Struct({ _tag: Schema.String }), [Schema.Record(Schema.String, Schema.Json)])

/**
 * Who caused something. `code`: the program itself, without a name; `command`: the result of the command with this key; `machine`: the
 * instance, while it handled the event of this number.
 */
export const Actor = Schema.Struct({
  kind: Schema.Literals(["user", "token", "code", "timer", "command", "machine", "node"]),
  name: Schema.String,
}).annotate({ identifier: "Actor" })

export const InstanceListing = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: Schema.String,
  status: InstanceStatus,
  /** `failure`: the instance ended in a final state of failure. */
  outcome: Schema.optionalKey(Schema.Literal("failure")),
  /** Why it was stopped or is held. */
  reason: Schema.optionalKey(Schema.String),
  sequence: Schema.Int,
  version: Schema.Int,
  startedAt: Millis,
  updatedAt: Millis,
  /** The values of its indexed fields by name; of an instant in milliseconds since 1970. */
  fields: Schema.optionalKey(Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))),
  labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
}).annotate({ identifier: "InstanceListing" })

/** Labels to set, and to remove where the value is null. */
export const LabelInstance = Schema.Struct({
  labels: Schema.Record(Schema.String, Schema.NullOr(Schema.String)),
}).annotate({ identifier: "LabelInstance" })

export const Labelled = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  /** All labels of the instance. */
  labels: Schema.Record(Schema.String, Schema.String),
}).annotate({ identifier: "Labelled" })

/** A pending delayed event. */
export const WaitingEvent = Schema.Struct({ name: Schema.String, due: Millis, event: Tagged })

export const InstanceView = Schema.Struct({
  machine: Schema.String,
  id: Schema.String,
  state: Tagged,
  status: InstanceStatus,
  /** `failure`: the instance ended in a final state of failure. */
  outcome: Schema.optionalKey(Schema.Literal("failure")),
  reason: Schema.optionalKey(Schema.String),
  sequence: Schema.Int,
  startedAt: Millis,
  updatedAt: Millis,
  /** Its pending delayed events, if any. */
  delays: Schema.optionalKey(Schema.Array(WaitingEvent)),
  /** Why it is held. `state` then has only its name. */
  held: Schema.optionalKey(
    Schema.Struct({
      /** The number of the event that does not replay; 0: the first state of the instance. */
      sequence: Schema.Int,
      /** The event as it is stored; null where the snapshot does not replay. */
      stored: Schema.Json,
      problem: Schema.String,
    }),
  ),
  /** What it was forked from. Absent where it was started, and where the journal no longer has its first state. */
  forkedFrom: Schema.optionalKey(
    Schema.Struct({
      id: Schema.String,
      /** The last event that was copied. */
      sequence: Schema.Int,
      at: Millis,
      /** Who made the fork. */
      by: Schema.optionalKey(Schema.String),
    }),
  ),
  /** Who started it. Absent where the program itself did, and where the journal no longer has its first state. */
  startedBy: Schema.optionalKey(Actor),
}).annotate({ identifier: "Instance" })

/** What sent an event. */
export const Cause = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("timer"), name: Schema.String }),
  /** The result of the command with this key. */
  Schema.Struct({ kind: Schema.Literal("command"), key: Schema.String }),
  /** The machine itself, while it handled the event of this number. */
  Schema.Struct({ kind: Schema.Literal("machine"), sequence: Schema.Int }),
  /** A caller, with the dedupe id that it gave. */
  Schema.Struct({ kind: Schema.Literal("sender"), id: Schema.optionalKey(Schema.String) }),
]).annotate({ identifier: "Cause" })

/** An event that a repair has replaced. */
const ReplacedEvent = Schema.Struct({
  at: Millis,
  /** Who replaced it. */
  by: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  /** The event as it was stored; null where what was stored is no event. Absent where the fields of events are left out. */
  event: Schema.optionalKey(Schema.Json),
}).annotate({ identifier: "ReplacedEvent" })

export const HistoryEntry = Schema.Struct({
  sequence: Schema.Int,
  at: Millis,
  event: Tagged,
  /** The tag of the state before. */
  from: Schema.String,
  state: Tagged,
  /** `Goto`: the instance entered a state; `Stay`: it stayed in its state; `Stop`: it ended. */
  outcome: Schema.Literals(["Goto", "Stay", "Stop"]),
  /** The tags of states that automatic transitions passed through. */
  through: Schema.Array(Schema.String),
  /** The requested effect slots: those of the transition, then those of enter and exit hooks. */
  requests: Schema.Array(Schema.String),
  cause: Cause,
  /** Who caused the event. */
  actor: Actor,
  /** The dedupe id of the event. */
  dedupeId: Schema.optionalKey(Schema.String),
  /** Delayed events that the transition scheduled; without `due`, those that it cancelled. */
  delays: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, due: Schema.optionalKey(Millis), event: Schema.optionalKey(Tagged) })),
  ),
  /** The events that repairs have replaced by this one, oldest first. */
  replaced: Schema.optionalKey(Schema.Array(ReplacedEvent)),
}).annotate({ identifier: "HistoryEntry" })

export const LegalEvent = Schema.Struct({
  event: Schema.String,
  /** Whether the event has a reply. */
  reply: Schema.Boolean,
  /** The states that the event may lead to. */
  targets: Schema.Array(Schema.String),
  /** JSON Schema of its fields. */
  schema: Schema.Json,
})

export const Timer = Schema.Struct({
  name: Schema.String,
  entry: Schema.Int,
  due: Millis,
  /** The delayed event that the timer sends. A timeout of the state has none. */
  event: Schema.optionalKey(Tagged),
})

export const Sent = Schema.Struct({
  /** `Goto`: the instance entered another state, or its state again; `Stay`: it stayed in its state; `Stop`: it ended. */
  outcome: Schema.Literals(["Goto", "Stay", "Stop"]),
  state: Tagged,
  answer: Schema.optionalKey(Schema.Json),
  /** The number of the event in the journal. Only for an event with an Idempotency-Key. */
  sequence: Schema.optionalKey(Schema.Int),
  /** Nothing was stored: the answer describes what the event would do. The fields below are those of a dry run. */
  dryRun: Schema.optionalKey(Schema.Literal(true)),
  /** The current state. */
  from: Schema.optionalKey(Schema.String),
  /** States that automatic transitions would pass through. */
  through: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The effect slots that would be requested. */
  requests: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Timers that would be set. Without `millis`, the timer would be cancelled. */
  timers: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, millis: Schema.optionalKey(Schema.Finite) }))),
  /** Events that the machine would send to itself. */
  raises: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The event would be postponed until the next change of state. */
  postponed: Schema.optionalKey(Schema.Literal(true)),
}).annotate({ identifier: "Sent" })

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
const params = { machine: name, id: name }

export const StartInstance = Schema.Struct({
  id: name,
  /** The fields of the machine's first state. */
  input: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** A whole state to begin in, instead of the first state; not together with `input`. */
  state: Schema.optionalKey(Tagged),
}).annotate({ identifier: "StartInstance" })

export const RepairInstance = Schema.Struct({
  /** The number of the event to replace. */
  sequence: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  event: Tagged,
  /** Why the event is replaced: kept in the journal, with the original event. */
  reason: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1000))),
  /** Only checks whether the instance would then replay. Default: false. */
  dryRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "RepairInstance" })

export const ForkInstance = Schema.Struct({
  /** The id of the new instance. */
  id: name,
  /** The last event that is copied to the new instance. Default: all events. */
  sequence: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
}).annotate({ identifier: "ForkInstance" })

const states = Schema.Union([Schema.String, Schema.Array(Schema.String)])

export const BulkSend = Schema.Struct({
  /** Selects the instances. */
  filter: Schema.Struct({
    machine: name,
    state: Schema.optionalKey(states),
    status: Schema.optionalKey(ListedStatus),
    /** Only instances whose id begins with this text. */
    search: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
    updatedAfter: Schema.optionalKey(Millis),
    updatedBefore: Schema.optionalKey(Millis),
  }),
  event: Tagged,
  /** Why it is sent: the job keeps it. */
  reason: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1000))),
  /** Only counts the instances, and decides the event on the first 1000 of them. Default: false. */
  dryRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "BulkSend" })

const CohortOutcome = Schema.Struct({
  from: Schema.String,
  /** The state that they would be in; absent where they would refuse the event. */
  to: Schema.optionalKey(Schema.String),
  /** Why they would refuse the event. */
  problem: Schema.optionalKey(Schema.String),
  count: Schema.Int,
  /** One of them. */
  example: Schema.String,
}).annotate({ identifier: "CohortOutcome" })

export const BulkSent = Schema.Struct({
  /** How many instances meet the conditions now. */
  count: Schema.Int,
  /** The count is a lower bound: the search stopped at its limit. */
  atLeast: Schema.optionalKey(Schema.Literal(true)),
  /** The first matching ids. */
  sample: Schema.Array(Schema.String),
  /** For a dry run: what the event would do, to how many of the examined instances; most frequent first. */
  outcomes: Schema.optionalKey(Schema.Array(CohortOutcome)),
  /** On how many instances the event was decided, where it is not all of them. */
  previewed: Schema.optionalKey(Schema.Int),
  /** The instance that sends the event to each of them; absent for a dry run. */
  job: Schema.optionalKey(Schema.Struct({ machine: Schema.String, id: Schema.String })),
}).annotate({ identifier: "BulkSent" })

export const PurgeInstances = Schema.Struct({
  /** Purges instances that ended at least this long ago. */
  endedBeforeMillis: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** Only counts the instances. Default: false. */
  dryRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "PurgeInstances" })

export const Purged = Schema.Struct({ machine: Schema.String, count: Schema.Int, dryRun: Schema.Boolean })

export const atEvent = queryParameter("at", Count, "The number of an event: uses the state of the instance after that event.")

export const ofEvent = queryParameter("sequence", Count, "The number of an event: lists only the commands that it requested.")

export const latest = queryParameter("limit", PageLimit, "At most this many, the latest. Default: 100.")

export const earlier = queryParameter("before", Count, "`next` of a page: lists the commands before those of that page.")

export const dryRun = queryParameter("dryRun", Flag, "Only decides the event and returns what it would do.")

const path = "/api/v1/instances/:machine/:id"
const error = problems

export class InstanceApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/instances", {
      query: {
        machine: Schema.optionalKey(Schema.String),
        /** May be repeated: any of these states. */
        state: Schema.optionalKey(states),
        status: Schema.optionalKey(ListedStatus),
        /** Only instances whose id begins with this text, listed by machine and id. */
        search: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
        updatedAfter: Schema.optionalKey(Count),
        updatedBefore: Schema.optionalKey(Count),
        /** Conditions on indexed fields and labels of the machine, such as `customer=ada, total>100, label.incident=42`. */
        where: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(8000))),
        /** `oldest`, `newest`, or an indexed field of the machine, such as `dueAt:asc`. */
        order: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(120))),
        ...paging(InstanceCursor),
      },
      success: pageOf(
        {
          instances: Schema.Array(InstanceListing),
          /** Set where the page ended early, after examining this many instances; the next page continues. */
          scanned: Schema.optionalKey(Schema.Int),
          /** Set while the indexes are not filled with all stored instances: how many were read so far. Some may be missing from the list. */
          filling: Schema.optionalKey(Schema.Struct({ filled: Schema.Int })),
        },
        InstanceCursor,
      ),
      error,
    })
      .annotate(OpenApi.Summary, "List instances")
      .annotate(
        OpenApi.Description,
        "Instances by the time of their last change, oldest first; with `order=newest` newest first. `state` may be repeated. With `search`, " +
          "only instances whose id begins with that text, by machine and id. With `machine` and `where`, only instances whose indexed fields " +
          "and labels fit all conditions: the signs are = > >= < <= and ^= (begins with), a comma separates conditions, and a value with a " +
          "comma is a JSON text.",
      ),
    HttpApiEndpoint.post("bulk", "/api/v1/instances/bulk", { payload: BulkSend, success: BulkSent, error })
      .annotate(OpenApi.Summary, "Send an event to many instances")
      .annotate(
        OpenApi.Description,
        "Starts a job that sends the event to every instance that meets the conditions, once each. The job is an instance: follow it, or " +
          "cancel it with the event Cancel. With `dryRun`, only counts the instances, and says how many would go where.",
      ),
    HttpApiEndpoint.post("start", "/api/v1/instances/:machine", {
      params: { machine: name },
      payload: StartInstance,
      success: InstanceView.pipe(HttpApiSchema.status(201)),
      error,
    })
      .annotate(OpenApi.Summary, "Start an instance")
      .annotate(
        OpenApi.Description,
        "Starts an instance in the machine's first state, whose fields are `input`, or in the given `state`. A second start with the same id " +
          "is refused, so a repeated request starts nothing twice.",
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
        "Removes instances of a machine that ended at least this long ago, with their histories. An instance with an unfinished or failed " +
          "command stays.",
      ),
    HttpApiEndpoint.get("get", path, { params, success: InstanceView, error }).annotate(OpenApi.Summary, "Show an instance"),
    HttpApiEndpoint.get("history", `${path}/history`, {
      params,
      query: {
        limit: LongLimit,
        after: Schema.optionalKey(Count),
        before: Schema.optionalKey(Count),
        order: Schema.optionalKey(Schema.Literals(["asc", "desc"])),
        /** Only events whose name contains this text. */
        event: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        /** Only events whose actor, such as `user ada`, contains this text. */
        actor: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        /** Without the fields of states and events. */
        brief: Schema.optionalKey(Flag),
      },
      success: pageOf(
        {
          entries: Schema.Array(HistoryEntry),
          /** Set where the page ended early, after examining this many events; the next page continues. */
          scanned: Schema.optionalKey(Schema.Int),
        },
        Schema.Int,
      ),
      error,
    })
      .annotate(OpenApi.Summary, "Show the events of an instance")
      .annotate(
        OpenApi.Description,
        "The events after one sequence number and before another, oldest first; with `order=desc` newest first. Pass `next` as `after`, or " +
          "as `before` with `order=desc`. A page has at most 1000 entries, with `brief` 10000.",
      ),
    HttpApiEndpoint.get("stateAt", `${path}/states/:sequence`, {
      params: { ...params, sequence: Count },
      success: Schema.Struct({ sequence: Schema.Int, state: Tagged }),
      error,
    })
      .annotate(OpenApi.Summary, "Show an earlier state of an instance")
      .annotate(OpenApi.Description, "The state of the instance after an event."),
    HttpApiEndpoint.get("legalEvents", `${path}/legal-events`, {
      params,
      success: Schema.Struct({ state: Schema.String, events: Schema.Array(LegalEvent) }),
      error,
    })
      .annotate(OpenApi.Summary, "List the events that an instance accepts")
      .annotate(
        OpenApi.Description,
        "The events that the current state has a transition for; with `at`, the state after that event. A guard may still refuse an event.",
      )
      .annotate(OpenApi.Transform, takes(atEvent)),
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
        "Sends an event. With an Idempotency-Key, a repeated event returns the first result; another event with that key is refused. With " +
          "`dryRun=true` the event is decided, guards included, and nothing is stored.",
      )
      .annotate(OpenApi.Transform, takes(dryRun)),
    HttpApiEndpoint.post("repair", `${path}/repair`, {
      params,
      payload: RepairInstance,
      success: InstanceView,
      error,
    })
      .annotate(OpenApi.Summary, "Repair an instance")
      .annotate(
        OpenApi.Description,
        "Replaces the journaled event that the instance cannot replay, if the instance then replays. Otherwise the journal is unchanged. A " +
          "sensitive field with the value ••• keeps its stored value. With `dryRun`, only checks the replay.",
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
        "Creates an instance with the journal of this instance up to a sequence number. Commands that this instance requested are not " +
          "executed again.",
      ),
    HttpApiEndpoint.get("commands", `${path}/commands`, {
      params,
      success: pageOf({ commands: Schema.Array(StoredCommand) }, Schema.Int),
      error,
    })
      .annotate(OpenApi.Summary, "List the commands of an instance")
      .annotate(
        OpenApi.Description,
        "The first page has the latest commands, `next` leads to earlier ones. Within a page, the oldest command is first.",
      )
      .annotate(OpenApi.Transform, (operation) => takes(earlier)(takes(latest)(takes(ofEvent)(operation)))),
    HttpApiEndpoint.get("timers", `${path}/timers`, { params, success: Schema.Struct({ timers: Schema.Array(Timer) }), error }).annotate(
      OpenApi.Summary,
      "List the timers and the delayed events of an instance",
    ),
    HttpApiEndpoint.post("fireTimer", `${path}/timers/:name/fire`, { params: { ...params, name }, success: InstanceView, error })
      .annotate(OpenApi.Summary, "Fire a timer of an instance")
      .annotate(OpenApi.Description, "Makes the timer due now. Where another node owns the instance, that node fires it within seconds."),
    HttpApiEndpoint.post("label", `${path}/labels`, { params, payload: LabelInstance, success: Labelled, error })
      .annotate(OpenApi.Summary, "Set labels of an instance")
      .annotate(
        OpenApi.Description,
        "Sets labels, and removes those that are null. Labels are texts of at most 500 bytes, and no part of the state or the history. " +
          "Lists find instances by them: `where=label.incident=42`.",
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
        "Server-sent events: every event that the instance takes, with the sequence number as id. With Last-Event-ID, all events after " +
          "that id. The stream ends when the instance ends; a client that reconnects after that gets 204, so that an EventSource stops " +
          "reconnecting.",
      ),
  )
  .annotate(OpenApi.Description, "Instances of all machines") {}
