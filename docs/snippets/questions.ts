import { openEngine } from "@detent/durable/promise"
import { Event, Machine, reply, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({ Open: { items: Schema.Array(Schema.String) }, Ordered: { items: Schema.Array(Schema.String) } })
const E = Event({
  Add: { item: Schema.String },
  Order: Event.reply({}, Schema.String),
  CountItems: Event.reply({}, Schema.Int),
})

const Cart = Machine.make({ name: "cart", state: S, event: E, initial: S.Open({ items: [] }) })
  .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ items: [...state.items, event.item] }))
  // A question that changes the state: journaled like any event.
  .on(S.Open, E.Order, S.Ordered, ({ state }) => reply(`order of ${state.items.length}`, S.Ordered.derive(state)))
  .final(S.Ordered)
  // A query: stays, and only answers. Nothing is journaled, and final states answer too.
  .on([S.Open, S.Ordered], E.CountItems, stay, ({ state }) => reply(state.items.length))

await using engine = await openEngine({ database: "memory", machines: [Cart] })
const cart = await engine.start(Cart, "cart-1")
await cart.send(E.Add({ item: "lamp" }))
console.log(await cart.ask(E.CountItems()))
console.log(await cart.ask(E.Order(), { id: "checkout-1" }))
console.log(await cart.ask(E.CountItems()))
console.log((await cart.snapshot()).sequence, "events are journaled")
