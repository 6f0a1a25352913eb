import { Engine, MemoryStore } from "@detent/durable"
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S = State({
  Open: { parcels: Schema.Array(Schema.String) },
  Shipping: { missing: Schema.Array(Schema.String) },
  Delivered: {},
})
const E = Event({ Ship: {}, Arrived: { parcel: Schema.String } })
const P = State({ OnTheWay: { order: Schema.String, parcel: Schema.String }, Arrived: { order: Schema.String, parcel: Schema.String } })

// #region child
const Shipment = Machine.make({
  name: "shipment",
  state: P,
  event: Event({}),
  effects: Slot.Effects({ report: { order: Schema.String, parcel: Schema.String } }),
  initial: P.OnTheWay,
})
  .timeout(P.OnTheWay, "20 millis", P.Arrived)
  .enter(P.Arrived, ({ state, effects }) => effects.report(state), { requests: ["report"] })
  .final(P.Arrived)
  .build({
    report: ({ order, parcel }, { key }) =>
      Effect.gen(function* () {
        const parent = yield* Effect.fromOption((yield* Engine).find({ machine: "order", id: order }))
        yield* parent.send(E.Arrived({ parcel }), { id: key }) // taken once, however often the command runs
      }).pipe(Effect.orDie), // a failure is retried by the worker
  })
// #endregion child

// #region parent
const Order = Machine.make({
  name: "order",
  state: S,
  event: E,
  effects: Slot.Effects({ startShipment: { parcel: Schema.String } }),
  initial: S.Open,
})
  .on(S.Open, E.Ship, S.Shipping, ({ state, effects }) => {
    for (const parcel of state.parcels) effects.startShipment({ parcel })
    return S.Shipping({ missing: state.parcels })
  })
  .on(S.Shipping, E.Arrived, S.Shipping, ({ state, event }) =>
    S.Shipping({ missing: state.missing.filter((parcel) => parcel !== event.parcel) }),
  )
  .always(
    S.Shipping,
    ({ state }) => state.missing.length === 0,
    S.Delivered,
    () => S.Delivered(),
  )
  .final(S.Delivered)
  .build({
    startShipment: ({ parcel }, { id }) =>
      Effect.flatMap(Engine, (engine) => engine.ensure(Shipment, `${id}/${parcel}`, { order: id, parcel })).pipe(
        Effect.asVoid,
        Effect.orDie,
      ),
  })
// #endregion parent

const program = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(Shipment)
  const order = yield* engine.start(Order, "order-7", { parcels: ["books", "lamp"] })
  yield* order.send(E.Ship())
  yield* Console.log((yield* order.awaitFinal)._tag)
  const { instances } = yield* engine.list(Shipment)
  yield* Console.log(instances.map(({ id }) => id).sort())
})
await Effect.runPromise(Effect.provide(program, Engine.layer().pipe(Layer.provide(MemoryStore.layer))))
