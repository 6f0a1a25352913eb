/** A checkout with payment and shipping in parallel, which starts again when both are done: a statechart of typical complexity. */
import { assign, setup } from "xstate"

export const checkout = setup({
  types: {
    context: {} as { orders: number; items: ReadonlyArray<string> },
    events: {} as
      | { type: "order"; item: string }
      | { type: "pay" }
      | { type: "paid" }
      | { type: "pick" }
      | { type: "pack" }
      | { type: "ship" },
  },
  guards: { hasItems: ({ context }) => context.items.length > 0 },
}).createMachine({
  id: "checkout",
  context: { orders: 0, items: [] },
  initial: "cart",
  states: {
    cart: {
      on: {
        order: { target: "processing", actions: assign({ items: ({ context, event }) => [...context.items.slice(-4), event.item] }) },
      },
    },
    processing: {
      type: "parallel",
      states: {
        payment: {
          initial: "waiting",
          states: {
            waiting: { on: { pay: { guard: "hasItems", target: "paying" } } },
            paying: { on: { paid: "done" } },
            done: { type: "final" },
          },
        },
        shipping: {
          initial: "picking",
          states: {
            picking: { on: { pick: "packing" } },
            packing: { on: { pack: "leaving" } },
            leaving: { on: { ship: "done" } },
            done: { type: "final" },
          },
        },
      },
      onDone: { target: "cart", actions: assign({ orders: ({ context }) => context.orders + 1 }) },
    },
  },
})

/** One order, from the cart back to the cart. */
export const events = [
  { type: "order", item: "a book" },
  { type: "pay" },
  { type: "pick" },
  { type: "paid" },
  { type: "pack" },
  { type: "ship" },
] as const
