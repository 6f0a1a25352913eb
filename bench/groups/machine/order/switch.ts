/** The order as a hand-written switch: the baseline of every general solution. */
import type { DecidingEntry } from "../Entry.ts"
import { events, type Order, type OrderEvent } from "./workload.ts"

const next = (order: Order, event: OrderEvent): Order => {
  switch (order.status) {
    case "Pending":
      switch (event.type) {
        case "AddItem":
          return { status: "Pending", items: [...order.items, event.item], total: order.total + event.price }
        case "RequestPayment":
          return { status: "AwaitingPayment", items: order.items, total: order.total }
        case "Cancel":
          return { status: "Cancelled", items: order.items, total: order.total }
        default:
          return order
      }
    case "AwaitingPayment":
      switch (event.type) {
        case "Pay":
          return event.amount > 0 ? { status: "Paid", items: order.items, total: order.total } : order
        case "Cancel":
          return { status: "Cancelled", items: order.items, total: order.total }
        default:
          return order
      }
    case "Paid":
      return event.type === "Ship" ? { status: "Shipped", items: order.items, total: order.total } : order
    case "Shipped":
      return event.type === "Deliver" ? { status: "Delivered", items: order.items, total: order.total } : order
    default:
      return order
  }
}

export const deciding: DecidingEntry<Order> = {
  name: "switch",
  play: () => {
    let order: Order = { status: "Pending", items: [], total: 0 }
    for (const event of events) order = next(order, event)
    return order
  },
  read: (end) => end as Order,
}
