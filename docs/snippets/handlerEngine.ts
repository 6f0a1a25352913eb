import { openEngine } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

// #region handlers
const I = State({ Due: { amount: Schema.Finite }, Paid: {} })
const V = Event({ Pay: {} })
const Invoice = Machine.make({ name: "invoice", state: I, event: V, initial: I.Due }).on(I.Due, V.Pay, I.Paid).final(I.Paid)

const S = State({ Trial: {}, Charging: {}, Waiting: { invoice: Schema.String }, Active: {} })
const E = Event({ Subscribe: {}, Charged: { invoice: Schema.String }, Paid: {}, Unpaid: {} })
const effects = Slot.Effects({ charge: Slot.effect({ amount: Schema.Finite }, { success: Schema.String }) })
const Subscription = Machine.make({ name: "subscription", state: S, event: E, effects, initial: S.Trial() })
  .on(S.Trial, E.Subscribe, S.Charging, ({ effects }) => {
    effects.charge({ amount: 12 })
    return S.Charging()
  })
  .on(S.Charging, E.Charged, S.Waiting)
  .task(
    S.Waiting,
    async ({ state, engine, signal }) => {
      await engine.waitFor(Invoice, state.invoice, ({ _tag }) => _tag === "Paid", { signal })
    },
    { onSuccess: () => E.Paid(), onFailure: () => E.Unpaid() },
  )
  .on(S.Waiting, E.Paid, S.Active)
  .on(S.Waiting, E.Unpaid, S.Trial)
  .commands({ charge: { onSuccess: (invoice) => E.Charged({ invoice }) } })
  .build({
    charge: async ({ amount }, { engine, id }) => {
      const invoice = await engine.ensure(Invoice, `invoice-of-${id}`, { amount })
      return invoice.id
    },
  })
// #endregion handlers

await using engine = await openEngine({ database: "memory", machines: [Invoice, Subscription] })
const subscription = await engine.start(Subscription, "ada")
await subscription.send(E.Subscribe())
await subscription.waitFor((state) => state._tag === "Waiting")
await engine.send(Invoice, "invoice-of-ada", V.Pay())
console.log((await subscription.waitFor((state) => state._tag === "Active"))._tag)
