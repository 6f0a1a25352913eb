// Does not compile: Messages.test.ts counts the errors. Each of the two declarations has one field that is not a schema.
import { Event, Machine, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  Pending: { id: Schema.String, total: Number },
  Working: State.group({ Paid: { id: Schema.String, total: Schema.Number, tx: Schema.String } }),
  Gone: { id: Schema.String },
})
const E = Event({ Pay: { tx: "string" }, Drop: {}, Ask: Event.reply({}, Schema.Number) })

export const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Pending({ id: "1", total: 3 }) })
  .on(S.Pending, E.Pay, S.Paid)
  .on(S.Paid, E.Drop, S.Gone, ({ state }) => S.Gone.derive(state))
  .on(S.Pending, E.Drop, [S.Gone, S.Pending], ({ state }) =>
    state.total > 3 ? S.Gone({ id: state.id }) : S.Pending({ ...state, total: 1 }),
  )
  .on(S.Paid, E.Ask, stay, ({ state }) => ({ _tag: "@reply", answer: state.total, outcome: stay }))
  .timeout(S.Pending, "1 hour", S.Gone)
  .enter(S.Paid, ({ state }) => void state.tx.toUpperCase())
  .final(S.Gone)

export const events = [E.Pay({ tx: "t" }), E.Drop(), E.Ask()]
export const text = S.$match({ Pending: ({ total }) => `${total}`, Paid: ({ tx }) => tx, Gone: ({ id }) => id })
