import { Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({
  Open: { total: Schema.Finite },
  Charging: { total: Schema.Finite },
  Paid: { total: Schema.Finite, receipt: Schema.String },
  Cancelled: { reason: Schema.String },
})

export const E = Event({
  Pay: {},
  Charged: { receipt: Schema.String },
  Declined: {},
  Cancel: { reason: Schema.String },
})

const effects = Slot.Effects({
  charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String }),
})

export const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(
    S.Open,
    E.Pay,
    S.Charging,
    ({ state, effects }) => {
      effects.charge({ total: state.total })
      return S.Charging.derive(state)
    },
    { requests: ["charge"] },
  )
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Charging, E.Declined, S.Open)
  .on([S.Open, S.Charging], E.Cancel, S.Cancelled)
  .timeout(S.Open, "30 minutes", S.Cancelled, () => S.Cancelled({ reason: "not paid in time" }))
  .final(S.Paid, S.Cancelled)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
