/** Health and metrics, for load balancers, monitoring and operators. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { accessOf } from "../contract/Access.ts"
import { Count, Millis } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"

/** The systems that are on. */
const SystemNames = Schema.Array(Schema.Literals(["knowledge", "uploads"]))

export const Liveness = Schema.Struct({
  status: Schema.Literal("live"),
  /** The answer to the challenge. */
  proof: Schema.optionalKey(Schema.String),
  systems: SystemNames,
}).annotate({ identifier: "Liveness" })

export const Readiness = Schema.Struct({
  status: Schema.Literal("ready"),
  database: Schema.Literals(["Sqlite", "Postgres"]),
  role: Schema.Literals(["observe", "work"]),
  systems: SystemNames,
  instancesLive: Schema.Int,
  /** Instances that are held, of all processes: they do not open with the definition of their machine. The server is ready nevertheless. */
  instancesHeld: Schema.Int,
  /** Whether the check in the background has replayed all running instances with the definitions of this process. */
  instancesChecked: Schema.Boolean,
})

export const MetricsHistory = Schema.Struct({
  stepMillis: Schema.Int,
  /** The end of each step. */
  at: Schema.Array(Millis),
  series: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      /** `rate`: per second. `mean`: of the observations in the step. `value`: the value at the end of the step. */
      kind: Schema.Literals(["rate", "mean", "value"]),
      description: Schema.String,
      /** One value per step; null without observations. */
      values: Schema.Array(Schema.NullOr(Schema.Finite)),
    }),
  ),
}).annotate({ identifier: "MetricsHistory" })

export class SystemApi extends HttpApiGroup.make("system", { topLevel: true })
  .add(
    HttpApiEndpoint.get("live", "/health/live", {
      success: Liveness,
      error: problems,
    })
      .annotateMerge(accessOf("everyone"))
      .annotate(OpenApi.Summary, "Check that the process answers")
      .annotate(
        OpenApi.Description,
        "Whether the process answers. With the header Detent-Challenge, the answer proves to a client that reads the same data folder that " +
          "the process works in it.",
      ),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Readiness, error: problems })
      .annotateMerge(accessOf("everyone"))
      .annotate(OpenApi.Summary, "Check that the server is ready")
      .annotate(
        OpenApi.Description,
        "Whether the server is ready: the database answers, no background loop is down, and the server is not being stopped. 503 names the " +
          "cause. Held instances do not make it unready, because all others are served; it reports how many there are.",
      ),
    HttpApiEndpoint.get("metrics", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain; version=0.0.4; charset=utf-8" })),
      error: problems,
    })
      .annotate(OpenApi.Summary, "Read metrics")
      .annotate(OpenApi.Description, "Metrics in the Prometheus text format."),
    HttpApiEndpoint.get("metricsHistory", "/api/v1/metrics/history", {
      query: { since: Schema.optionalKey(Count) },
      success: MetricsHistory,
      error: problems,
    })
      .annotate(OpenApi.Summary, "Read the metrics of the last hour")
      .annotate(
        OpenApi.Description,
        "Metrics of the process that answers, in steps of five seconds, for plots. With `since`, only steps after that time.",
      ),
  )
  .annotate(OpenApi.Description, "Health and metrics") {}
