/** One trace of a whole order in a collector of OTLP: the request, the commits, a command, another instance, the result and a timer. */
import { Engine } from "@detent/durable"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig, observability } from "@detent/server"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { collecting } from "../support/collector.ts"
import { json, request, served } from "../support/served.ts"

const Shipment = (() => {
  const S = State({ Packed: {}, Sent: {} })
  const E = Event({ Send: {} })
  return Machine.make({ name: "shipment", state: S, event: E, initial: S.Packed() }).timeout(S.Packed, "50 millis", S.Sent).final(S.Sent)
})()

const Order = (() => {
  const S = State({ Open: {}, Charging: {}, Paid: {}, Reminded: {} })
  const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
  const effects = Slot.Effects({ charge: Slot.effect({}, { success: Schema.String }) })
  return Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open() })
    .on(S.Open, E.Pay, S.Charging, ({ effects }) => {
      effects.charge({})
      return S.Charging()
    })
    .on(S.Charging, E.Charged, S.Paid)
    .timeout(S.Paid, "50 millis", S.Reminded)
    .final(S.Reminded)
    .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
    .build({
      charge: (_, { id }) =>
        Effect.orDie(Effect.flatMap(Engine, (engine) => Effect.as(engine.ensure(Shipment, `${id}-shipment`), "receipt"))),
    })
})()

const Spans = Schema.fromJsonString(
  Schema.Struct({
    resourceSpans: Schema.Array(
      Schema.Struct({
        scopeSpans: Schema.Array(
          Schema.Struct({ spans: Schema.Array(Schema.Struct({ traceId: Schema.String, spanId: Schema.String, name: Schema.String })) }),
        ),
      }),
    ),
  }),
)

const traceId = "0af7651916cd43dd8448eb211c80319c"

it.live("a collector has one trace of an order, from the request to its timers and those of its shipment", () =>
  Effect.gen(function* () {
    const { received, otlp } = yield* collecting
    yield* Effect.gen(function* () {
      const { url } = yield* served({ config: defineConfig({ machines: [Shipment, Order] }) })
      yield* request(`${url}/api/v1/instances/order`, json({ id: "o-1" }))
      yield* request(
        `${url}/api/v1/instances/order/o-1/events`,
        json({ _tag: "Pay" }, { traceparent: `00-${traceId}-b7ad6b7169203331-01` }),
      )
      for (const path of ["order/o-1", "shipment/o-1-shipment"])
        yield* Effect.repeat(request(`${url}/api/v1/instances/${path}`), {
          until: ({ text }) => text.includes('"final"'),
          schedule: Schedule.spaced("50 millis"),
        })
    }).pipe(Effect.scoped, Effect.provide(observability({ isTerminal: true, otlp })))
    const exported = (received.get("/v1/traces") ?? "").replaceAll("}{", "}\n{").split("\n")
    const spans = exported.flatMap((text) =>
      Schema.decodeUnknownSync(Spans)(text).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    )
    const names = spans.filter((span) => span.traceId === traceId).map(({ name }) => name)
    for (const name of [
      "detent.send",
      "detent.decide",
      "detent.commit",
      "detent.request",
      "command charge",
      "detent.start",
      "detent.timer",
    ])
      assert.include(names, name)
    assert.strictEqual(names.filter((name) => name === "detent.timer").length, 2)
  }),
)
