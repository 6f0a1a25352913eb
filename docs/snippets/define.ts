import { Event, Machine, refuse, Slot, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  Open: { balance: Schema.Finite },
  Frozen: { balance: Schema.Finite, reason: Schema.String },
  Closed: {},
})
const E = Event({
  Deposit: { amount: Schema.Finite },
  Withdraw: { amount: Schema.Finite },
  Freeze: { reason: Schema.String },
  Thaw: {},
  Close: {},
})
const guards = Slot.Guards({ isOfficer: {} })

export const Account = Machine.make({ name: "account", state: S, event: E, guards, initial: S.Open({ balance: 0 }) })
  // #region decision
  .on(S.Open, E.Deposit, S.Open, ({ state, event }) => S.Open({ balance: state.balance + event.amount }))
  .on(S.Open, E.Withdraw, S.Open, ({ state, event }) =>
    event.amount > state.balance ? refuse("the balance is too low") : S.Open({ balance: state.balance - event.amount }),
  )
  // #endregion decision
  // #region carried
  .on(S.Open, E.Freeze, S.Frozen) // balance comes from the state, reason from the event
  // #endregion carried
  // #region guard
  .on(S.Frozen, E.Thaw, [S.Open, S.Frozen], ({ state, guards }) => (guards.isOfficer({}) ? S.Open.derive(state) : state), {
    guards: ["isOfficer"],
  })
  .on(S.Open, E.Close, S.Closed, () => S.Closed(), { guard: ({ state }) => state.balance === 0, guardName: "is empty" })
  // #endregion guard
  // #region fallback
  .onAny(E.Close, stay)
  // #endregion fallback
  .final(S.Closed)
