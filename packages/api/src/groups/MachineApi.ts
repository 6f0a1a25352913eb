/** Machines: definitions, diagrams, and the number of instances in each state. */
import { Flows, Layout, Model } from "@detent/machine/diagram"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Count, Flag } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { DrawingFormat } from "./DrawingFormat.ts"

export const MachineListing = Schema.Struct({
  name: Schema.String,
  /** An Effect workflow has executions, listed like instances, but no states to draw. Its events are sent to executions. */
  kind: Schema.Literals(["machine", "effect-workflow"]),
  version: Schema.optionalKey(Schema.Int),
  states: Schema.Array(Schema.String),
  events: Schema.Array(Schema.String),
  /** How many instances are in each state. */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** How many of its instances are held, at most 10,000. Only for machines. */
  held: Schema.optionalKey(Schema.Int),
  /** The fields by which its instances are found and ordered, where it has any. */
  indexes: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, kind: Schema.Literals(["text", "number", "instant", "boolean"]) })),
  ),
  /** While indexes are filled with the values of instances that were stored before: how many were read. */
  indexing: Schema.optionalKey(Schema.Struct({ filled: Schema.Int, isComplete: Schema.Boolean })),
}).annotate({ identifier: "MachineListing" })

export const MachineDetails = Schema.Struct({
  ...MachineListing.fields,
  /** The structure of the machine, from which diagrams are drawn. */
  model: Schema.optionalKey(Model.schema),
  /** JSON Schema of each event, by its tag; for a workflow, of the value of each event. */
  eventSchemas: Schema.Record(Schema.String, Schema.Json),
  /** JSON Schema of each state, by its tag. */
  stateSchemas: Schema.Record(Schema.String, Schema.Json),
  /** JSON Schema of the payload of a workflow. */
  payloadSchema: Schema.optionalKey(Schema.Json),
}).annotate({ identifier: "MachineDetails" })

/** One thing that is different: without `before`, only the new code has it. Values of sensitive fields are hidden. */
const Change = Schema.Struct({
  path: Schema.String,
  before: Schema.optionalKey(Schema.Json),
  after: Schema.optionalKey(Schema.Json),
})

const Verdict = Schema.Union([
  Schema.TaggedStruct("Differs", {
    sequence: Schema.Int,
    /** The first decision that is different. `isProbe`: the event has not come. */
    decision: Schema.optionalKey(
      Schema.Struct({
        sequence: Schema.Int,
        event: Schema.String,
        from: Schema.String,
        changes: Schema.Array(Change),
        isProbe: Schema.optionalKey(Schema.Literal(true)),
      }),
    ),
    /** How the state in which the instance opens is different. */
    opens: Schema.optionalKey(Schema.Array(Change)),
  }),
  /** It does not open: the number of the event, and why. 0: the first state. */
  Schema.TaggedStruct("Held", { sequence: Schema.Int, problem: Schema.String }),
])

export const MachineReport = Schema.Struct({
  machine: Schema.String,
  /** Whether its definition is registered, so that it can be checked. */
  registered: Schema.Boolean,
  checked: Schema.Int,
  /** How many of those that were checked have ended. */
  ended: Schema.Int,
  same: Schema.Int,
  differs: Schema.Int,
  /** How many would not open. */
  held: Schema.Int,
  /** In how many journals a state was found in which an event that has not come would be decided differently. */
  unseen: Schema.Int,
  /** Instances that could not be checked, because there is no definition. */
  unchecked: Schema.Int,
  /** Why instances differ or would be held, the most frequent first, with one of them each. */
  reasons: Schema.Array(
    Schema.Struct({
      verdict: Schema.Literals(["differs", "held", "unseen"]),
      event: Schema.optionalKey(Schema.String),
      from: Schema.optionalKey(Schema.String),
      summary: Schema.String,
      count: Schema.Int,
      example: Schema.String,
    }),
  ),
  /** Some of the instances that differ or would be held. */
  findings: Schema.Array(Schema.Struct({ id: Schema.String, verdict: Verdict })),
  /** With `whatIf`: how many have ended one way and would have ended another, the most frequent first. */
  flows: Schema.Array(Schema.Struct({ from: Schema.String, to: Schema.String, count: Schema.Int, example: Schema.String })),
  /** With `whatIf`: the flows as a picture. */
  picture: Schema.optionalKey(Flows.layoutSchema),
}).annotate({ identifier: "MachineReport" })

export const DiagramLayout = Schema.Struct({
  /** Changes with the structure of the machine. */
  fingerprint: Schema.String,
  ...Layout.schema.fields,
}).annotate({ identifier: "DiagramLayout" })

const params = { machine: Schema.String }
const error = problems

export class MachineApi extends HttpApiGroup.make("machines")
  .add(
    HttpApiEndpoint.get("list", "/api/v1/machines", { success: Schema.Struct({ machines: Schema.Array(MachineListing) }), error }).annotate(
      OpenApi.Summary,
      "List machines",
    ),
    HttpApiEndpoint.get("get", "/api/v1/machines/:machine", { params, success: MachineDetails, error }).annotate(
      OpenApi.Summary,
      "Show a machine",
    ),
    HttpApiEndpoint.get("check", "/api/v1/machine-check", {
      query: {
        machine: Schema.optionalKey(Schema.String),
        /** Checks the instances that have ended too. */
        ended: Schema.optionalKey(Flag),
        /** Of those, only the ones that ended since then, and before. Milliseconds since 1970. */
        since: Schema.optionalKey(Count),
        until: Schema.optionalKey(Count),
        /** Asks how the ended instances would have ended under the server's definitions. */
        whatIf: Schema.optionalKey(Flag),
      },
      success: Schema.Struct({ reports: Schema.Array(MachineReport) }),
      error,
    })
      .annotate(OpenApi.Summary, "Check stored instances against the machines")
      .annotate(
        OpenApi.Description,
        "Replays the stored instances of a machine, or of all machines, with the server's current definitions, in worker processes: those " +
          "that have not ended and, with `ended`, those that have. Nothing is changed.",
      ),
    HttpApiEndpoint.get("layout", "/api/v1/machines/:machine/diagram/layout", {
      params,
      query: { direction: Schema.optionalKey(Schema.Literals(["down", "right"])) },
      success: DiagramLayout,
      error,
    })
      .annotate(OpenApi.Summary, "Lay out the diagram of a machine")
      .annotate(OpenApi.Description, "The positions of states, groups, edges and labels, for clients that draw the diagram themselves."),
    HttpApiEndpoint.get("diagram", "/api/v1/machines/:machine/diagram/:format", {
      params: { ...params, format: DrawingFormat },
      query: {
        theme: Schema.optionalKey(Schema.Literals(["light", "dark"])),
        /** The id of an instance whose path is drawn. */
        instance: Schema.optionalKey(Schema.String),
      },
      success: [
        Schema.String.pipe(HttpApiSchema.asText({ contentType: "image/svg+xml" })),
        Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/vnd.mermaid" })),
        Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/vnd.graphviz" })),
      ],
      error,
    })
      .annotate(OpenApi.Summary, "Draw a machine")
      .annotate(
        OpenApi.Description,
        "A drawing of the machine; with `instance`, of the path that instance took. `sequence` (Mermaid) and `timeline` (DOT) draw an instance only.",
      ),
  )
  .annotate(OpenApi.Description, "Machines and their diagrams") {}
