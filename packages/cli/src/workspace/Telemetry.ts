/**
 * Sends traces, metrics and logs to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names. Logs are written by the command itself; its
 * code is loaded by commands that serve only.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const telemetry: Layer.Layer<never> = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@detent/server/Observability")),
    ({ observability }) => observability({ isTerminal: true, otlp: process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] }),
  ),
)
