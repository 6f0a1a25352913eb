/** Health and metrics. */

import { CoreApi } from "@detent/api/CoreApi"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { optional } from "@detent/workspace/optional"
import { systemsOn } from "@detent/workspace/Systems"
import { proofOf } from "@detent/workspace/WorkspaceProof"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { Gauges } from "./Gauges.ts"
import { MetricsHistory } from "./MetricsHistory.ts"
import { makeReadiness } from "./Readiness.ts"

export const systemHandlers = HttpApiBuilder.group(
  CoreApi,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const { data } = yield* CurrentWorkspace
    const gauges = yield* Gauges
    const history = yield* MetricsHistory
    const readiness = yield* makeReadiness
    const systems = yield* systemsOn
    return handlers
      .handle("live", ({ request }) =>
        Effect.sync(() => {
          const challenge = request.headers["detent-challenge"]
          const proof = challenge === undefined ? undefined : proofOf(data, challenge)
          return { status: "live" as const, systems, ...optional({ proof }) }
        }),
      )
      .handle("ready", () => readiness.check)
      .handle("metricsHistory", ({ query: { since = 0 } }) => Effect.sync(() => history.since(since)))
      .handle("metrics", () => Effect.andThen(gauges.refresh, PrometheusMetrics.format()))
  }),
)
