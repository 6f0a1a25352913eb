/**
 * An order that charges a card, stored in a SQLite file. Kill the process at any moment and start it again: it resumes.
 *
 * Run it: `npx node examples/readme/durable.ts orders.db`, twice.
 */
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const S = State({
  Open: { total: Schema.Finite },
  Charging: { total: Schema.Finite },
  Paid: { receipt: Schema.String },
  Expired: {},
})
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
const effects = Slot.Effects({ charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String }) })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ total: state.total }) // stored with the transition, executed after it
    return S.Charging.derive(state)
  })
  .on(S.Charging, E.Charged, S.Paid)
  .timeout(S.Open, "30 minutes", S.Expired)
  .final(S.Paid, S.Expired)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
  .build({ charge: ({ total }, { key }) => Effect.as(Console.log(`charging ${total}, once for ${key}`), "receipt-1") })

const main = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(Order) // at every start, for every machine: resumes its timers, work and commands
  const order = yield* engine.ensure(Order, "order-123", { total: 42 })
  if ((yield* order.state)._tag === "Open") yield* order.send(E.Pay(), { id: "webhook-77" }) // a second event with this id gets the first answer
  yield* Console.log(yield* order.awaitFinal)
})

const store = SqliteStore.layer({ filename: process.argv[2] ?? "orders.db" })
await Effect.runPromise(main.pipe(Effect.provide(Engine.layer().pipe(Layer.provide(store)))))
