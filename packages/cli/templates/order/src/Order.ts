/** An order: placed, paid within half an hour or cancelled, shipped. */
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const order = { item: Schema.String, total: Schema.Finite }

export const S = State({
  Placed: order,
  Paid: { ...order, transactionId: Schema.String },
  Shipped: { ...order, trackingNumber: Schema.String },
  Cancelled: { ...order, reason: Schema.String },
})

export const E = Event({
  Pay: { transactionId: Schema.String },
  Ship: { trackingNumber: Schema.String },
  Cancel: { reason: Schema.String },
})

/** What an order wants done in the outside world. It is stored with the event that asks for it, and executed after that. */
const effects = Slot.Effects({ sendMail: { text: Schema.String } })

export const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Placed })
  .on(S.Placed, E.Pay, S.Paid)
  .on(S.Paid, E.Ship, S.Shipped)
  .on([S.Placed, S.Paid], E.Cancel, S.Cancelled)
  .timeout(S.Placed, "30 minutes", S.Cancelled, ({ state }) => S.Cancelled.derive(state, { reason: "not paid in time" }))
  .enter(S.Shipped, ({ state, effects }) => effects.sendMail({ text: `Your ${state.item} is on its way: ${state.trackingNumber}` }), {
    requests: ["sendMail"],
  })
  .final(S.Shipped, S.Cancelled)
  .build({ sendMail: async ({ text }) => console.log(`mail: ${text}`) })
