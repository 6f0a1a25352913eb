/** Machines: definitions, diagrams, and how many instances are in each state. */
import { Model } from "@detent/machine/diagram"
import { drawingFormats } from "@detent/workspace/Drawing"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { problems } from "../api/Problem.ts"

export const MachineListing = Schema.Struct({
  name: Schema.String,
  /** An Effect workflow has executions, listed like instances, but no states to draw and no events to send. */
  kind: Schema.Literals(["machine", "effect-workflow"]),
  version: Schema.optionalKey(Schema.Int),
  states: Schema.Array(Schema.String),
  events: Schema.Array(Schema.String),
  /** How many instances are in each state. */
  counts: Schema.Record(Schema.String, Schema.Int),
}).annotate({ identifier: "MachineListing" })

export const MachineDetails = Schema.Struct({
  ...MachineListing.fields,
  /** The structure, in the form diagrams are made from. */
  model: Schema.optionalKey(Model.schema),
  /** JSON Schema of each event, by its tag. */
  eventSchemas: Schema.Record(Schema.String, Schema.Json),
}).annotate({ identifier: "MachineDetails" })

export const DiagramFormat = Schema.Literals(drawingFormats)

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
    HttpApiEndpoint.get("diagram", "/api/v1/machines/:machine/diagram/:format", {
      params: { ...params, format: DiagramFormat },
      query: {
        theme: Schema.optionalKey(Schema.Literals(["light", "dark"])),
        /** The id of an instance whose way is drawn. */
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
        "A drawing of the machine; with `instance`, of the way that instance took. `sequence` (Mermaid) and `timeline` (DOT) draw an instance only.",
      ),
  )
  .annotate(OpenApi.Description, "Machines and their diagrams") {}
