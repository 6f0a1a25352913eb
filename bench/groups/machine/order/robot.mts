/** The order in robot3. It has no pure transition function, so decisions also go through a service made by `interpret`. */
import { createMachine, guard, interpret, reduce, type Service, state, transition } from "robot3"
import type { DecidingEntry, SendingEntry } from "../Entry.ts"
import { events, type Order, type OrderEvent } from "./workload.ts"

interface Context {
  readonly items: ReadonlyArray<string>
  readonly total: number
}

type EventOf<Type> = Extract<OrderEvent, { readonly type: Type }>

export const machine = createMachine(
  {
    Pending: state(
      transition(
        "AddItem",
        "Pending",
        reduce((context: Context, event: EventOf<"AddItem">) => ({
          items: [...context.items, event.item],
          total: context.total + event.price,
        })),
      ),
      transition("RequestPayment", "AwaitingPayment"),
      transition("Cancel", "Cancelled"),
    ),
    AwaitingPayment: state(
      transition(
        "Pay",
        "Paid",
        guard((_: Context, event: EventOf<"Pay">) => event.amount > 0),
      ),
      transition("Cancel", "Cancelled"),
    ),
    Paid: state(transition("Ship", "Shipped")),
    Shipped: state(transition("Deliver", "Delivered")),
    Delivered: state(),
    Cancelled: state(),
  },
  (): Context => ({ items: [], total: 0 }),
)

const ignore = () => undefined

const create = () => interpret(machine, ignore)

const send = (order: Service<typeof machine>) => {
  for (const event of events) order.send(event)
  return order
}

const read = (end: unknown): Order => {
  const order = end as Service<typeof machine>
  return { status: order.machine.current, items: order.context.items, total: order.context.total }
}

export const deciding: DecidingEntry<Order> = { name: "robot3 (a service)", play: () => send(create()), read }

export const sending: SendingEntry<Order> = {
  name: "robot3",
  create,
  send: (actor) => send(actor as Service<typeof machine>),
  read,
}
