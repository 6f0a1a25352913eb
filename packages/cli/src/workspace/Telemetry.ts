/**
 * Sends traces, metrics and logs to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, the last ones when the command ends. Logs are
 * written by the command itself. The code is loaded only where there is a collector.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const telemetry: Layer.Layer<never> = Layer.unwrap(
  Effect.suspend(() => {
    const otlp = process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]
    if (otlp === undefined || otlp === "") return Effect.succeed(Layer.empty)
    return Effect.map(
      Effect.promise(() => import("@detent/server/Observability")),
      ({ observability }) => observability({ isTerminal: true, otlp }),
    )
  }),
)
