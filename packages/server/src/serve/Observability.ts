/** Logs as lines of JSON where nobody reads them on a terminal; traces, metrics and logs over OTLP where there is somebody to send to. */
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as FetchHttpClient from "effect/unstable/http/FetchHttpClient"
import * as Otlp from "effect/unstable/observability/Otlp"

export interface ObservabilityOptions {
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean
  /** The address of a collector, such as `http://localhost:4318`; nothing is sent unless told. */
  readonly otlp?: string | undefined
}

export const observability = ({ isTerminal, otlp }: ObservabilityOptions): Layer.Layer<never> => {
  const logs = isTerminal ? Layer.empty : Logger.layer([Logger.consoleJson])
  if (otlp === undefined || otlp === "") return logs
  const sent = Otlp.layerJson({ baseUrl: otlp, resource: { serviceName: "detent" }, loggerMergeWithExisting: true })
  return sent.pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(logs))
}
