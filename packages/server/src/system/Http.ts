/** Health and metrics. */
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import * as PrometheusMetrics from "effect/unstable/observability/PrometheusMetrics"
import { Api } from "../api/Api.ts"
import { Gauges } from "./Gauges.ts"
import { makeReadiness } from "./Readiness.ts"

export const systemHandlers = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const gauges = yield* Gauges
    const readiness = yield* makeReadiness
    return handlers
      .handle("live", () => Effect.succeed({ status: "live" as const }))
      .handle("ready", () => readiness.check)
      .handle("metrics", () => Effect.andThen(gauges.refresh, PrometheusMetrics.format()))
  }),
)
