/** A cart that people fill, and that is closed once. Server and page load the same definition. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({ Open: { items: Schema.Int }, Ordered: { items: Schema.Int } })

export const E = Event({ Add: { items: Schema.Int }, Order: {} })

export const Cart = Machine.make({ name: "cart", state: S, event: E, initial: S.Open({ items: 0 }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ items: state.items + event.items }))
  .on(S.Open, E.Order, S.Ordered, ({ state }) => S.Ordered({ items: state.items }))
  .final(S.Ordered)
