/** Executions of workflows: start, list, read, history, events, resume, interrupt. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { LiveHeaders } from "../contract/Headers.ts"
import { Count, InstanceCursor, LongLimit, Millis, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { Phase } from "./Phase.ts"

export const ExecutionListing = Schema.Struct({
  workflow: Schema.String,
  id: Schema.String,
  phase: Schema.String,
  /** Whether it is completed, failed or interrupted. */
  ended: Schema.Boolean,
  /** Why it is held. For a single execution also the error that it failed with; sensitive fields of the error are hidden. */
  problem: Schema.optionalKey(Schema.String),
  /** The node that runs it. */
  node: Schema.optionalKey(Schema.String),
  /** How many events its history has. */
  events: Schema.Int,
  startedAt: Millis,
  updatedAt: Millis,
}).annotate({ identifier: "ExecutionListing" })

export const Execution = Schema.Struct({
  ...ExecutionListing.fields,
  /** Its payload, without sensitive fields. Absent where the server does not know its workflow. */
  payload: Schema.optionalKey(Schema.Json),
  /** Its result, without sensitive fields. */
  result: Schema.optionalKey(Schema.Json),
  /** Executions that wait for this one. */
  parents: Schema.optionalKey(Schema.Array(Schema.Struct({ workflow: Schema.String, id: Schema.String }))),
  /** Durable clocks that it waits for. */
  clocks: Schema.Array(Schema.Struct({ name: Schema.String, due: Millis })),
}).annotate({ identifier: "Execution" })

export const ExecutionEvent = Schema.Struct({ sequence: Schema.Int, at: Millis, event: Schema.String }).annotate({
  identifier: "ExecutionEvent",
})

export const Span = Schema.Struct({
  /** `run`: the time that one node runs the execution. */
  kind: Schema.Literals(["activity", "clock", "deferred", "call", "compensation", "suspension", "run"]),
  name: Schema.String,
  /** The attempt of an activity, starting at 1. */
  attempt: Schema.optionalKey(Schema.Int),
  /** Absent where unknown. */
  startedAt: Schema.optionalKey(Millis),
  /** Absent while the step runs. */
  endedAt: Schema.optionalKey(Millis),
  outcome: Schema.optionalKey(Schema.Literals(["success", "failure"])),
  /** When a clock is due. */
  due: Schema.optionalKey(Millis),
  node: Schema.optionalKey(Schema.String),
  /** The sequence number of the event that opened the span. */
  sequence: Schema.Int,
}).annotate({ identifier: "Span" })

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
const params = { workflow: name, id: name }

export const StartExecution = Schema.Struct({
  /** Default: the id that the workflow derives from its payload. */
  id: Schema.optionalKey(name),
  /** The payload of the workflow. Default: `{}`. */
  payload: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
}).annotate({ identifier: "StartExecution" })

export const SendToExecution = Schema.Struct({
  /** The name of the event. GET /api/v1/machines/workflow%2FNAME lists them. */
  event: name,
  /** The value of the event, which must fit its schema. Default: null. */
  value: Schema.optionalKey(Schema.Json),
  /** Keeps the event for an execution that is started later. Default: false: an execution that does not exist is refused. */
  beforeStart: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "SendToExecution" })

const path = "/api/v1/executions/:workflow/:id"
const error = problems

export class ExecutionApi extends HttpApiGroup.make("executions")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/executions", {
      query: {
        workflow: Schema.optionalKey(name),
        phase: Schema.optionalKey(Phase),
        order: Schema.optionalKey(Schema.Literals(["oldest", "newest"])),
        ...paging(InstanceCursor),
      },
      success: pageOf({ executions: Schema.Array(ExecutionListing) }, InstanceCursor),
      error,
    })
      .annotate(OpenApi.Summary, "List executions of workflows")
      .annotate(OpenApi.Description, "Executions by the time of their last change, oldest first; with `order=newest` newest first."),
    HttpApiEndpoint.post("start", "/api/v1/executions/:workflow", {
      params: { workflow: name },
      payload: StartExecution,
      success: Execution.pipe(HttpApiSchema.status(201)),
      error,
    })
      .annotate(OpenApi.Summary, "Start an execution")
      .annotate(
        OpenApi.Description,
        "Starts an execution of a workflow. Starting it again with the same id and payload returns its current state; another payload " +
          "with the same id is refused. GET /api/v1/machines/workflow%2FNAME has the schema of the payload.",
      ),
    HttpApiEndpoint.get("get", path, { params, success: Execution, error }).annotate(OpenApi.Summary, "Get an execution"),
    HttpApiEndpoint.get("history", `${path}/history`, {
      params,
      query: paging(Count),
      success: pageOf({ events: Schema.Array(ExecutionEvent) }, Schema.Int),
      error,
    })
      .annotate(OpenApi.Summary, "Read the history of an execution")
      .annotate(OpenApi.Description, "Its events after a sequence number, oldest first. Results of activities are not shown."),
    HttpApiEndpoint.post("send", `${path}/events`, { params, payload: SendToExecution, success: Execution, error })
      .annotate(OpenApi.Summary, "Send an event to an execution")
      .annotate(
        OpenApi.Description,
        "Sends an event that the workflow awaits, now or later. An execution takes each event once: sending the same value again returns " +
          "the state of the execution, and another value is refused. GET /api/v1/machines/workflow%2FNAME has the schemas of events.",
      ),
    HttpApiEndpoint.get("spans", `${path}/spans`, {
      params,
      query: { limit: LongLimit, after: Schema.optionalKey(Count) },
      success: pageOf(
        { phase: Schema.String, startedAt: Millis, endedAt: Schema.optionalKey(Millis), spans: Schema.Array(Span) },
        Schema.Int,
      ),
      error,
    })
      .annotate(OpenApi.Summary, "Show the timeline of an execution")
      .annotate(
        OpenApi.Description,
        "Activities with their attempts, clocks, deferreds, calls and suspensions, each with its start and end.",
      ),
    HttpApiEndpoint.get("events", `${path}/events`, {
      params,
      headers: LiveHeaders,
      success: [HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }), HttpApiSchema.NoContent],
      error,
    })
      .annotate(OpenApi.Summary, "Follow an execution")
      .annotate(
        OpenApi.Description,
        "Server-sent events: each event of the execution, with the sequence number as id. With Last-Event-ID, all events after that id. " +
          "The stream ends when the execution ends.",
      ),
    HttpApiEndpoint.post("resume", `${path}/resume`, { params, success: Execution, error })
      .annotate(OpenApi.Summary, "Resume an execution")
      .annotate(OpenApi.Description, "Resumes an execution that is suspended or held. A running execution is unchanged."),
    HttpApiEndpoint.post("interrupt", `${path}/interrupt`, { params, success: Execution, error })
      .annotate(OpenApi.Summary, "Interrupt an execution")
      .annotate(OpenApi.Description, "Interrupts an execution: no further activity starts, and the compensations of completed steps run."),
  )
  .annotate(OpenApi.Description, "Executions of workflows") {}
