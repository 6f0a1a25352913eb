import { Event, Machine, State } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({
  Collecting: { amount: Schema.Int, papers: Schema.Int },
  Granted: { amount: Schema.Int },
  Declined: { amount: Schema.Int },
})
export const E = Event({ Paper: {} })

/** Decides automatically on the third paper: the first automatic transition whose guard holds is taken. */
export const Loan = Machine.make({ name: "loan", state: S, event: E, initial: S.Collecting })
  .on(S.Collecting, E.Paper, S.Collecting, ({ state }) => S.Collecting.derive(state, { papers: state.papers + 1 }))
  .always(S.Collecting, ({ state }) => state.papers === 3 && state.amount <= 5000, S.Granted)
  .always(S.Collecting, ({ state }) => state.papers === 3, S.Declined)
  .final(S.Granted)
  .final(S.Declined, { outcome: "failure" })
