/**
 * Sends traces, metrics and logs to the collector at OTEL_EXPORTER_OTLP_ENDPOINT, and the remaining ones when the command ends. The
 * command also writes its own logs. The code is loaded only where a collector is configured.
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
