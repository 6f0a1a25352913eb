/** A machine before and after it gets an index. */
import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({ Open: { customer: Schema.String, total: Schema.Finite } })
export const E = Event({ Add: { amount: Schema.Finite } })

export const Unindexed = Machine.make({ name: "filled", state: S, event: E, initial: S.Open }).on(
  S.Open,
  E.Add,
  S.Open,
  ({ state, event }) => S.Open({ ...state, total: state.total + event.amount }),
)

export const Indexed = Unindexed.index({ customer: (state) => state.customer, total: (state) => state.total })
