/** The order as a machine of this library. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"
import { events, type OrderEvent } from "./workload.ts"

const order = { items: Schema.Array(Schema.String), total: Schema.Number }

export const S = State({ Pending: order, AwaitingPayment: order, Paid: order, Shipped: order, Delivered: order, Cancelled: order })

export const E = Event({
  AddItem: { item: Schema.String, price: Schema.Number },
  RequestPayment: {},
  Pay: { amount: Schema.Number },
  Ship: {},
  Deliver: {},
  Cancel: {},
})

export const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Pending({ items: [], total: 0 }) })
  .on(S.Pending, E.AddItem, S.Pending, ({ state, event }) =>
    S.Pending({ items: [...state.items, event.item], total: state.total + event.price }),
  )
  .on(S.Pending, E.RequestPayment, S.AwaitingPayment)
  .on(S.AwaitingPayment, E.Pay, S.Paid, { guard: ({ event }) => event.amount > 0 })
  .on(S.Paid, E.Ship, S.Shipped)
  .on(S.Shipped, E.Deliver, S.Delivered)
  .on([S.Pending, S.AwaitingPayment], E.Cancel, S.Cancelled)
  .final(S.Delivered, S.Cancelled)

const fromWorkload = (event: OrderEvent): typeof E.Type => {
  switch (event.type) {
    case "AddItem":
      return E.AddItem({ item: event.item, price: event.price })
    case "Pay":
      return E.Pay({ amount: event.amount })
    default:
      return E[event.type]()
  }
}

export const orderEvents = events.map(fromWorkload)
