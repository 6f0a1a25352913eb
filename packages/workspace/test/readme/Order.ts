import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({ Placed: { total: Schema.Int }, Paid: { total: Schema.Int } })
const E = Event({ Pay: {} })

export const Order = Machine.make({ name: "order", version: 2, state: S, event: E, initial: S.Placed })
  .on(S.Placed, E.Pay, S.Paid)
  .final(S.Paid)
