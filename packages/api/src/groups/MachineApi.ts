/** Machines: definitions, diagrams, and the number of instances in each state. */
import { Layout, Model } from "@detent/machine/diagram"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
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

export const MachineReport = Schema.Struct({
  machine: Schema.String,
  /** Whether its definition is registered, so that it can be checked. */
  registered: Schema.Boolean,
  checked: Schema.Int,
  /** Instances that have ended. They are not opened again. */
  ended: Schema.Int,
  /** Instances that have not ended and could not be checked, because there is no definition. */
  unchecked: Schema.Int,
  /** Instances that do not replay with the current definition: the number of the event, and why. 0: the first state. */
  failing: Schema.Array(Schema.Struct({ id: Schema.String, sequence: Schema.Int, problem: Schema.String })),
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
      query: { machine: Schema.optionalKey(Schema.String) },
      success: Schema.Struct({ reports: Schema.Array(MachineReport) }),
      error,
    })
      .annotate(OpenApi.Summary, "Check stored instances against the machines")
      .annotate(
        OpenApi.Description,
        "Replays the stored instances of a machine, or of all machines, that have not ended, with the server's current definitions. Nothing " +
          "is changed.",
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
