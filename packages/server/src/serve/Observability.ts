/** Logs as lines of JSON unless standard output is a terminal; traces, metrics and logs over OTLP if a collector is configured. */
import { randomUUID } from "node:crypto"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Otlp from "effect/observability/Otlp"

export interface ObservabilityOptions {
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean
  /** The address of a collector, such as `http://localhost:4318`. Default: nothing is sent. */
  readonly otlp?: string | undefined
}

export const observability = ({ isTerminal, otlp }: ObservabilityOptions): Layer.Layer<never> => {
  const logs = isTerminal ? Layer.empty : Logger.layer([Logger.consoleJson])
  if (otlp === undefined || otlp === "") return logs
  // Each process counts from zero: the instance id keeps a collector from merging counters of several processes.
  const resource = { serviceName: "detent", attributes: { "service.instance.id": randomUUID() } }
  const sent = Otlp.layerJson({ baseUrl: otlp, resource, loggerMergeWithExisting: true })
  return sent.pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(logs))
}
