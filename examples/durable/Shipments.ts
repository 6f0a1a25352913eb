/**
 * An order that starts a shipment for each of its parcels, and waits for all of them. The order and its shipments are instances of
 * two machines. A handler starts a shipment through the `Engine`, with an id made of the order and the parcel, so that a command
 * that is executed twice starts one shipment. An event from a shipment to its order has the key of the command as its id, so that
 * it is handled once.
 *
 * Run it: `npx node examples/durable/Shipments.ts orders.db`. Kill it at any moment and start it again: it resumes.
 */
import { Engine, Journal } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S = State({
  Open: { parcels: Schema.Array(Schema.String) },
  Shipping: { parcels: Schema.Array(Schema.String), missing: Schema.Array(Schema.String) },
  Delivered: { parcels: Schema.Array(Schema.String) },
})
const E = Event({ Ship: {}, Arrived: { parcel: Schema.String } })

const P = State({
  Packing: { order: Schema.String, parcel: Schema.String },
  OnTheWay: { order: Schema.String, parcel: Schema.String },
  Arrived: { order: Schema.String, parcel: Schema.String },
})

/** One parcel on its way. It reports its arrival to the order. */
export const Shipment = Machine.make({
  name: "shipment",
  state: P,
  event: Event({}),
  effects: Slot.Effects({ reportArrival: { order: Schema.String, parcel: Schema.String } }),
  initial: P.Packing,
})
  .timeout(P.Packing, "200 millis", P.OnTheWay, { name: "packed" })
  .timeout(P.OnTheWay, "200 millis", P.Arrived, { name: "delivered" })
  .enter(P.Arrived, ({ state, effects }) => effects.reportArrival({ order: state.order, parcel: state.parcel }), {
    requests: ["reportArrival"],
  })
  .final(P.Arrived)
  .build({
    reportArrival: ({ order, parcel }, { key }) =>
      Effect.gen(function* () {
        const found = yield* Effect.fromOption((yield* Engine).find({ machine: "order", id: order }))
        yield* found.send(E.Arrived({ parcel }), { id: key })
        // The worker retries a failure.
      }).pipe(Effect.orDie),
  })

export const Order = Machine.make({
  name: "order",
  state: S,
  event: E,
  effects: Slot.Effects({ startShipment: { parcel: Schema.String } }),
  initial: S.Open,
})
  .on(
    S.Open,
    E.Ship,
    S.Shipping,
    ({ state, effects }) => {
      for (const parcel of state.parcels) effects.startShipment({ parcel })
      return S.Shipping({ parcels: state.parcels, missing: state.parcels })
    },
    { requests: ["startShipment"] },
  )
  .on(S.Shipping, E.Arrived, S.Shipping, ({ state, event }) =>
    S.Shipping({ ...state, missing: state.missing.filter((parcel) => parcel !== event.parcel) }),
  )
  .always(S.Shipping, ({ state }) => state.missing.length === 0, S.Delivered)
  .final(S.Delivered)
  .build({
    // `ensure` starts the shipment, or finds the one that an earlier execution of this command started.
    startShipment: ({ parcel }, { id }) =>
      Effect.flatMap(Engine, (engine) => engine.ensure(Shipment, `${id}/${parcel}`, { order: id, parcel })).pipe(
        Effect.asVoid,
        Effect.orDie,
      ),
  })

const program = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(Shipment)
  const order = yield* engine.ensure(Order, "order-7", { parcels: ["books", "lamp", "table"] })
  yield* Console.log(`the order is ${(yield* order.state)._tag}`)
  // With this id the event is handled once, however often the program is started.
  yield* order.send(E.Ship(), { id: "ship" })
  yield* Console.log("the shipments are requested")
  const delivered = yield* order.awaitFinal
  const { instances } = yield* Effect.flatMap(Journal, (journal) => journal.list({ machine: "shipment" }, 10))
  const { sequence } = yield* order.snapshot
  yield* Console.log(`${delivered._tag} after ${sequence} events, with ${instances.length} shipments`)
})

if (import.meta.main) {
  const store = SqliteStore.layer({ filename: process.argv[2] ?? ":memory:" })
  const engine = Engine.layer({ worker: { claimDuration: "1 second" } }).pipe(Layer.provideMerge(store))
  await Effect.runPromise(Effect.provide(program, engine))
}
