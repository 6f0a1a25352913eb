/** How the server is. */
import { Engine, Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import * as PrometheusMetrics from "effect/unstable/observability/PrometheusMetrics"
import { Api } from "../../api/Api.ts"
import { kind, Unavailable } from "../../api/Problem.ts"
import { Home } from "../../home/Home.ts"
import { Gauges } from "../Gauges.ts"
import { Stopping } from "../Stopping.ts"

const notReady = (detail: string) => new Unavailable({ type: kind("NotReady"), title: "Not ready", status: 503, detail })

export const systemHandlers = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const engine = yield* Engine
    const journal = yield* Journal
    const stopping = yield* Stopping
    const gauges = yield* Gauges
    const { database, role } = yield* Home

    const ready = Effect.gen(function* () {
      if (stopping.isStopping) return yield* notReady("the server is being stopped; ask another one")
      yield* journal.list({}, 1).pipe(
        Effect.timeout("5 seconds"),
        Effect.mapError(() => notReady("the database does not answer; see the server's log")),
      )
      return { status: "ready" as const, database, role, instancesLive: yield* engine.live }
    })

    return handlers
      .handle("live", () => Effect.succeed({ status: "live" as const }))
      .handle("ready", () => ready)
      .handle("metrics", () => Effect.andThen(gauges.refresh, PrometheusMetrics.format()))
  }),
)
