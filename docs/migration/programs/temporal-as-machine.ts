import { openEngine } from "@detent/durable/promise"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  WaitingForApproval: { total: Schema.Finite },
  Charging: { total: Schema.Finite, by: Schema.String },
  Shipping: { receipt: Schema.String, by: Schema.String },
  Shipped: { receipt: Schema.String, by: Schema.String },
  Expired: {},
})
const E = Event({ Approve: { by: Schema.String }, Charged: { receipt: Schema.String }, Sent: {} })
const effects = Slot.Effects({ charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String }), ship: {} })
const retry = RetryPolicy.exponential({ maxAttempts: 5 })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.WaitingForApproval })
  .timeout(S.WaitingForApproval, "3 days", S.Expired, () => S.Expired())
  .on(S.WaitingForApproval, E.Approve, S.Charging, ({ state, event, effects }) => {
    effects.charge({ total: state.total })
    return S.Charging.derive(state, { by: event.by })
  })
  .on(S.Charging, E.Charged, S.Shipping, ({ state, event, effects }) => {
    effects.ship({})
    return S.Shipping.derive(state, { receipt: event.receipt })
  })
  .on(S.Shipping, E.Sent, S.Shipped)
  .final(S.Shipped, S.Expired)
  .commands({ charge: { retry, onSuccess: (receipt) => E.Charged({ receipt }) }, ship: { retry, onSuccess: () => E.Sent() } })
  .build({
    charge: async ({ total }, { key }) => `receipt for ${total} (${key})`,
    ship: async (_parameters, { id }) => console.log(`shipping ${id}`),
  })

await using engine = await openEngine({ database: "memory", machines: [Order] })
const order = await engine.start(Order, "order-7", { total: 42 })
console.log((await order.state())._tag) // what a query handler returned
await order.send(E.Approve({ by: "Grace" }))
console.log(await order.awaitFinal())
