/** The order in @xstate/store. A store has no states of its own: the status is part of its context. */
import { createStore } from "@xstate/store"
import type { DecidingEntry, SendingEntry } from "../Entry.ts"
import { events, type Order } from "./workload.ts"

export const create = () =>
  createStore({
    context: { status: "Pending", items: [], total: 0 } as Order,
    on: {
      AddItem: (order, event: { item: string; price: number }) =>
        order.status === "Pending" ? { ...order, items: [...order.items, event.item], total: order.total + event.price } : undefined,
      RequestPayment: (order) => (order.status === "Pending" ? { ...order, status: "AwaitingPayment" } : undefined),
      Pay: (order, event: { amount: number }) =>
        order.status === "AwaitingPayment" && event.amount > 0 ? { ...order, status: "Paid" } : undefined,
      Ship: (order) => (order.status === "Paid" ? { ...order, status: "Shipped" } : undefined),
      Deliver: (order) => (order.status === "Shipped" ? { ...order, status: "Delivered" } : undefined),
      Cancel: (order) => (order.status === "Pending" || order.status === "AwaitingPayment" ? { ...order, status: "Cancelled" } : undefined),
    },
  })

type Store = ReturnType<typeof create>

const definition = create()

const read = (end: unknown): Order => (end as ReturnType<Store["getSnapshot"]>).context

export const deciding: DecidingEntry<Order> = {
  name: "@xstate/store",
  play: () => {
    let snapshot = definition.getInitialSnapshot()
    for (const event of events) [snapshot] = definition.transition(snapshot, event)
    return snapshot
  },
  read,
}

export const sending: SendingEntry<Order> = {
  name: "@xstate/store",
  create,
  send: (actor) => {
    const order = actor as Store
    for (const event of events) order.send(event)
    return order
  },
  read: (end) => read((end as Store).getSnapshot()),
}
