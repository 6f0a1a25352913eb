/** The order in xstate 5: `initialTransition` and `transition` decide, `createActor` runs. */
import { type Actor, assign, createActor, initialTransition, type SnapshotFrom, setup, transition } from "xstate"
import type { DecidingEntry, SendingEntry } from "../Entry.ts"
import { events, type Order, type OrderEvent } from "./workload.ts"

const types = {} as { context: { items: ReadonlyArray<string>; total: number }; events: OrderEvent }

export const machine = setup({ types }).createMachine({
  id: "order",
  context: { items: [], total: 0 },
  initial: "Pending",
  states: {
    Pending: {
      on: {
        AddItem: {
          actions: assign({
            items: ({ context, event }) => [...context.items, event.item],
            total: ({ context, event }) => context.total + event.price,
          }),
        },
        RequestPayment: "AwaitingPayment",
        Cancel: "Cancelled",
      },
    },
    AwaitingPayment: {
      on: {
        Pay: { target: "Paid", guard: ({ event }) => event.amount > 0 },
        Cancel: "Cancelled",
      },
    },
    Paid: { on: { Ship: "Shipped" } },
    Shipped: { on: { Deliver: "Delivered" } },
    Delivered: { type: "final" },
    Cancelled: { type: "final" },
  },
})

const read = (end: unknown): Order => {
  const { value, context } = end as SnapshotFrom<typeof machine>
  return { status: value, items: context.items, total: context.total }
}

export const deciding: DecidingEntry<Order> = {
  name: "xstate",
  play: () => {
    let [snapshot] = initialTransition(machine)
    for (const event of events) [snapshot] = transition(machine, snapshot, event)
    return snapshot
  },
  read,
}

export const sending: SendingEntry<Order> = {
  name: "xstate",
  create: () => createActor(machine).start(),
  send: (actor) => {
    const order = actor as Actor<typeof machine>
    for (const event of events) order.send(event)
    return order
  },
  read: (end) => read((end as Actor<typeof machine>).getSnapshot()),
}
