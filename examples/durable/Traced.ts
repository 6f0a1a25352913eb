/**
 * The spans of an order, sent to any receiver of OTLP: Jaeger, Grafana Tempo, an OpenTelemetry collector. The tracer is provided
 * to the engine too, so that timers and commands have spans.
 *
 * Run it: `npx node examples/durable/Traced.ts http://localhost:4318/v1/traces`
 */
import { Engine, MemoryStore } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { E, Payment } from "./Payment.ts"

const tracer = (url: string) =>
  OtlpTracer.layer({ url, resource: { serviceName: "orders" } }).pipe(
    Layer.provide(Layer.mergeAll(OtlpSerialization.layerJson, FetchHttpClient.layer)),
  )

const pay = Effect.gen(function* () {
  const engine = yield* Engine
  const order = yield* engine.ensure(Payment, "order-123", { total: 42 })
  yield* order.send(E.RequestPayment())
  yield* order.send(E.Pay({ transactionId: "t-9" }))
}).pipe(Effect.withSpan("pay"))

if (import.meta.main) {
  const engine = Engine.layer().pipe(Layer.provide(MemoryStore.layer))
  const url = process.argv[2] ?? "http://localhost:4318/v1/traces"
  await Effect.runPromise(pay.pipe(Effect.provide(engine.pipe(Layer.provideMerge(tracer(url))))))
}
